package diff

import (
	"context"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

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
	errs := v.admissionErrors(ctx, j)
	if errs == nil && made.JobSet == nil {
		errs = rejections(v.release, found)
	}
	return append(found.Where(func(f finding.Finding) bool { return !isError(f) }), errs...), made
}

// unjudged returns the findings of reading that judge does not give with a TrainJob.
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
	fields, err := j.Document.Fields()
	if err != nil {
		return rejections(v.release, found) // decoding has reported it
	}
	if _, missing := v.in.RuntimeOf(j); missing != nil {
		found = append(found, *missing)
	}
	runtime := v.admit(ctx, j)
	found = append(found, runtime.found...)
	found = append(found, admission.Check(ctx, admission.Input{
		Release: v.release, TrainJob: unversioned(fields), Runtime: runtime.Runtime,
		Patches:   v.in.PatchesFor(j),
		Namespace: v.flags.Namespace, OnConflict: v.opts.OnConflict,
		ForceManagers: v.opts.ForceManagers, FeatureGates: v.opts.FeatureGates,
	})...)
	return rejections(v.release, v.in.Locate(j, found))
}

// judgedRuntime is a runtime that the release has judged, with the findings on its text and on the
// runtime.
type judgedRuntime struct {
	*admission.Runtime
	found finding.List
}

// admit admits the runtime of a TrainJob, each once. It returns nothing without one.
func (v *version) admit(ctx context.Context, j workspace.Job) judgedRuntime {
	source := v.in.SourceOf(j)
	if source == nil {
		return judgedRuntime{}
	}
	return v.runtimes.Of(source, func() (a judgedRuntime) {
		if fields, err := source.Fields(render.RuntimeOf(j.TrainJob)); err == nil {
			a.Runtime, a.found = admission.AdmitRuntime(ctx, v.release, unversioned(fields),
				v.flags.Namespace)
		}
		a.found = append(slices.Clone(source.Document.Findings), a.found...)
		return a
	})
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
