package diff

import (
	"context"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// This file judges TrainJobs as a release does.

// admissionErrors returns the errors of a TrainJob: errors of its text, of the API server and of the webhooks.
func (s *step) admissionErrors(ctx context.Context, j workspace.Job, migrated *trainer.TrainJob) finding.List {
	found := slices.Clone(j.Document.Findings)
	fields, err := j.Document.Fields()
	in := admission.Input{
		Release: &s.release, Patches: s.in.PatchesFor(j),
		Namespace: s.flags.Namespace, OnConflict: s.opts.OnConflict, ForceManagers: s.opts.ForceManagers, FeatureGates: s.opts.FeatureGates,
	}
	if migrated != nil {
		found, j.TrainJob, j.Migrated = nil, migrated, true
	}
	if j.Migrated {
		fields, err = admission.Encode(j.TrainJob)
	}
	if err != nil {
		return rejections(&s.release, found) // decoding has reported it
	}
	in.TrainJob = fields
	if _, missing := s.in.RuntimeOf(j); missing != nil {
		found = append(found, *missing)
	}
	runtime := s.admit(ctx, j)
	in.Runtime, found = runtime.Runtime, append(found, runtime.found...)
	found = append(found, admission.Check(ctx, in)...)
	return rejections(&s.release, s.in.Locate(j, found))
}

// runtimeInRelease is a runtime that the release has judged, with the findings on its text and on the runtime.
type runtimeInRelease struct {
	*admission.Runtime
	found finding.List
}

// admit admits the runtime of a TrainJob, each once. It returns nothing without one.
func (s *step) admit(ctx context.Context, j workspace.Job) runtimeInRelease {
	source := s.in.SourceOf(j)
	if source == nil {
		return runtimeInRelease{}
	}
	return s.runtimes.Of(source, func() (a runtimeInRelease) {
		if fields, err := source.Fields(render.RuntimeOf(j.TrainJob)); err == nil {
			a.Runtime, a.found = admission.AdmitRuntime(ctx, &s.release, fields, s.flags.Namespace)
		}
		a.found = append(slices.Clone(source.Document.Findings), a.found...)
		return a
	})
}

// rejections returns the errors that a cluster of the release has as well.
func rejections(r *release.Release, found finding.List) finding.List {
	return codes.Distinct(found.Where(func(f finding.Finding) bool { return f.Severity >= finding.Error && !admission.Stricter(r, f) }))
}
