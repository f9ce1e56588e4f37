// Package pipeline renders one TrainJob to its objects, their owners, and findings with positions.
//
// Its first file to read is trainjob.go.
package pipeline

import (
	"cmp"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/ports"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Made holds the rendered objects of one TrainJob.
type Made struct {
	JobSet     *jobset.JobSet
	Companions []runtime.Object
	History    *merge.History // nil without a JobSet
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

// TrainJob renders one TrainJob with all its patches, and sets the positions of its findings.
func TrainJob(in *workspace.Input, j workspace.Job, opts render.Options) (finding.List, Made) {
	input, missing := inputOf(in, j)
	if input.Runtime == nil {
		return missing, Made{}
	}
	return made(in, j, input, opts)
}

// Kept renders one TrainJob with all its patches and the runtime with which it began. It also
// returns the input of the rendering.
func Kept(in *workspace.Input, j workspace.Job, began *trainer.TrainingRuntimeSpec,
	opts render.Options) Made {
	input, _ := inputOf(in, j)
	input.Runtime = began
	_, out := made(in, j, input, opts)
	return out
}

func made(in *workspace.Input, j workspace.Job, input render.Input,
	opts render.Options) (finding.List, Made) {
	opts.Release = cmp.Or(opts.Release, j.Release())
	// The error repeats the findings.
	out, _ := render.JobSet(input, opts)
	found := in.ReleaseFindings(j, opts.OnConflict)
	out.Findings = in.Locate(j, append(found, out.Findings...))
	out.Findings.Sort()
	if in.IsSpelled() && out.JobSet != nil {
		before := out.JobSet.Spec.DeepCopy()
		ports.Spell(out.JobSet, input.Runtime)
		out.History.Within(fieldpath.Fields("spec")).Record(runtimepatch.DefaultLayer, *before,
			out.JobSet.Spec, nil)
	}
	return out.Findings, Made{out.JobSet, out.Companions, out.History}
}

// Reordered returns a rendered JobSet with its variables in the order of the one that exists, if
// the controller could emit them so.
func Reordered(in *workspace.Input, j workspace.Job, opts render.Options, js,
	existing *jobset.JobSet) *jobset.JobSet {
	input, _ := inputOf(in, j)
	if input.Runtime == nil {
		return js
	}
	opts.Release = cmp.Or(opts.Release, j.Release())
	return render.Reordered(input, opts, js, existing)
}

// inputOf returns the input of rendering a TrainJob. Without a runtime, it returns the findings on
// it.
func inputOf(in *workspace.Input, j workspace.Job) (render.Input, finding.List) {
	spec, missing := in.RuntimeOf(j)
	if spec == nil {
		findings := in.ReleaseFindings(j, render.Fail)
		if missing != nil {
			findings = append(findings, *missing)
		}
		return render.Input{}, in.Locate(j, findings)
	}
	return render.Input{TrainJob: j.TrainJob, Patches: in.PatchesFor(j), Runtime: spec,
		Live: in.LiveOf(j), Layers: j.Layers(), Earlier: in.Earlier(j)}, nil
}
