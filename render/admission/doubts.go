package admission

import (
	"fmt"
	"slices"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/patched"
	"github.com/trainweld/trainweld/render/mlpolicy"
)

// Unlabeled returns a warning if no job of the runtime has the trainer's label. The cluster accepts
// such a runtime. It writes the image, the command and the arguments of its TrainJobs into no job.
func (r *Runtime) Unlabeled() *finding.Finding {
	if r == nil {
		return nil
	}
	jobs := r.spec.Template.Spec.ReplicatedJobs
	if slices.ContainsFunc(jobs, isTrainer) {
		return nil
	}
	path := fieldpath.Fields("spec", "template", "spec", "replicatedJobs")
	if at := slices.IndexFunc(jobs, func(j jobset.ReplicatedJob) bool {
		return j.Name == mlpolicy.Node
	}); at >= 0 || len(jobs) == 1 {
		path = path.Append(fieldpath.Item("name", jobs[max(at, 0)].Name))
	}
	return &finding.Finding{
		Code: codes.NoTrainerLabel, Severity: finding.Warning, Object: r.id, Path: path,
		Message: "no job has the trainer's label: image, command and args of a TrainJob have no " +
			"effect",
		Remedy: finding.Remedy{
			Text: fmt.Sprintf("label the template of the job that trains with %s: %s",
				mlpolicy.Ancestor, mlpolicy.Trainer)},
	}
}

// WithoutImage returns a finding on each container without an image. A TrainJob can set the image
// of the trainer's container only, so any other one is an error.
func (r *Runtime) WithoutImage() finding.List {
	if r == nil {
		return nil
	}
	var found finding.List
	for c := range patched.Containers(r.spec.Template.Spec.ReplicatedJobs) {
		if c.Image != "" {
			continue
		}
		f := finding.Finding{
			Code: codes.RuntimeImage, Severity: finding.Error, Object: r.id,
			Path: fieldpath.Fields("spec", "template").Append(c.Path()...).
				Append(fieldpath.Field("image")),
			Message: fmt.Sprintf("container %q has no image, and no TrainJob can set it", c.Name),
			Remedy:  finding.Remedy{Text: "set the image in the runtime"},
		}
		if c.List == "containers" && c.Name == mlpolicy.Node && isTrainer(*c.Job) {
			f.Severity = finding.Warning
			f.Message = fmt.Sprintf(
				"container %q has no image: a TrainJob without spec.trainer.image cannot run",
				c.Name)
			f.Remedy.Text = "set a default image in the runtime"
		}
		found = append(found, f)
	}
	return found
}

func isTrainer(job jobset.ReplicatedJob) bool {
	return job.Template.Labels[mlpolicy.Ancestor] == mlpolicy.Trainer
}
