package merged

import (
	_ "embed"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

var resourceNames = []string{"cpu", "memory", "ephemeral-storage", "nvidia.com/gpu",
	"hugepages-2Mi", "hugepages-1Gi", "storage", "bad", "kubernetes.io/x", "requests.a/b",
	"hugepages-x", "a b"}

// fields is what the Go types do not say of their fields.
var fields = sync.OnceValue(func() (f struct {
	Enums, Words, Required map[string][]string
	Numbers                map[string][]int64
	Heavy                  map[string]int
	OneOf, Never           []string
}) {
	if err := yaml.UnmarshalStrict(fieldsText, &f); err != nil {
		panic(err)
	}
	return f
})

//go:embed testdata/fields.yaml
var fieldsText []byte

func (g *generator) object(t reflect.Type, depth int) map[string]any {
	known := fields()
	required := known.Required[t.Name()]
	var fields []reflect.StructField
	var weights []int
	total := 0
	for _, f := range reflect.VisibleFields(t) {
		name := jsonName(f)
		if name == "" || name == "-" || slices.Contains(known.Never, t.Name()+"."+name) ||
			concrete(f.Type) == reflect.TypeFor[metav1.ObjectMeta]() {
			continue
		}
		weight := max(1, known.Heavy[name])
		fields, weights, total = append(fields, f), append(weights, weight), total+weight
	}
	out := map[string]any{}
	for _, f := range fields {
		if slices.Contains(required, jsonName(f)) && !g.chance(25) {
			out[jsonName(f)] = g.value(f, t, depth)
		}
	}
	n := 1
	switch {
	case slices.Contains(known.OneOf, t.Name()) && t.Name() != "PodFailurePolicyRule":
		n += min(1, max(0, g.IntN(16)-14))
	case t == reflect.TypeFor[corev1.PodSpec]():
		n += g.IntN(2)
	case len(required) > 0:
		n = g.IntN(3)
	default:
		n += g.IntN(2)
	}
	if depth > 8 || len(fields) == 0 {
		n = 0
	}
	for range n {
		at := g.IntN(total)
		for i, f := range fields {
			if at -= weights[i]; at < 0 {
				if name := jsonName(f); out[name] == nil {
					out[name] = g.value(f, t, depth)
				}
				break
			}
		}
	}
	if depth > 1 && g.chance(40) {
		out["$patch"] = pick(g, []string{"delete", "replace"})
	}
	return out
}

// documents returns the folder of the OpenAPI documents of the linked release.
func documents(t *testing.T) string {
	t.Helper()
	dirs, err := moduleDirs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dirs[0], "api", "openapi-spec", "v3")
}

// moduleDirs returns the folders of Kubernetes, JobSet and the Trainer.
var moduleDirs = sync.OnceValues(func() ([]string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes",
		"sigs.k8s.io/jobset", "github.com/kubeflow/trainer/v2").Output()
	return append(strings.Fields(string(out)), "", "", ""), err
})
