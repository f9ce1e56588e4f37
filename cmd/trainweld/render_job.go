package main

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

// made is what the library made of one TrainJob.
type made struct {
	jobSet     *jobset.JobSet
	companions []runtime.Object
	owners     *merge.Ownership // where they were asked for
}

func (m made) objects() []any {
	var objects []any
	if m.jobSet != nil {
		objects = append(objects, m.jobSet)
	}
	for _, companion := range m.companions {
		objects = append(objects, companion)
	}
	return objects
}

// renderJob renders one TrainJob and says where its findings stand.
func renderJob(in *workspace.Input, j workspace.Job, input render.Input, opts render.Options) (finding.List, made) {
	spec, missing := in.Runtimes.Find(j.TrainJob)
	if missing != nil {
		if in.Broken[render.RuntimeOf(j.TrainJob)] {
			return nil, made{} // its own findings say what is wrong with it
		}
		findings := finding.List{*missing}
		in.Locate(j, findings)
		return findings, made{}
	}
	input.Runtime, input.Overrides = spec, j.Document.Overrides.DeepCopy()
	render.DefaultOverrides(input.Overrides)
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
	return out.Findings, made{out.JobSet, out.Companions, out.Owners}
}
