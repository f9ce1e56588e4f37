package render

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/internal/defaults"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// conflicts reports the conflicts between managers.
func (r *renderer) conflicts(merged *runtimepatch.Result, rule OnConflict) {
	for _, c := range conflict.Find(merged.History) {
		if r.in.Layers != nil && c.Kind == conflict.Overlap {
			continue // layers have one author and a documented order
		}
		f := c.Finding(r.trainJob())
		if rule == Last && c.Kind == conflict.Overlap {
			f.Severity = finding.Warning
		}
		r.report(f)
	}
}

// keepsLastMount reports whether the merge kept the last of two mounts at one path. The argument is
// the path of the finding on them. The merge keeps the last one only in a container that had mounts
// before. Elsewhere it keeps both, and the cluster rejects the JobSet.
func keepsLastMount(template *trainer.JobSetTemplateSpec, path fieldpath.Path) bool {
	within := path[len(runtimepatch.PatchPath("")):]
	for i := range template.Spec.ReplicatedJobs {
		job := &template.Spec.ReplicatedJobs[i]
		pod := fieldpath.Fields("spec", "replicatedJobs").Append(
			fieldpath.Item("name", job.Name)).Append(
			fieldpath.Fields("template", "spec", "template", "spec")...)
		for list, container := range defaults.Containers(&job.Template.Spec.Template.Spec) {
			if !within.HasPrefix(
				pod.Append(fieldpath.Field(list), fieldpath.Item("name", container.Name))) {
				continue
			}
			seen := map[string]bool{}
			for _, m := range container.VolumeMounts {
				seen[m.MountPath] = true
			}
			return len(seen) == len(container.VolumeMounts)
		}
	}
	return false
}

// decided reports the conflicts that force decided.
func (r *renderer) decided(decisions []conflict.Decision) {
	r.forced = decisions
	for _, d := range decisions {
		r.report(d.Finding(r.trainJob()))
	}
}
