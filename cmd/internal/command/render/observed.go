package render

import (
	"context"
	"slices"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/release"
)

type liveDump struct{ *live.Dump }

func readDump(p *host.Program, flags workspace.Flags, path string, queue *pipeline.Queue) (observedDump, finding.List, error) {
	dump := live.Read(p, flags, path)
	if len(queue.Flavors) == 0 {
		return liveDump{dump}, append(dump.Findings, dump.UnreadWorkloads()...), nil
	}
	found := slices.Clone(dump.Findings)
	for _, w := range dump.Workloads {
		found = append(found, queue.Add(w, flags)...)
	}
	return liveDump{dump}, found, nil
}

func (d liveDump) objects(j workspace.Job, r *release.Release, applied *jobset.JobSet, isJobSet bool) (finding.List, []any) {
	if d.Findings.Err() != nil {
		return nil, nil // the objects are unknown
	}
	second, found := d.Second(render.ObjectOf(j.TrainJob), r, applied)
	if second == nil || found.Err() != nil {
		return found, nil
	}
	if isJobSet {
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
