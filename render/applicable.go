package render

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render/internal/patched"
	"github.com/trainweld/trainweld/render/release"
)

// Applicable returns the patches as a release merges them into a runtime's template. Before Trainer
// 2.3, a patch of a replicated job that the template lacks is skipped (Trainer v2.2.1
// pkg/runtime/core mergeRuntimePatches). Applicable does not change the patches, and returns them
// as they are if none is skipped. A nil release means the latest one.
func Applicable(r *release.Release, template *trainer.JobSetTemplateSpec,
	patches []trainer.RuntimePatch) []trainer.RuntimePatch {
	if r.Or().MergeRoot == release.JobSetRoot || template == nil {
		return patches
	}
	unknown := func(p trainer.ReplicatedJobPatch) bool {
		return !slices.ContainsFunc(template.Spec.ReplicatedJobs,
			func(job jobset.ReplicatedJob) bool { return job.Name == p.Name })
	}
	reached := patches
	for i := range patches {
		if !slices.ContainsFunc(patched.Jobs(&patches[i]), unknown) {
			continue
		}
		if &reached[0] == &patches[0] {
			reached = slices.Clone(patches)
		}
		reached[i] = *patches[i].DeepCopy()
		kept := reached[i].TrainingRuntimeSpec.Template.Spec
		kept.ReplicatedJobs = slices.DeleteFunc(kept.ReplicatedJobs, unknown)
	}
	return reached
}
