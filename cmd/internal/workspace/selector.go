// This file selects TrainJobs by their labels, and reports inputs without any.

package workspace

import (
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// withoutOthers removes the TrainJobs and JobSets that the selector does not match, with the
// findings of their decoding.
func (flags Flags) withoutOthers(d Decoded) Decoded {
	if flags.Selector == nil {
		return d
	}
	others := map[codes.Key]bool{}
	d.Documents = slices.DeleteFunc(d.Documents, func(document *manifest.Document) bool {
		if flags.selects(document) {
			return false
		}
		for _, f := range document.Findings {
			others[codes.KeyOf(f)] = true
		}
		return true
	})
	d.Findings = slices.DeleteFunc(d.Findings, func(f finding.Finding) bool {
		return others[codes.KeyOf(f)]
	})
	return d
}

// selects reports whether the selector matches a document. It matches all kinds except TrainJobs
// and JobSets, and objects whose labels cannot be decoded.
func (flags Flags) selects(d *manifest.Document) bool {
	if d.ID.Kind != trainer.TrainJobKind && d.ID.Kind != JobSetKind {
		return true
	}
	switch o := d.Object.(type) {
	case *trainer.TrainJob:
		return flags.Selector.Matches(labels.Set(o.Labels))
	case *jobset.JobSet:
		return flags.Selector.Matches(labels.Set(o.Labels))
	}
	fields, err := d.Fields()
	if err != nil {
		return true
	}
	set, _, err := unstructured.NestedStringMap(fields, "metadata", "labels")
	return err != nil || flags.Selector.Matches(labels.Set(set))
}

// addPart records a file that holds no objects before a build.
func (u *Unread) addPart(advice string) {
	if u != nil && u.part == "" {
		u.part = advice
	}
}

// oldGroup is the API group of the operators before the Trainer.
const oldGroup = "kubeflow.org"

// add records the documents of a file.
func (u *Unread) add(documents []*manifest.Document) {
	if u == nil {
		return
	}
	for _, d := range documents {
		group, _, _ := strings.Cut(d.APIVersion, "/")
		switch {
		case u.old == nil && d.Object == nil && !d.Broken && group == oldGroup &&
			strings.HasSuffix(d.ID.Kind, "Job"):
			remedy := fmt.Sprintf("convert the %s with trainweld migrate, or name other files",
				d.ID.Kind)
			if d.APIVersion != oldGroup+"/v1" {
				remedy = fmt.Sprintf(
					"rewrite the %s as a TrainJob by hand, or name other files: trainweld "+
						"migrate converts %s/v1 only", d.ID.Kind, oldGroup)
			}
			u.old = &finding.Finding{Object: d.ID, Position: d.Position(fieldpath.Fields("kind")),
				Remedy: finding.Remedy{Text: remedy}}
		}
	}
}

// NoTrainJob returns the finding on inputs without a TrainJob. message and remedy describe inputs
// that no selector reduces.
func (flags Flags) NoTrainJob(message, remedy string) finding.Finding {
	f := finding.Finding{Code: codes.NoTrainJob, Severity: finding.Error, Message: message,
		Remedy: finding.Remedy{Text: remedy}}
	switch {
	case flags.Selector != nil:
		f.Message = fmt.Sprintf("no TrainJob has labels that match %q", flags.Selector)
		f.Remedy.Text = "correct the selector of -l"
	case flags.Unread == nil:
	case flags.Unread.old != nil:
		f.Object, f.Position, f.Remedy = flags.Unread.old.Object, flags.Unread.old.Position,
			flags.Unread.old.Remedy
	case flags.Unread.part != "":
		f.Remedy.Text = flags.Unread.part
	}
	return f
}
