package render

import (
	"context"
	"slices"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/revision"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/release"
)

// readOld reads the state before, from --old or --git. With --git it sets the inputs to those of
// the new version. The caller closes both.
func (r *renderRun) readOld() (found finding.List, done func(), err error) {
	flags, paths, p, done := r.flags.Flags, []string{r.flags.Old}, r.p, func() {}
	prefix := ""
	if r.flags.Git != "" {
		old, new, err := revision.Sides(p, r.flags.Git, flags)
		if err != nil {
			return nil, done, err
		}
		done = func() { old.Close(); new.Close() }
		prefix = old.Prefix
		flags, p, paths = old.Flags, old.Program(p),
			slices.Concat(old.Flags.Files, old.Flags.Runtimes)
		r.p, r.flags.Flags = new.Program(r.p), new.Flags
	}
	r.old = live.Read(p, flags, paths...)
	r.old.Prefix = prefix
	found = r.old.Named(r.old.Findings)
	if len(r.queue.Flavors) == 0 {
		return append(found, r.old.Named(r.old.UnreadWorkloads())...), done, nil
	}
	for _, w := range r.old.Workloads {
		found = append(found, r.queue.Add(w, flags)...)
	}
	return found, done, nil
}

// changed returns the JobSet of a TrainJob, or its Jobs, as the controllers change the objects that
// exist. It returns nil after an error.
func (r *renderRun) changed(j workspace.Job, applied *jobset.JobSet) (finding.List, []any) {
	if r.old.Findings.Err() != nil {
		return nil, nil // the objects are unknown
	}
	if existing := r.old.JobSetOf(render.ObjectOf(j.TrainJob)); existing != nil {
		applied = pipeline.Reordered(r.in, j, r.opts, applied, existing)
	}
	second, found := r.old.Second(render.ObjectOf(j.TrainJob), r.podsOf(j).Release, applied)
	if second == nil || found.Err() != nil {
		return found, nil
	}
	if r.flags.To == "jobset" {
		return found, []any{second.Now.JobSet}
	}
	jobs := []any{}
	for _, job := range second.Now.Jobs {
		jobs = append(jobs, job)
	}
	return found, jobs
}

// admitRuntime returns the findings of a cluster on a runtime.
func admitRuntime(r *release.Release, fields map[string]any) finding.List {
	_, found := admission.AdmitRuntime(context.Background(), r, fields, "")
	return found
}
