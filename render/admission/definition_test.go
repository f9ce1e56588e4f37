package admission

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/internal/testenv"
)

// The embedded definitions say what the ones say that the two projects ship: the same names, scope,
// subresources and schemas, but for descriptions.
func TestDefinitionsAreTheShippedOnes(t *testing.T) {
	for plural, shipped := range map[string]struct{ module, file string }{
		"trainjobs":               {"github.com/kubeflow/trainer/v2", "manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml"},
		"trainingruntimes":        {"github.com/kubeflow/trainer/v2", "manifests/base/crds/trainer.kubeflow.org_trainingruntimes.yaml"},
		"clustertrainingruntimes": {"github.com/kubeflow/trainer/v2", "manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml"},
		"jobsets":                 {"sigs.k8s.io/jobset", "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"},
	} {
		t.Run(plural, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(testenv.ModuleDir(t, shipped.module), shipped.file))
			if err != nil {
				t.Fatal(err)
			}
			want := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.UnmarshalStrict(text, want); err != nil {
				t.Fatal(err)
			}
			for i := range want.Spec.Versions {
				dropDescriptions(want.Spec.Versions[i].Schema.OpenAPIV3Schema)
			}
			got, err := embedded(plural)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
				t.Errorf("run make generate (-shipped +embedded):\n%s", diff)
			}
		})
	}
}

func dropDescriptions(s *apiextensionsv1.JSONSchemaProps) {
	if s == nil {
		return
	}
	s.Description = ""
	for name, property := range s.Properties {
		dropDescriptions(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		dropDescriptions(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		dropDescriptions(s.AdditionalProperties.Schema)
	}
}
