package render

import (
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// rejectBeside reports managers' patches in addition to layers. It returns whether there are such
// patches.
func (r *renderer) rejectBeside(patches []trainer.RuntimePatch) bool {
	if len(patches) == 0 {
		return false
	}
	f := r.in.Layers.Beside(len(r.in.TrainJob.Spec.RuntimePatches) > 0)
	f.Object = r.trainJob()
	r.report(f)
	return true
}

// checkLayers reports the problems of the layers that do not depend on the runtime.
func (r *renderer) checkLayers() {
	if r.in.Layers == nil {
		return
	}
	for _, f := range r.in.Layers.Check() {
		if f.Code == codes.DuplicateItem && !r.release.Rules.Has(release.PatchedOnce) {
			continue // a job that is a target twice
		}
		f.Object = r.trainJob()
		r.report(f)
	}
}

// rejectFurther reports managers' patches in a release that reads none.
func (r *renderer) rejectFurther() {
	r.report(finding.Finding{
		Code: codes.TwoAPIs, Severity: finding.Error, Object: r.trainJob(),
		Path: fieldpath.Fields("spec"),
		Message: fmt.Sprintf(
			"patches cannot be applied to the TrainJob: Trainer %s reads spec.%s instead",
			r.release.Name, r.release.Overrides),
		Remedy: finding.Remedy{
			Text: "remove the patches, or render for a release with spec.runtimePatches"},
	})
}
