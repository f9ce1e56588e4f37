// Package pipeline renders one TrainJob to its objects, their owners, and findings with positions.
//
// Its first file to read is trainjob.go.
package pipeline

import (
	"cmp"
	"fmt"
	"iter"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/cmd/internal/ports"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
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

// Family holds the generated objects of one JobSet.
type Family struct {
	Findings finding.List
	Objects  iter.Seq2[any, error]
	Table    PodTable
	Pods     int64 // the number of Pods, counted for writing or for their claims
}

// Children returns the Jobs or the Pods of a JobSet as a stream, with their findings. Errors are
// findings, and leave the stream nil. The owners of the JobSet are for a finding only, and nil for
// a JobSet of the user.
func Children(owners *merge.History, js *jobset.JobSet, companions []runtime.Object,
	flags option.Render, opts render.PodsOptions) Family {
	opts.Companions = companions
	out, err := render.Jobs(js, opts.JobsOptions)
	if out == nil {
		return Family{
			Findings: finding.List{
				{Code: codes.NoName, Severity: finding.Error, Message: err.Error(),
					Remedy: finding.Remedy{Text: "name the JobSet"}}}}
	}
	f := Family{Findings: out.Findings}
	if err != nil {
		return f
	}
	f.Table = PodTable{jobSet: js, opts: opts, waits: waitsFor(out),
		wide: flags.Format == option.WideFormat}
	if flags.To == "pods" || opts.Stored && render.HasEphemeralVolumes(js) {
		if f.Pods, err = render.CountPods(js, opts); err != nil {
			f.Pods = 0 // the stream returns the error
		}
		if flags.AsTable() {
			f.Pods = 0 // the table groups equal Pods
		}
		if f.Pods > render.MaxPods {
			f.Findings, f.Pods = append(
				f.Findings, render.TooManyPods(js, owners, f.Pods, render.MaxPods)...), 0
			return f
		}
	}
	if flags.To == "pods" {
		f.Objects = func(yield func(any, error) bool) {
			for pod, err := range render.Pods(js, opts) {
				if !yield(pod, err) {
					return
				}
			}
		}
		return f
	}
	var objects []any
	for _, child := range out.Jobs {
		objects = append(objects, child.Job)
	}
	if out.Service != nil {
		objects = append(objects, out.Service)
	}
	for _, claim := range out.Claims {
		objects = append(objects, claim)
	}
	if opts.Stored && f.Pods > 0 {
		claims, found := ephemeralClaims(js, opts)
		objects = append(objects, claims...)
		f.Findings = append(f.Findings, found...)
	}
	f.Objects = output.Each(objects)
	return f
}

// randomSuffix replaces the random suffix of a Pod's name. It makes the name invalid, so that
// nobody can apply the object by mistake.
const randomSuffix = "RAND"

// ephemeralClaims returns the claims that the cluster creates for ephemeral volumes of the Pods.
// The cluster stores them, but no rendered controller applies them.
func ephemeralClaims(js *jobset.JobSet, opts render.PodsOptions) ([]any, finding.List) {
	var claims []any
	for pod, err := range render.Pods(js, opts) {
		if err != nil {
			break // Jobs has reported it
		}
		for _, claim := range render.EphemeralClaims(pod, randomSuffix) {
			claims = append(claims, claim)
		}
	}
	if claims == nil {
		return nil, nil
	}
	return claims, finding.List{{
		Code: codes.RandomName, Severity: finding.Note,
		Object: fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name},
		Path:   fieldpath.Fields("spec", "replicatedJobs"),
		Message: fmt.Sprintf(
			"claims of ephemeral volumes have the names of their Pods: %s stands for the random "+
				"suffix", randomSuffix),
	}}
}
