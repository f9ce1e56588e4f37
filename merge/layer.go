package merge

import (
	"strings"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// The layers of a TrainJob beside the managers' patches.
const (
	// RuntimeLayer is the runtime's JobSet template.
	RuntimeLayer engine.Layer = "runtime"
	// TrainJobLayer is spec.trainer, spec.initializer and spec.suspend of the TrainJob.
	TrainJobLayer engine.Layer = "trainjob"
	// DefaultLayer is what the API server or a defaulting webhook fills in.
	DefaultLayer engine.Layer = "default"
	// JobSetLayer is what the JobSet controller writes into Jobs and Pods.
	JobSetLayer engine.Layer = "jobset"
	// JobLayer is what the Job controller writes into Pods.
	JobLayer engine.Layer = "job"
)

const (
	overridePrefix  = "override/"
	policyPrefix    = "policy/"
	schedulerPrefix = "scheduler/"
)

// PolicyLayer is the layer of one machine-learning policy, such as torch.
func PolicyLayer(name string) engine.Layer { return engine.Layer(policyPrefix + name) }

// SchedulerLayer is the layer of one gang scheduler, such as coscheduling.
func SchedulerLayer(name string) engine.Layer { return engine.Layer(schedulerPrefix + name) }

// isController reports whether a controller computes what the layer writes.
func isController(l engine.Layer) bool {
	return l == JobSetLayer || l == JobLayer || strings.HasPrefix(string(l), policyPrefix) || strings.HasPrefix(string(l), schedulerPrefix)
}

// OverrideLayer is the layer of one override of a TrainJob of Trainer 2.1: its position in
// spec.podTemplateOverrides, or "metadata" for spec.labels and spec.annotations.
func OverrideLayer(name string) engine.Layer { return engine.Layer(overridePrefix + name) }

// OverrideOf returns which override a layer is, and whether it is one.
func OverrideOf(l engine.Layer) (string, bool) { return strings.CutPrefix(string(l), overridePrefix) }

// FromRuntime reports whether the Source of a claim is a field of the runtime; else it is one of the TrainJob.
func FromRuntime(c engine.Claim) bool {
	for _, section := range []string{"template", "mlPolicy", "podGroupPolicy"} {
		if c.Source.HasPrefix(fieldpath.Fields("spec", section)) {
			return true
		}
	}
	return false
}

// PatchPath is where a manager's patch of the JobSet template stands in a TrainJob.
func PatchPath(manager string) fieldpath.Path {
	return fieldpath.Path{fieldpath.Field("spec"), fieldpath.Field("runtimePatches"), fieldpath.Item("manager", manager), fieldpath.Field("trainingRuntimeSpec"), fieldpath.Field("template")}
}

// FormatClaim is FormatValue for the value of a claim on a field. What a controller made is no secret, and shown.
func FormatClaim(path fieldpath.Path, c engine.Claim, show bool) string {
	return finding.FormatValue(path, c.Value, show || isController(c.Layer))
}

// IsSecretOf is IsSecret for what a layer wrote into the field: controllers write no secrets there.
func IsSecretOf(layer engine.Layer, path fieldpath.Path) bool {
	return !isController(layer) && finding.IsSecret(path)
}
