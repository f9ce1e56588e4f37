package check

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// oldState holds the objects before a change, from --old or a revision. A nil one is empty.
type oldState struct {
	runner   *runner
	in       *workspace.Input
	objects  map[fieldpath.Object]*manifest.Document // TrainJobs and JobSets
	runtimes *admittedRuntimes
	// the objects of a revision that the cluster rejects, so that it lacks them
	rejected map[fieldpath.Object]bool
	first    *manifest.Document // of --old
	isLive   bool               // a cluster has the objects
	dump     *live.Dump         // of a cluster, with what its controllers made; or nil
	// met is set once an old object is among the new objects.
	met atomic.Bool
}

// readOldState reads the old state: files, a directory, or the dump of a cluster. It reports what
// cannot be read only: other findings were reported when the state was new.
func readOldState(p *host.Program, j *runner) *oldState {
	if j.flags.old == "" {
		return nil
	}
	dump := live.Read(p, j.flags.Flags, j.flags.old)
	j.in.Findings = append(append(j.in.Findings, dump.Findings...), dump.UnreadWorkloads()...)
	j.in.AddLines(dump.Input.Lines)
	s := &oldState{in: dump.Input, objects: map[fieldpath.Object]*manifest.Document{},
		runtimes: &admittedRuntimes{}}
	if dump.Live && dump.Findings.Err() != nil {
		return s // what runs is unknown
	}
	for _, f := range dump.Families {
		for _, o := range []*live.Object{f.TrainJob, f.JobSet} {
			if o != nil && !o.Broken {
				s.objects[j.in.ID(o.Document)] = o.Document
			}
		}
	}
	s.isLive = dump.Live
	if dump.Live && dump.Kinds[workspace.JobSetKind] && !j.flags.recreate {
		s.dump = dump
	} else {
		s.first = dump.First
	}
	return s
}

// runtimeFields returns the fields of a runtime's old state, or nil if there is none.
func (s *oldState) runtimeFields(id fieldpath.Object, api *manifest.API) map[string]any {
	if s == nil || s.in.Named(id) == nil {
		return nil
	}
	s.met.Store(true)
	fields, err := s.in.Named(id).Document.As(api).Fields()
	if err != nil {
		return nil
	}
	return fields
}

// fieldsOf returns the old state of a TrainJob or a JobSet by the API of the new one, or nil.
func (s *oldState) fieldsOf(id fieldpath.Object,
	api *manifest.API) (map[string]any, *manifest.Document) {
	if s == nil || s.objects[id] == nil || s.rejected[id] {
		return nil, nil
	}
	if s.met.Store(true); s.runner.flags.recreate {
		return nil, nil
	}
	d := s.objects[id].As(api)
	fields, err := d.Fields()
	if err != nil {
		return nil, nil
	}
	return fields, d
}

// checkJobSet judges a JobSet as an update if its old state is known, else as a creation.
func (s *oldState) checkJobSet(ctx context.Context, j *runner, d *manifest.Document,
	fields map[string]any) finding.List {
	r, namespace := d.API().Release(), j.flags.Namespace
	if old, _ := s.fieldsOf(j.in.ID(d), d.API()); old != nil {
		return admission.UpdateJobSet(ctx, r, old, fields, namespace)
	}
	return admission.AdmitJobSet(ctx, d.API().Release(), fields, namespace)
}

// check judges a TrainJob as an update if its old state is known, else as a creation. It assumes
// the patches of other managers before and after the change.
func (s *oldState) check(ctx context.Context, in admission.Input, job workspace.Job) finding.List {
	id := render.ObjectOf(job.TrainJob)
	if s != nil && s.dump != nil {
		return s.checkObserved(ctx, in, job, id)
	}
	fields, d := s.fieldsOf(id, job.Document.API())
	if fields == nil {
		return admission.Check(ctx, in)
	}
	return admission.Update(ctx, s.input(ctx, in, job, fields, d), in)
}

