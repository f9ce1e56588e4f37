package check

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// admittedRuntime is a runtime that TrainJobs may name. It is admitted once, on first use.
type admittedRuntime struct {
	*workspace.RuntimeSource
	// named is set once a TrainJob names the runtime.
	named atomic.Bool
	// isStored tells that a cluster has the runtime, so that it was accepted.
	isStored bool

	once    sync.Once
	runtime *admission.Runtime // nil if the fields are not a valid runtime
	found   finding.List
}

// admittedRuntimes are the runtimes by their sources.
type admittedRuntimes struct {
	mu       sync.Mutex
	bySource map[*workspace.RuntimeSource]*admittedRuntime
	// others are the runtimes of the inputs that a TrainJob of another release names.
	others []*admittedRuntime
}

// add returns the runtime of a new source.
func (h *admittedRuntimes) add(source *workspace.RuntimeSource) *admittedRuntime {
	if h.bySource == nil {
		h.bySource = map[*workspace.RuntimeSource]*admittedRuntime{}
	}
	h.bySource[source] = &admittedRuntime{RuntimeSource: source}
	return h.bySource[source]
}

// of returns the runtime of a source. A TrainJob's release may read a source of its own.
func (h *admittedRuntimes) of(source *workspace.RuntimeSource) *admittedRuntime {
	h.mu.Lock()
	defer h.mu.Unlock()
	admitted := h.bySource[source]
	if admitted == nil {
		if admitted = h.add(source); !source.Stock || source.Base() != nil {
			h.others = append(h.others, admitted)
		}
	}
	return admitted
}

// runtime records a runtime or a snapshot. It judges a runtime itself, unless it was named only for
// TrainJobs. A snapshot is judged with its TrainJob.
func (j *runner) runtime(d *manifest.Document, all bool) {
	source, kept := j.in.AddText(d)
	if source == nil {
		return
	}
	admitted := &admittedRuntime{RuntimeSource: source}
	if kept {
		admitted = j.runtimes.add(source)
	}
	judged := all && source.Snapshot == nil
	if judged {
		j.countOnce(d, &j.count.runtimes, d.ID.Kind)
		j.own = append(j.own, admitted)
		j.results = append(j.results, func(ctx context.Context) finding.List {
			return j.checkRuntime(ctx, admitted)
		})
	}
	if kept && !judged {
		j.fromFlag = append(j.fromFlag, admitted)
	}
}

// runtimeOf returns the runtime of a TrainJob, preferring its snapshot, or a finding if it is
// missing.
func (j *runner) runtimeOf(job workspace.Job) (*admittedRuntime, *finding.Finding) {
	if _, missing := j.in.RuntimeOf(job); missing != nil {
		return nil, missing
	}
	source := j.in.SourceOf(job)
	if source == nil {
		return nil, nil
	}
	return j.runtimes.of(source), nil
}

// liveOf returns the runtime in the cluster of a TrainJob with a snapshot of it, or nil.
func (j *runner) liveOf(job workspace.Job) *workspace.RuntimeSource {
	id := render.RuntimeOf(job.TrainJob)
	if live := j.in.Named(id); live != nil || j.oldState == nil || !j.oldState.isLive {
		return live
	}
	return j.oldState.in.Named(id)
}

// isStored reports whether a cluster has a runtime: it is a snapshot, of the old state alone, or of
// a dump that is read for runtimes only.
func (j *runner) isStored(admitted *admittedRuntime, fields map[string]any) bool {
	if admitted.isStored || admitted.Snapshot != nil {
		return true
	}
	if admitted.Stock || admitted.Base() != nil {
		return false
	}
	if j.oldState != nil && j.in.Named(j.in.ID(admitted.Document)) == nil {
		return true
	}
	metadata, _ := fields["metadata"].(map[string]any)
	return metadata["uid"] != nil && !slices.ContainsFunc(j.own, func(own *admittedRuntime) bool {
		return own.Document == admitted.Document
	})
}

