package manifest

import (
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// Patch is a manager's patch with its position.
type Patch struct {
	Patch trainer.RuntimePatch
	// Document holds the patch. It is a TrainJob, or a document with the kind RuntimePatch and the
	// manager as its name. The patch itself has no such fields.
	Document *Document
	// Base is the path of the patch in its document, or empty if the document is the patch.
	// Document.Position(Base.Append(steps...)) is the position of a field of the patch.
	Base fieldpath.Path
	// Extended is the patch of an ExtendedPatch, or nil. Then Patch has only its manager.
	Extended map[string]any
}

// ExtendedPatch is a patch of any field of a runtime's spec. The API has no such patches: they make
// another runtime.
type ExtendedPatch struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata,omitzero"`
	Manager         string            `json:"manager,omitempty"`
	// TrainingRuntimeSpec is a part of a runtime's spec.
	TrainingRuntimeSpec map[string]any `json:"trainingRuntimeSpec,omitempty"`
}

// DecodePatches reads managers' patches from YAML or JSON, as strictly as [Decode]. It reads a
// RuntimePatch, a list of them, a TrainJob with spec.runtimePatches, an ExtendedPatch, and streams
// and Lists of these. An object of another kind is an error, and a TrainJob without patches a
// warning.
//
// The patches have the order of the file. Apply them in this order.
func DecodePatches(file string, data []byte) ([]Patch, finding.List) {
	return (*API)(nil).DecodePatches(file, data)
}

// DecodePatches is the function DecodePatches by the API. Patches are an error if the release has
// none.
func (a *API) DecodePatches(file string, data []byte) ([]Patch, finding.List) {
	d := newDecoder(file, data)
	d.patches, d.api, d.further = true, a,
		[]Kind{{Group: "trainweld.github.io", Version: "v1alpha1", Kind: "ExtendedPatch",
			New: func() any { return new(ExtendedPatch) }}}
	d.stream()
	if a != nil && a.Release().Overrides != release.RuntimePatches {
		having := a.having(trainer.TrainJobKind, "spec", "runtimePatches")
		for _, document := range d.documents {
			f := withoutPatches(document, finding.Error,
				fmt.Sprintf("spec.runtimePatches is a field of %s; Trainer %s has no patches of "+
					"managers", release.Span(having), a.Release().Name))
			f.Code, f.Remedy.Text = codes.UnknownField,
				fmt.Sprintf("use .spec.%s of the TrainJob", a.Release().Overrides)
			d.findings = append(d.findings, f)
		}
		d.findings.Sort()
		return nil, d.findings
	}
	var patches []Patch
	for _, document := range d.documents {
		if document.Broken {
			continue
		}
		switch o := document.Object.(type) {
		case *trainer.RuntimePatch:
			patches = append(patches, Patch{Patch: *o, Document: document})
		case *ExtendedPatch:
			if len(o.TrainingRuntimeSpec) == 0 {
				d.findings = append(
					d.findings, withoutPatches(document, finding.Error,
						"has no trainingRuntimeSpec"))
				continue
			}
			patches = append(
				patches, Patch{Patch: trainer.RuntimePatch{Manager: o.Manager}, Document: document,
					Extended: o.TrainingRuntimeSpec})
		case *trainer.TrainJob:
			if document.Overrides != nil {
				f := withoutPatches(document, finding.Error,
					"has overrides of Trainer 2.1 instead of patches")
				f.Remedy = finding.Remedy{
					Do: finding.Migrate, Text: "rewrite them as the patch of one manager"}
				d.findings = append(d.findings, f)
				continue
			}
			if len(o.Spec.RuntimePatches) == 0 {
				d.findings = append(
					d.findings, withoutPatches(document, finding.Warning,
						"has no spec.runtimePatches"))
			}
			patches = append(patches, patchesOf(document, o)...)
		default:
			d.findings = append(
				d.findings, withoutPatches(document, finding.Error, "must be a patch"))
		}
	}
	d.findings.Sort()
	return patches, d.findings
}

func withoutPatches(d *Document, severity finding.Severity, message string) finding.Finding {
	return finding.Finding{
		Code: codes.NotAnObject, Severity: severity, Object: d.ID, Position: d.Position(nil),
		Message: message,
		Remedy: finding.Remedy{
			Text: "use a RuntimePatch, a list of them, an ExtendedPatch, or a TrainJob with patches"},
	}
}

func patchesOf(document *Document, job *trainer.TrainJob) []Patch {
	count := map[string]int{}
	for _, p := range job.Spec.RuntimePatches {
		count[p.Manager]++
	}
	var patches []Patch
	for i, p := range job.Spec.RuntimePatches {
		step := fieldpath.Item("manager", p.Manager)
		if p.Manager == "" || count[p.Manager] > 1 {
			step = fieldpath.Index(i)
		}
		patches = append(
			patches, Patch{
				Patch: p, Document: document,
				Base: fieldpath.Fields("spec", "runtimePatches").Append(step)})
	}
	return patches
}
