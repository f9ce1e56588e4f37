package runtimepatch

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/conflict"
)

// Minimal returns the smallest patch that gives each field of want and keeps each field of the
// other managers. It omits fields that the template or another manager sets as wanted. Use [Upsert]
// to put the patch in the place of the manager's entry, or in the last one. Minimal ignores the old
// contents of that entry.
//
// The merge with the patch equals the merge of the other patches in every field that want does not
// set. New items go in front of a list, as in the cluster. Call [Review] if want has a variable
// that refers to another one. The other items keep their order if the entry is the last one. An
// earlier entry may also bring forward an item that a later patch adds. If there is nothing to set,
// the patch has no TrainingRuntimeSpec: [Remove] the manager's entry then.
//
// The error is a [conflict.Conflicts] if other managers set a wanted field differently. An example
// is an atomic list: want has to hold the items of all managers. The error names each such field
// with its managers and values. A different member of a union also conflicts. Minimal also returns
// the errors of Apply. It does not judge want: call check.Patches with the result.
func Minimal(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch,
	want trainer.RuntimePatch) (trainer.RuntimePatch, error) {
	others, err := Apply(template, Remove(patches, want.Manager), Options{})
	if err != nil {
		return trainer.RuntimePatch{}, err
	}
	planned := trainer.RuntimePatch{Manager: want.Manager, Time: want.Time.DeepCopy()}
	if spec := want.TrainingRuntimeSpec; spec != nil && spec.Template != nil {
		if missing := missingFields(&others.Template, spec.Template); missing != nil {
			planned.TrainingRuntimeSpec = &trainer.TrainingRuntimeSpecPatch{Template: missing}
		}
	}
	result, err := Apply(template, Upsert(patches, planned), Options{})
	if err != nil {
		return trainer.RuntimePatch{}, err
	}
	if err := opposition(conflict.Find(result.History), want.Manager).Err(); err != nil {
		return trainer.RuntimePatch{}, err
	}
	return planned, nil
}

// opposition returns the conflicts in which a manager takes part. Each prevents its plan.
func opposition(found conflict.Conflicts, manager string) conflict.Conflicts {
	return slices.DeleteFunc(found, func(c conflict.Conflict) bool {
		return !slices.Contains(c.Managers(), manager)
	})
}