// admit runs a runtime through admission, as an update if its old state is known. Like the Trainer,
// it treats a snapshot as the runtime that its TrainJob names.
func (j *runner) admit(ctx context.Context, admitted *admittedRuntime,
	named fieldpath.Object) (*admission.Runtime, finding.List) {
	admitted.once.Do(func() {
		fields, err := admitted.Fields(named)
		if err != nil {
			return // decoding has reported the error
		}
		r := admitted.Document.API().Release()
		if j.isStored(admitted, fields) {
			admitted.runtime = admission.StoredRuntime(ctx, r, fields, j.flags.Namespace)
			return
		}
		if old := j.oldState.runtimeFields(j.in.ID(admitted.Document),
			admitted.Document.API()); old != nil && admitted.Snapshot == nil {
			admitted.runtime, admitted.found = admission.UpdateRuntime(ctx, r, old, fields,
				j.flags.Namespace)
			if created, rejected := admission.AdmitRuntime(ctx, r, fields,
				j.flags.Namespace); admitted.found.Err() != nil && rejected.Err() == nil &&
				created != nil {
				// the cluster keeps it
				admitted.runtime, _ = admission.AdmitRuntime(ctx, r, old, j.flags.Namespace)
			}
			return
		}
		admitted.runtime, admitted.found = admission.AdmitRuntime(ctx, r, fields, j.flags.Namespace)
	})
	return admitted.runtime, admitted.found
}

// checkRuntime returns the findings on a runtime itself, with their positions.
func (j *runner) checkRuntime(ctx context.Context, admitted *admittedRuntime) finding.List {
	_, all := j.admit(ctx, admitted, fieldpath.Object{})
	found := slices.Concat(all, j.beyondTypesOf(ctx, admitted, all))
	for i := range found {
		f := &found[i]
		f.Position = admitted.Position(f.Path)
		for c := range f.Claims {
			f.Claims[c].Position = admitted.Position(f.Claims[c].At)
		}
	}
	if base := admitted.Base(); base != nil {
		if fields, err := base.Fields(fieldpath.Object{}); err == nil {
			_, ofBase := admission.AdmitRuntime(ctx, admitted.Document.API().Release(), fields,
				j.flags.Namespace)
			admitted.Rejected(found, ofBase)
		}
	} else if f := j.in.Outdated(admitted.RuntimeSource); f != nil {
		found = append(found, *f)
	}
	if admitted.Snapshot == nil {
		further := admitted.Document.Report()
		further.Add(found...)
		found = further.List()
	}
	return j.in.Rate(found)
}

// beyondTypesOf returns the errors of a runtime that values of a wrong type hide from the findings.
func (j *runner) beyondTypesOf(
	ctx context.Context, admitted *admittedRuntime, found finding.List,
) finding.List {
	fields, err := admitted.Fields(fieldpath.Object{})
	if err != nil || admitted.Base() != nil || admitted.Snapshot != nil {
		return nil // decoding has reported the error, or another object has the values
	}
	return beyondTypes(admitted.Document, fields, found, func(fields map[string]any) finding.List {
		r := admitted.Document.API().Release()
		runtime, found := admission.AdmitRuntime(ctx, r, fields, j.flags.Namespace)
		return append(found, j.checkAlone(ctx, admitted, runtime)...)
	})
}

// addRuntimeWarnings adds the findings on runtimes that the cluster accepts and that are probably
// mistakes. A missing label explains that a policy has no effect.
func (j *runner) addRuntimeWarnings(ctx context.Context, found finding.List) finding.List {
	warnings := j.in.Rate(j.runtimeWarnings(ctx))
	known := codes.NewReport(warnings.Of(codes.NoTrainerLabel), nil)
	return append(found, warnings...).Where(func(f finding.Finding) bool {
		return !known.Explains(f)
	})
}

// checkAlone judges a runtime that no TrainJob of the input names.
func (j *runner) checkAlone(ctx context.Context, admitted *admittedRuntime,
	runtime *admission.Runtime) finding.List {
	return admission.CheckAlone(ctx, admission.Input{
		Release: admitted.Document.API().Release(), Runtime: runtime, Namespace: j.flags.Namespace,
		FeatureGates:    j.flags.FeatureGates,
		PriorityClasses: j.classes, RuntimeClasses: j.runClasses,
	})
}

// runtimeWarnings returns these findings. A TrainJob that names a runtime shows its mistakes
// better.
func (j *runner) runtimeWarnings(ctx context.Context) finding.List {
	var found finding.List
	for i, admitted := range slices.Concat(j.own, j.fromFlag) {
		named := admitted.named.Load()
		if admitted.Snapshot != nil || admitted.Document.Broken || i >= len(j.own) && !named {
			continue
		}
		runtime, _ := j.admit(ctx, admitted, fieldpath.Object{})
		var warnings finding.List
		if f := runtime.Unlabeled(); f != nil {
			warnings = append(warnings, *f)
		}
		if !named {
			warnings = append(warnings, runtime.WithoutImage()...)
			warnings = append(warnings, j.checkAlone(ctx, admitted, runtime)...)
		}
		for i := range warnings {
			warnings[i].Position = admitted.Position(warnings[i].Path)
		}
		j.in.NoteImages(admitted.Document.File, warnings)
		found = append(found, j.in.Rate(warnings)...)
	}
	return found
}
