// Package produce renders one TrainJob to its objects, their owners, and findings with positions.
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

// Made holds the rendered objects of one TrainJob.
type Made struct {
	JobSet     *jobset.JobSet
	Companions []runtime.Object
	Owners     *merge.Ownership // nil unless requested
}

// Objects returns the JobSet and its companions.
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

// TrainJob renders one TrainJob and sets the positions of its findings.
func TrainJob(in *workspace.Input, j workspace.Job, input render.Input, opts render.Options) (finding.List, Made) {
	spec, missing := in.RuntimeOf(j)
	if spec == nil {
		findings := in.ReleaseFindings(j)
		if missing != nil {
			findings = append(findings, *missing)
		}
		in.Locate(j, findings)
		return findings, Made{}
	}
	input.Runtime, input.Layers, input.Earlier = spec, j.Layers(), in.Earlier(j)
	if opts.Release == nil {
		opts.Release = j.Release()
	}
	// The error repeats the findings.
	out, _ := render.JobSet(input, opts)
	out.Findings = append(in.ReleaseFindings(j), out.Findings...)
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
