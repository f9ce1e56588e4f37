package check

import (
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/mlpolicy"
)

// relocated returns the errors of decoding on fields of patches that the TrainJob can move to
// spec.trainer, with certain remedies. The controller writes spec.trainer into each job with the
// trainer's label. So the patched job must be the only one.
func relocated(d *manifest.Document, job workspace.Job, admitted *admittedRuntime) finding.List {
	moved := d.Findings.Where(func(f finding.Finding) bool {
		return f.Code == codes.Unpatchable && f.Remedy.Do == finding.Move
	})
	if moved == nil || admitted == nil {
		return nil
	}
	fields, err := admitted.Fields(render.RuntimeOf(job.TrainJob))
	if err != nil {
		return nil // decoding has reported the error
	}
	trainer := onlyTrainer(fields)
	certain := moved.Where(func(f finding.Finding) bool {
		return trainer != "" && patchedJob(f.Path) == trainer
	})
	for i := range certain {
		certain[i].Remedy.IsCertain = true
	}
	return certain
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

// onlyTrainer returns the name of the only replicated job of a runtime with the trainer's label, or
// "".
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
