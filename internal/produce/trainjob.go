// Package produce answers what one TrainJob becomes: its objects, their owners, and the findings with their places.
package produce

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/ports"
	"github.com/trainweld/trainweld/internal/workspace"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
)

// Made is what the library made of one TrainJob.
type Made struct {
	JobSet     *jobset.JobSet
	Companions []runtime.Object
	Owners     *merge.Ownership // where they were asked for
}

// Objects are the JobSet and its companions.
func (m Made) Objects() []any {
	var objects []any
	if m.JobSet != nil {
		objects = append(objects, m.JobSet)
	}
	for _, companion := range m.Companions {
		objects = append(objects, companion)
	}
	return objects
}

// TrainJob renders one TrainJob and says where its findings stand.
func TrainJob(in *workspace.Input, j workspace.Job, input render.Input, opts render.Options) (finding.List, Made) {
	spec, missing := in.RuntimeOf(j.TrainJob)
	if spec == nil {
		var findings finding.List
		if missing != nil {
			findings = append(findings, *missing)
		}
		in.Locate(j, findings)
		return findings, Made{}
	}
	input.Runtime, input.Layers = spec, j.Layers()
	// The error is the findings once more.
	out, _ := render.JobSet(input, opts)
	if in.NoNotes {
		out.Findings = slices.DeleteFunc(out.Findings, func(f finding.Finding) bool { return f.Severity == finding.Note })
	}
	in.Locate(j, out.Findings)
	out.Findings.Sort()
	if in.Spelled && out.JobSet != nil {
		before := out.JobSet.Spec.DeepCopy()
		ports.Spell(out.JobSet, spec)
		if out.Owners != nil {
			out.Owners.WriteChanges(merge.DefaultLayer, fieldpath.Fields("spec"), *before, out.JobSet.Spec)
		}
	}
	return out.Findings, Made{out.JobSet, out.Companions, out.Owners}
}
