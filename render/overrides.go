package render

import (
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// twoAPIs reports a TrainJob that says something in the API of Trainer 2.1 and in today's, and whether it does.
func (r *renderer) twoAPIs(patches []trainer.RuntimePatch) bool {
	if len(patches) == 0 {
		return false
	}
	f := finding.Finding{
		Code: finding.CodeTwoAPIs, Severity: finding.Error, Object: r.trainJob(), Path: fieldpath.Fields("spec", "runtimePatches"),
		Message: "the TrainJob has spec.runtimePatches beside fields of Trainer 2.1 that 2.2 took away: no version reads both",
		Remedy:  finding.Remedy{Text: "write what spec.podTemplateOverrides, spec.labels and spec.annotations say into the patch of one manager"},
	}
	if len(r.in.TrainJob.Spec.RuntimePatches) == 0 {
		f.Path = fieldpath.Fields("spec")
		f.Message = "patches cannot be laid over a TrainJob with fields of Trainer 2.1 that 2.2 took away: no version reads both"
		f.Remedy = finding.Remedy{Do: finding.Migrate, Text: "rewrite these fields as .spec.runtimePatches"}
	}
	r.report(f)
	return true
}

// ofOverrides is a finding on the patches that the overrides were made into, as one on the overrides.
func (r *renderer) ofOverrides(f finding.Finding) finding.Finding {
	overrides := r.in.Overrides
	if f.Code == finding.CodeUnknownJob {
		_, name, _ := f.Path[len(f.Path)-1].Item()
		f.Message = fmt.Sprintf("the runtime has no replicated job %q; Trainer 2.1 refuses the TrainJob", name)
	}
	f.Path = overrides.Source(f.Path)
	f.Claims = slices.Clone(f.Claims)
	for i := range f.Claims {
		f.Claims[i] = overrides.Claim(f.Claims[i])
	}
	if f.Code == finding.CodeUnion {
		f.Message = strings.Replace(f.Message, "managers set", "overrides set", 1)
		f.Remedy = finding.Remedy{Do: finding.ChooseOne, Text: "keep the one member that is meant, and drop the other from its override"}
	}
	f.Message, f.Remedy.Text = overrides.Text(f.Message), overrides.Text(f.Remedy.Text)
	return f
}

// checkOverrides reports what is wrong with the overrides as such.
func (r *renderer) checkOverrides() {
	if r.in.Overrides == nil {
		return
	}
	for _, f := range r.in.Overrides.Check() {
		f.Object = r.trainJob()
		r.report(f)
	}
}
