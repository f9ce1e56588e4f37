package check

import (
	"sync"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/mlpolicy"
)

// relocations holds the positions of fields in patches that belong to spec.trainer of their TrainJobs.
type relocations struct {
	mu      sync.Mutex
	certain map[fieldpath.Position]bool
}

// note records the fields that a TrainJob of the runtime can move to spec.trainer. The controller writes spec.trainer into each
// job with the trainer's label. So the patched job must be the only one.
func (m *relocations) note(d *manifest.Document, job workspace.Job, admitted *admittedRuntime) {
	moved := d.Findings.Where(func(f finding.Finding) bool { return f.Code == codes.Unpatchable && f.Remedy.Do == finding.Move })
	if moved == nil || admitted == nil {
		return
	}
	fields, err := admitted.Fields(render.RuntimeOf(job.TrainJob))
	if err != nil {
		return // decoding has reported the error
	}
	trainer := onlyTrainer(fields)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range moved {
		if trainer != "" && patchedJob(f.Path) == trainer {
			m.certain[f.Position] = true
		}
	}
}

// mark makes the remedies of these fields certain.
func (m *relocations) mark(found finding.List) finding.List {
	for i := range found {
		f := &found[i]
		if f.Code == codes.Unpatchable && f.Remedy.Do == finding.Move && m.certain[f.Position] {
			f.Remedy.IsCertain = true
		}
	}
	return found
}

// patchedJob returns the name of the replicated job that a field of a patch belongs to, or "".
func patchedJob(path fieldpath.Path) string {
	for i := 1; i < len(path); i++ {
		if list, _ := path[i-1].Field(); list == "replicatedJobs" {
			_, name, _ := path[i].Item()
			return name
		}
	}
	return ""
}

// onlyTrainer returns the name of the only replicated job of a runtime with the trainer's label, or "".
func onlyTrainer(runtime map[string]any) string {
	jobs, _ := valueAt(runtime, "spec", "template", "spec", "replicatedJobs").([]any)
	found := ""
	for _, job := range jobs {
		if valueAt(job, "template", "metadata", "labels", mlpolicy.Ancestor) != mlpolicy.Trainer {
			continue
		}
		if found != "" {
			return ""
		}
		found, _ = valueAt(job, "name").(string)
	}
	return found
}

// valueAt returns the value of nested objects, or nil.
func valueAt(value any, names ...string) any {
	for _, name := range names {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}
