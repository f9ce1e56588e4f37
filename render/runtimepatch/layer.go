package runtimepatch

import (
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// The layers of a TrainJob other than the managers' patches.
const (
	// RuntimeLayer is the runtime's JobSet template.
	RuntimeLayer merge.Owner = "runtime"
	// TrainJobLayer is spec.trainer, spec.initializer and spec.suspend of the TrainJob.
	TrainJobLayer merge.Owner = "trainjob"
	// DefaultLayer holds the defaults of the API server or of a defaulting webhook.
	DefaultLayer merge.Owner = "default"
	// JobSetLayer holds the fields that the JobSet controller writes into Jobs and Pods.
	JobSetLayer merge.Owner = "jobset"
	// JobLayer holds the fields that the Job controller writes into Pods.
	JobLayer merge.Owner = "job"
)

const (
	overridePrefix  = "override/"
	policyPrefix    = "policy/"
	schedulerPrefix = "scheduler/"
)

// PolicyLayer returns the layer of one machine-learning policy, such as torch.
func PolicyLayer(name string) merge.Owner { return merge.Owner(policyPrefix + name) }

// SchedulerLayer returns the layer of one gang scheduler, such as coscheduling.
func SchedulerLayer(name string) merge.Owner { return merge.Owner(schedulerPrefix + name) }

// isController reports whether a controller computes the layer's values.
func isController(l merge.Owner) bool {
	return l == JobSetLayer || l == JobLayer || strings.HasPrefix(string(l), policyPrefix) ||
		strings.HasPrefix(string(l), schedulerPrefix)
}

// OverrideLayer returns the layer of one override of a TrainJob of Trainer 2.1. The name is the
// override's position in spec.podTemplateOverrides, or "metadata" for spec.labels and
// spec.annotations.
func OverrideLayer(name string) merge.Owner { return merge.Owner(overridePrefix + name) }

// OverrideOf returns the override of a layer and reports whether the layer is one.
func OverrideOf(l merge.Owner) (string, bool) {
	return strings.CutPrefix(string(l), overridePrefix)
}

// FromRuntime reports whether the Source of a claim is a field of the runtime, not of the TrainJob.
func FromRuntime(c merge.Claim) bool {
	for _, section := range []string{"template", "mlPolicy", "podGroupPolicy"} {
		if c.At.HasPrefix(fieldpath.Fields("spec", section)) {
			return true
		}
	}
	return false
}

// PatchPath returns the path of a manager's JobSet template patch in a TrainJob.
func PatchPath(manager string) fieldpath.Path {
	return fieldpath.Path{fieldpath.Field("spec"), fieldpath.Field("runtimePatches"),
		fieldpath.Item("manager", manager), fieldpath.Field("trainingRuntimeSpec"),
		fieldpath.Field("template")}
}

// InTemplate returns the path of a claim's source in the JobSet template of the runtime or of a
// patch. It returns nil if the source lies elsewhere.
func InTemplate(c merge.Claim) fieldpath.Path {
	root := fieldpath.Fields("spec", "template")
	if name, ok := c.Owner.Manager(); ok {
		root = PatchPath(name)
	}
	if !c.At.HasPrefix(root) {
		return nil
	}
	return c.At[len(root):]
}

// FormatClaim formats the value of a claim as FormatValue does. A controller's value is never
// secret, so it is shown.
func FormatClaim(path fieldpath.Path, c merge.Claim, show bool) string {
	return finding.FormatValue(path, c.Value, show || isController(c.Owner))
}

// IsSecretOf reports whether a layer may have written a secret into the field, as IsSecret does.
// Controllers write no secrets.
func IsSecretOf(layer merge.Owner, path fieldpath.Path) bool {
	return !isController(layer) && finding.IsSecret(path)
}
