package runtimepatch

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/merge"
)

// Force decides conflicts for the patches of a TrainJob, as [conflict.Force] does. It lets managers
// win every conflict in which they take part. It returns the remaining patches and every decision.
// The law holds for patches that check.Patches accepts.
//
// Force returns the error of Apply.
func Force(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch,
	managers ...string) ([]trainer.RuntimePatch, []conflict.Decision, error) {
	if template == nil {
		template = &trainer.JobSetTemplateSpec{}
	}
	left, decisions, err := conflict.Force(func(layers []merge.Patch) (*merge.History, error) {
		result, err := mergeLayers(template, layers)
		if err != nil {
			return nil, err
		}
		return result.History, nil
	}, layersOf(patches), managers...)
	if err != nil {
		return nil, nil, patchError(patches, err)
	}
	if decisions == nil {
		return patches, nil, nil
	}
	patches = slices.Clone(patches)
	for i := range patches {
		patches[i] = *patches[i].DeepCopy()
		if spec := patches[i].TrainingRuntimeSpec; spec != nil {
			spec.Template, _ = left[i].Value.(*trainer.JobSetTemplatePatch)
		}
	}
	return patches, decisions, nil
}
