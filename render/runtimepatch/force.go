package runtimepatch

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"

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
	left, _, decisions, err := ForceIn(template, patches, Options{}, managers...)
	return left, decisions, err
}

// ForceIn is Force for patches with fields that the Go types lack. It returns the options with
// which Apply merges the remaining patches.
func ForceIn(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch, opts Options,
	managers ...string) ([]trainer.RuntimePatch, Options, []conflict.Decision, error) {
	if template == nil {
		template = &trainer.JobSetTemplateSpec{}
	}
	layers := layersOf(patches)
	if err := addFields(layers, opts); err != nil {
		return nil, opts, nil, err
	}
	left, decisions, err := conflict.Force(func(layers []merge.Patch) (*merge.History, error) {
		result, err := mergeLayers(template, layers, nil)
		if err != nil {
			return nil, err
		}
		return result.History, nil
	}, layers, managers...)
	if err != nil {
		return nil, opts, nil, patchError(patches, err)
	}
	if decisions == nil {
		return patches, opts, nil, nil
	}
	patches, opts.forced = slices.Clone(patches), map[string]map[string]any{}
	for i := range patches {
		patches[i] = *patches[i].DeepCopy()
		spec := patches[i].TrainingRuntimeSpec
		if spec == nil {
			continue
		}
		if whole, ok := left[i].Value.(map[string]any); ok {
			opts.forced[left[i].Manager] = whole
			spec.Template = &trainer.JobSetTemplatePatch{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(whole,
				spec.Template); err != nil {
				return nil, opts, nil, err
			}
			continue
		}
		spec.Template, _ = left[i].Value.(*trainer.JobSetTemplatePatch)
	}
	return patches, opts, decisions, nil
}
