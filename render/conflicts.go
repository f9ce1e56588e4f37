package render

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/compose"
	"github.com/trainweld/trainweld/render/internal/defaults"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// conflicts reports the conflicts between managers.
func (r *renderer) conflicts(merged *runtimepatch.Result, rule OnConflict) {
	found := conflict.Find(merged.Owners)
	composed := r.composed(merged.Owners, found)
	byPath := pathsOf(composed)
	isJudged := make([]bool, len(composed))
	for _, c := range found {
		if r.in.Layers != nil && c.Kind == conflict.Overlap {
			continue // layers have one author and a documented order
		}
		f := c.Finding(r.trainJob())
		if i := byPath.indexOf(c); i >= 0 && !isJudged[i] {
			f, isJudged[i] = composed[i].ConflictFinding(f), true
		}
		r.reportConflict(f, rule)
	}
	for i, c := range composed {
		if !isJudged[i] && !c.IsHeld() {
			r.reportConflict(c.Finding(r.trainJob()), rule)
		}
	}
}

// reportConflict reports a finding on values of managers. The last patch wins some of them by the rule Last.
func (r *renderer) reportConflict(f finding.Finding, rule OnConflict) {
	if rule == Last && (f.Code == codes.Overlap || f.Code == codes.NotComposed) {
		f.Severity = finding.Warning
	}
	r.report(f)
}

// composed returns the fields that the rules govern. It omits fields that force decided, and fields within one that a manager
// empties.
func (r *renderer) composed(owners *runtimepatch.Ownership, found conflict.Conflicts) []compose.Composition {
	if r.in.Layers != nil {
		return nil
	}
	decided, overlaps := map[string]bool{}, map[string]bool{}
	for _, d := range r.forced {
		decided[d.Conflict.Path.String()] = true
	}
	for _, f := range found {
		if f.Kind == conflict.Overlap {
			overlaps[f.Path.String()] = true
		}
	}
	return slices.DeleteFunc(compose.Find(owners, r.in.Rules), func(c compose.Composition) bool {
		for n := 0; len(overlaps) > 0 && n < len(c.Path); n++ {
			if overlaps[c.Path[:n].String()] {
				return true
			}
		}
		return decided[c.Path.String()]
	})
}

// isComposed reports whether a rule composes the values of a patch's field with the runtime's.
func isComposed(path fieldpath.Path, ruleOf func(fieldpath.Path) (compose.Rule, bool)) bool {
	within := len(runtimepatch.PatchPath(""))
	if len(path) <= within {
		return false
	}
	rule, ok := ruleOf(path[within:])
	return ok && rule.Kind == compose.KindUnion
}

// compositions has the indexes of compositions by their paths.
type compositions map[string]int

func pathsOf(composed []compose.Composition) compositions {
	byPath := compositions{}
	for i, c := range composed {
		byPath[c.Path.String()] = i
	}
	return byPath
}

// indexOf returns the index of the composition of a contested field, or -1.
func (c compositions) indexOf(contested conflict.Conflict) int {
	if i, ok := c[contested.Path.String()]; ok && contested.Kind == conflict.Overlap {
		return i
	}
	return -1
}

// keepsLastMount reports whether the merge kept the last of two mounts at one path. The argument is the path of the
// finding on them. The merge keeps the last one only in a container that had mounts before. Elsewhere it keeps both,
// and the cluster rejects the JobSet.
func keepsLastMount(template *trainer.JobSetTemplateSpec, path fieldpath.Path) bool {
	within := path[len(runtimepatch.PatchPath("")):]
	for i := range template.Spec.ReplicatedJobs {
		job := &template.Spec.ReplicatedJobs[i]
		pod := fieldpath.Fields("spec", "replicatedJobs").Append(fieldpath.Item("name", job.Name)).Append(fieldpath.Fields("template", "spec", "template", "spec")...)
		for list, container := range defaults.Containers(&job.Template.Spec.Template.Spec) {
			if !within.HasPrefix(pod.Append(fieldpath.Field(list), fieldpath.Item("name", container.Name))) {
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
