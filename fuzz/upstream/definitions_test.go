package upstream_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestDefinitions wants the definitions of a release to say what its modules ship: names, scope,
// subresources and schemas. Only the descriptions are missing.
func TestDefinitions(t *testing.T) {
	u := released(t)
	for kind, shipped := range map[string]struct{ module, file string }{
		"TrainJob": {
			u.Modules.Trainer, "manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml"},
		"TrainingRuntime": {
			u.Modules.Trainer, "manifests/base/crds/trainer.kubeflow.org_trainingruntimes.yaml"},
		"ClusterTrainingRuntime": {
			u.Modules.Trainer,
			"manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml"},
		"JobSet": {
			u.Modules.JobSet, "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"},
	} {
		text, err := os.ReadFile(filepath.Join(shipped.module, shipped.file))
		if err != nil {
			t.Fatal(err)
		}
		var want, got apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &want); err != nil {
			t.Fatal(err)
		}
		for _, version := range want.Spec.Versions {
			dropDescriptions(version.Schema.OpenAPIV3Schema)
		}
		if text, err = u.Release.Definition(kind); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
			t.Errorf("run go generate ./release (-shipped +embedded):\n%s", diff)
		}
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
