package diff

import (
	"cmp"
	"context"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// This file renders a TrainJob, and judges it as the release of its version does.

// judge renders a TrainJob. In a version that has a release, its errors are those with which a
// cluster of the release rejects it.
func (v *version) judge(ctx context.Context, j workspace.Job) (finding.List, pipeline.Made) {
	found, made := pipeline.TrainJob(v.in, j, v.opts)
	if v.release == nil {
		return found, made
	}
	var errs finding.List
	if !v.accepts[render.ObjectOf(j.TrainJob)] {
		errs = v.admissionErrors(ctx, j)
		if errs == nil && made.JobSet == nil {
			errs = rejections(v.release, found)
		}
	}
	return append(found.Where(func(f finding.Finding) bool { return !isError(f) }), errs...), made
}

// unjudged returns the findings of reading that are about no TrainJob that judge judges, and about
// no runtime.
func (v *version) unjudged() finding.List {
	judged := map[string]bool{}
	for _, j := range v.in.Jobs {
		judged[render.ObjectOf(j.TrainJob).String()] = true
	}
	return v.in.Findings.Where(func(f finding.Finding) bool {
		return !workspace.IsRuntime(f.Object) &&
			!(f.Object.Kind == trainer.TrainJobKind && judged[f.Object.String()])
	})
}

// admissionErrors returns the errors of a TrainJob: errors of its text, of the API server and of
// the webhooks.
func (v *version) admissionErrors(ctx context.Context, j workspace.Job) finding.List {
	found := slices.Clone(j.Document.Findings)
	in, ofRuntime, err := v.admitter.input(ctx, v.in, j)
	if err != nil {
		return rejections(v.release, found) // decoding has reported it
	}
	if _, missing := v.in.RuntimeOf(j); missing != nil {
		found = append(found, *missing)
	}
	found = append(append(found, ofRuntime...), admission.Check(ctx, in)...)
	return rejections(v.release, v.in.Locate(j, found))
}

// admitter prepares TrainJobs for admission as a cluster does: it admits each runtime once.
type admitter struct {
	release   *release.Release // nil for the one of each TrainJob
	opts      render.Options
	namespace string
	runtimes  parallel.Once[*workspace.RuntimeSource, judgedRuntime]
}

// judgedRuntime is a runtime that a cluster has judged, with the findings on its text and on the
// runtime.
type judgedRuntime struct {
	*admission.Runtime
	found finding.List
}

// input returns a TrainJob with its runtime, and the findings on the runtime. It returns an error
// for a TrainJob that cannot be decoded.
func (a *admitter) input(ctx context.Context, in *workspace.Input,
	j workspace.Job) (admission.Input, finding.List, error) {
	fields, err := j.Document.Fields()
	if err != nil {
		return admission.Input{}, nil, err
	}
	if a.release != nil { // the TrainJob is judged by itself, and no update of another state
		fields = unversioned(fields)
	}
	r := cmp.Or(a.release, j.Release())
	var runtime judgedRuntime
	if source := in.SourceOf(j); source != nil {
		runtime = a.runtimes.Of(source, func() (judged judgedRuntime) {
			if fields, err := source.Fields(render.RuntimeOf(j.TrainJob)); err == nil {
				judged.Runtime, judged.found = admission.AdmitRuntime(ctx, r, unversioned(fields),
					a.namespace)
			}
			judged.found = append(slices.Clone(source.Document.Findings), judged.found...)
			return judged
		})
	}
	return admission.Input{
		Release: r, TrainJob: fields, Runtime: runtime.Runtime, Patches: in.PatchesFor(j),
		Layers: j.Layers(), Earlier: in.Earlier(j), Namespace: a.namespace,
		OnConflict: a.opts.OnConflict, ForceManagers: a.opts.ForceManagers,
		FeatureGates: a.opts.FeatureGates,
	}, runtime.found, nil
}

// unversioned returns the fields of an object without its resourceVersion if a cluster has the
// object, as a dump tells by its uid: then nobody creates it.
func unversioned(fields map[string]any) map[string]any {
	metadata, _ := fields["metadata"].(map[string]any)
	if metadata["uid"] == nil || metadata["resourceVersion"] == nil {
		return fields
	}
	fields, metadata = maps.Clone(fields), maps.Clone(metadata)
	delete(metadata, "resourceVersion")
	fields["metadata"] = metadata
	return fields
}

// rejections returns the errors that a cluster of the release has as well.
func rejections(r *release.Release, found finding.List) finding.List {
	return codes.Distinct(found.Where(func(f finding.Finding) bool {
		return isError(f) && !admission.Stricter(r, f)
	}))
}

func isError(f finding.Finding) bool { return f.Severity >= finding.Error }