// checkObserved judges a TrainJob as an update of a cluster, with the next states of the objects
// that exist.
func (s *oldState) checkObserved(ctx context.Context, in admission.Input, job workspace.Job,
	id fieldpath.Object) finding.List {
	observed, found := s.dump.Observed(id)
	old := in // if the dump lacks the TrainJob
	if fields, d := s.fieldsOf(id, job.Document.API()); fields != nil {
		old = s.input(ctx, in, job, fields, d)
	} else if observed != nil && observed.JobSet == nil {
		return append(found, admission.Check(ctx, in)...)
	}
	if observed == nil || found.Err() != nil {
		return append(found, admission.Update(ctx, old, in)...)
	}
	family := s.dump.Family(id)
	defer family.Release()
	updated, second := admission.UpdateObserved(ctx, old, in, *observed)
	return slices.Concat(found, updated, family.Unknown(second),
		family.Stale(second, func(path fieldpath.Path) fieldpath.Position {
			return s.runner.in.Locate(
				job, finding.List{
					{Object: fieldpath.Object{Kind: workspace.JobSetKind}, Path: path}})[0].Position
		}))
}

// input returns the old state of a TrainJob for admission.
func (s *oldState) input(ctx context.Context, in admission.Input, job workspace.Job,
	fields map[string]any, d *manifest.Document) admission.Input {
	old := in
	named := workspace.Job{TrainJob: workspace.Outline(fields, job.Namespace), Document: d}
	old.TrainJob, old.Layers, old.Earlier, old.Runtime = fields, named.Layers(),
		s.in.Earlier(named), nil
	if source := s.in.SourceOf(named); source != nil {
		admitted := s.runtimes.of(source)
		admitted.isStored = admitted.isStored || s.isLive
		old.Runtime = s.admit(ctx, admitted, render.RuntimeOf(named.TrainJob))
	}
	return old
}

// missingRuntime reports a TrainJob of the old state whose runtime neither state has. The Trainer's
// webhook asks for it at each update, and its controller renders by the snapshot.
func (s *oldState) missingRuntime(in *workspace.Input, job workspace.Job) *finding.Finding {
	id := render.ObjectOf(job.TrainJob)
	if s == nil || !s.isLive || s.objects[id] == nil || !in.Lacks(job) {
		return nil
	}
	ref := fieldpath.Fields("spec", "runtimeRef")
	f := &finding.Finding{
		Code: codes.NoRuntime, Severity: finding.Warning, Object: id, Path: ref,
		Position: job.Document.Position(ref),
		Message: fmt.Sprintf(
			"Not found: %s: without it, the webhook rejects every update of the TrainJob, also "+
				"one that resumes it", render.RuntimeOf(job.TrainJob)),
		Remedy: finding.Remedy{
			Text: "create the runtime again"},
	}
	if s.in.HasRuntimes() { // they were asked for
		f.Severity = finding.Error
	}
	return f
}

// admit admits an old runtime as a creation. It drops the findings, which were reported when the
// runtime was new.
func (s *oldState) admit(ctx context.Context, admitted *admittedRuntime,
	named fieldpath.Object) *admission.Runtime {
	created := *s.runner
	created.oldState = nil
	runtime, _ := created.admit(ctx, admitted, named)
	return runtime
}

// unrelated reports an old state without any of the new objects.
func (s *oldState) unrelated() *finding.Finding {
	if s == nil || s.first == nil || s.met.Load() {
		return nil
	}
	at := fieldpath.Fields("metadata", "name")
	return &finding.Finding{
		Code: codes.UnknownOldObject, Severity: finding.Warning, Object: s.in.ID(s.first), Path: at,
		Position: s.first.Position(at),
		Message:  "no object of the old state is among the new objects: all were judged as created",
		Remedy: finding.Remedy{
			Text: "pass two states of the same objects: kind, namespace and name must be equal"},
	}
}
