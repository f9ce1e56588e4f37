package repair

import (
	"errors"
	"fmt"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/workspace"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/trainjob"
)

// migrate returns the change that rewrites a TrainJob of Trainer 2.1. It needs the runtime, to prove that both forms render alike.
func (r *round) migrate(f finding.Finding) ([]change, error) {
	o := r.objectAt(f.Position)
	if o == nil {
		return nil, errNoPlace
	}
	j, ok := r.trainJob(o)
	if !ok {
		return nil, errors.New("the TrainJob has other errors")
	}
	runtime, missing := r.inputs.RuntimeOf(j)
	if runtime == nil {
		if missing != nil {
			return nil, fmt.Errorf("nothing proves that the new form renders alike: %s", missing.Message)
		}
		return nil, errors.New("nothing proves that the new form renders alike: the runtime has errors")
	}
	result := render.Migrate(render.Input{TrainJob: j.TrainJob, Runtime: runtime}, j.Document.Overrides, trainjob.SDKManager)
	if err := result.Findings.Err(); err != nil {
		first := slices.IndexFunc(result.Findings, func(f finding.Finding) bool { return f.Severity == finding.Error })
		return nil, errors.New(result.Findings[first].Message)
	}
	if result.TrainJob == nil || !result.Proved {
		return nil, errors.New("nothing proves that the new form renders alike")
	}
	rewrite := j.Document.Migration(result.TrainJob.Spec.RuntimePatches)
	return []change{{object: o, rewrite: &rewrite, Change: manifest.Change{Path: fieldpath.Fields("spec", "runtimePatches")}}}, nil
}

// trainJob returns the TrainJob of Trainer 2.1 that an object of a text is.
func (r *round) trainJob(o *object) (workspace.Job, bool) {
	if r.inputs == nil {
		r.inputs = workspace.Read(r.reader, r.opts.Inputs)
	}
	i := slices.IndexFunc(r.inputs.Jobs, func(j workspace.Job) bool {
		return j.Document.Overrides != nil && j.Document.TextPosition(nil) == o.at
	})
	if i < 0 {
		return workspace.Job{}, false
	}
	return r.inputs.Jobs[i], true
}

// isRewritten reports whether a repair rewrites the object as a whole. Other repairs of it wait for the next round.
func (r *round) isRewritten(o *object) bool {
	return slices.ContainsFunc(r.wishes, func(w *wish) bool {
		return slices.ContainsFunc(w.changes, func(c change) bool { return c.object == o && c.rewrite != nil })
	})
}

// isChanged reports whether a repair changes the object.
func (r *round) isChanged(o *object) bool {
	return slices.ContainsFunc(r.wishes, func(w *wish) bool { return w.touches(o) })
}

// edit returns the edits of an object for some repairs.
func (r *round) edit(o *object, wishes []*wish) ([]manifest.Edit, error) {
	for _, w := range wishes {
		for _, c := range w.changes {
			if c.object == o && c.rewrite != nil {
				return o.Rewrite(*c.rewrite)
			}
		}
	}
	return o.Change(r.changesOf(o, wishes))
}
