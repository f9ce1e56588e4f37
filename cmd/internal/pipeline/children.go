package pipeline

import (
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
)

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
