package merge

import (
	"reflect"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/schema"
)

// JobSetTemplate is the merge schema of a runtime's JobSet template
// (trainer.JobSetTemplateSpec) and of the patches to it (trainer.JobSetTemplatePatch). Merge rules
// come from the template's struct tags, which is where the controller takes them from: Trainer
// v2.3.0 pkg/runtime/core merges with strategicpatch and the type JobSetSpec.
func JobSetTemplate() *schema.Type { return plan().Type() }

// plan is how patches merge into a runtime's template.
var plan = sync.OnceValue(func() *engine.Plan[trainer.JobSetTemplateSpec, trainer.JobSetTemplatePatch] {
	p, err := engine.For[trainer.JobSetTemplateSpec, trainer.JobSetTemplatePatch](schema.Rules{
		Unions: podUnions(),
		// Trainer v2.3.0 pkg/runtime/core newRuntimeInfo copies labels and annotations of a patch's
		// template.metadata and looks at nothing else there.
		Only: map[string][]string{"metadata": {"labels", "annotations"}},
	})
	if err != nil {
		panic(err) // the rule names a field of the API type
	}
	return p
})

// podUnions are the unions of the API types that a patch can reach. Struct tags do not tell them; the rules are those of
// the API server's validation of Pods (Kubernetes v1.36 pkg/apis/core/validation).
func podUnions() map[reflect.Type][]schema.Union {
	profile := []schema.Union{{Name: "profile", Members: []string{"localhostProfile"}, Discriminator: "type", When: "Localhost"}}
	return map[reflect.Type][]schema.Union{
		reflect.TypeFor[corev1.Volume]():          {{Name: "source", Members: schema.FieldNames(reflect.TypeFor[corev1.VolumeSource]())}},
		reflect.TypeFor[corev1.EnvVar]():          {{Name: "value", Members: []string{"value", "valueFrom"}}},
		reflect.TypeFor[corev1.EnvVarSource]():    {{Name: "source", Members: schema.FieldNames(reflect.TypeFor[corev1.EnvVarSource]())}},
		reflect.TypeFor[corev1.VolumeMount]():     {{Name: "sub-path", Members: []string{"subPath", "subPathExpr"}}},
		reflect.TypeFor[corev1.SeccompProfile]():  profile,
		reflect.TypeFor[corev1.AppArmorProfile](): profile,
	}
}
