package trainingjob_test

import (
	"os/exec"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func asYAML(t *testing.T, v any) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDependencies checks that this package links no client. No package that others link for
// today's API may link the old API. The old API's types themselves import one small package of
// controller-runtime.
func TestDependencies(t *testing.T) {
	const module = "github.com/trainweld/trainweld/"
	linked := func(packages ...string) []string {
		out, err := exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	for _, dependency := range linked(module + "cmd/internal/trainingjob") {
		if strings.HasPrefix(dependency, "k8s.io/client-go/") ||
			strings.HasPrefix(dependency, "sigs.k8s.io/controller-runtime/") &&
				dependency != "sigs.k8s.io/controller-runtime/pkg/scheme" {
			t.Errorf("it links %s", dependency)
		}
	}
	for _, dependency := range linked(module+"merge", module+"conflict", module+"render",
		module+"render/manifest") {
		if strings.HasPrefix(dependency, "github.com/kubeflow/training-operator/") {
			t.Errorf("the library links %s", dependency)
		}
	}
}
