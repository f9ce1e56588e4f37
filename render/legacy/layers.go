package legacy

import (
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// Beside returns an error finding for today's patches in combination with overrides. own reports
// whether the patches are the TrainJob's.
func (o *Overrides) Beside(own bool) finding.Finding {
	f := finding.Finding{
		Code: codes.TwoAPIs, Severity: finding.Error,
		Path: fieldpath.Fields("spec", "runtimePatches"),
		Message: fmt.Sprintf(
			"the TrainJob has spec.runtimePatches and fields of %s: no release reads both",
			o.release()),
		Remedy: finding.Remedy{
			Text: fmt.Sprintf(
				"move spec.%s, spec.labels and spec.annotations into the patch of one manager",
				o.field())},
	}
	f.Object.Kind = trainer.TrainJobKind
	if !own {
		f.Path = fieldpath.Fields("spec")
		f.Message = fmt.Sprintf(
			"the TrainJob has fields of %s: no release reads them together with patches",
			o.release())
		f.Remedy = finding.Remedy{
			Do: finding.Migrate, Text: "rewrite these fields as .spec.runtimePatches"}
	}
	return f
}

// Finding converts a finding on a patch of [Overrides.Patches] to one on the override. It returns
// other findings unchanged.
func (o *Overrides) Finding(f finding.Finding) finding.Finding {
	if f.Code == codes.UnknownJob && len(f.Path) > 0 {
		_, name, _ := f.Path[len(f.Path)-1].Item()
		f.Message = fmt.Sprintf("the runtime has no replicated job %q; %s rejects the TrainJob",
			name, o.release())
	}
	f.Path = o.Source(f.Path)
	f.Claims = slices.Clone(f.Claims)
	for i := range f.Claims {
		f.Claims[i] = o.Claim(f.Claims[i])
	}
	if f.Code == codes.Union {
		f.Message = strings.Replace(f.Message, "managers set", "overrides set", 1)
		f.Remedy = finding.Remedy{
			Do: finding.ChooseOne, Text: "keep one member, and remove the other from its override"}
	}
	f.Message, f.Remedy.Text = o.Text(f.Message), o.Text(f.Remedy.Text)
	return f
}
