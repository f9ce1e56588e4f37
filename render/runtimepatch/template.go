package runtimepatch

import (
	"reflect"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// JobSetTemplate returns the merge schema of a runtime's JobSet template
// (trainer.JobSetTemplateSpec) and of its patches (trainer.JobSetTemplatePatch). The merge rules
// come from the template's struct tags, as in the controller: Trainer v2.3.0 pkg/runtime/core
// merges with strategicpatch and the type JobSetSpec.
var JobSetTemplate = sync.OnceValue(func() *schema.Type {
	t, err := schema.Compile(reflect.TypeFor[trainer.JobSetTemplateSpec](),
		reflect.TypeFor[trainer.JobSetTemplatePatch](), rules())
	if err != nil {
		panic(err) // the rule names a field of the API type
	}
	return t
})

// mergeRules is the option of a merge into a runtime's template. It holds what is compiled from the
// types.
var mergeRules = sync.OnceValue(func() merge.Option { return merge.Rules(rules()) })

func rules() schema.Rules {
	return schema.Rules{
		Unions: schema.PodRules(reflect.TypeFor[trainer.JobSetTemplateSpec]()).Unions,
		// Trainer v2.3.0 pkg/runtime/core newRuntimeInfo copies labels and annotations of a patch's
		// template.metadata and ignores the rest.
		Only: map[string][]string{"metadata": {"labels", "annotations"}},
		// The definition identifies a container's ports by number and protocol, and so admits two
		// of one number.
		AllowDuplicateKeys: true,
	}
}
