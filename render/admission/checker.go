package admission

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Input is a TrainJob with its runtime, further patches and the settings for their check.
type Input struct {
	// Release is the release of the Trainer, with its JobSet; nil means the latest one.
	Release *release.Release
	// TrainJob is the object as decoded from JSON or YAML, or as Encode returns it for a Go value.
	// Check does not change it. For an earlier release it is an object of its definition, with the
	// overrides that it reads.
	TrainJob map[string]any
	// Runtime is the runtime that the TrainJob names. If it is nil, Check checks only the TrainJob
	// itself. The caller reports a missing runtime.
	Runtime *Runtime
	// IsAccepted means that the cluster accepts the runtime, whatever its own findings say.
	IsAccepted bool
	// Live is the runtime in the cluster, if Runtime is the Trainer's snapshot of it. Check warns
	// if they differ.
	Live *Runtime
	// Patches are further managers' patches. They follow the TrainJob's own patches, in this order.
	Patches []trainer.RuntimePatch
	// Layers are the settings in fields of an earlier API, which TrainJob must not contain. It is
	// nil for one of today's API. See render.Input. A Release with overrides ignores Layers, and
	// reads them in TrainJob.
	Layers *legacy.Overrides
	// Earlier holds fields of earlier releases, see render.Input. With a Release, Check takes these
	// from TrainJob and Runtime instead.
	Earlier legacy.Earlier
	// Namespace is the namespace of an object without one; the empty string means "default".
	Namespace string
	// OnConflict selects how to report conflicts between managers.
	OnConflict render.OnConflict
	// ForceManagers are managers that win all their conflicts, each with a warning, see
	// runtimepatch.Force. The cluster has no such option, so Check then checks a TrainJob after
	// these decisions.
	ForceManagers []string
	// FeatureGates are the feature gates of the Trainer's controller.
	FeatureGates render.FeatureGates
	// PriorityClasses are the names of the existing classes, except the two of the system.
	PriorityClasses []string
	// RuntimeClasses are the names of the existing classes.
	RuntimeClasses []string
}

func (in Input) namespace() string {
	if in.Namespace == "" {
		return "default"
	}
	return in.Namespace
}

// Runtime is a TrainingRuntime or ClusterTrainingRuntime as the cluster stores it. AdmitRuntime
// returns one. Any number of concurrent checks can share it.
type Runtime struct {
	id         fieldpath.Object
	spec       trainer.TrainingRuntimeSpec
	deprecated bool
	definition *definition
	// processes is spec.mlPolicy.torch.numProcPerNode of an earlier release.
	processes *intstr.IntOrString
	// findings are the findings of its own admission.
	findings finding.List
}

// ID returns the runtime's kind, namespace and name.
func (r *Runtime) ID() fieldpath.Object {
	if r == nil {
		return fieldpath.Object{}
	}
	return r.id
}

// checker checks one TrainJob.
type checker struct {
	findings
	in  Input
	job *object // nil if its metadata or its Go type cannot be decoded
	// typed is the TrainJob with defaults and further patches.
	typed   *trainer.TrainJob
	merging *render.Merging
	// merged is the runtime's template with all patches, and later with the writes of the policies.
	// It is nil if the cluster's merge fails.
	merged *runtimepatch.Result
	output *render.Objects // nil before the policies
	owners fieldOwners
	causes []cause
	// causeAt maps a field to the first cause there, counted from 1.
	causeAt map[string]int
}

// cause is an error on the TrainJob or its runtime that causes later errors, and its field in the
// JobSet.
type cause struct {
	finding int
	at      fieldpath.Path
	// hasExactPath means that the finding already has the path of the field that the cluster names.
	hasExactPath bool
}

// fieldOwners are the claims on the fields of the JobSet, by their paths.
type fieldOwners struct {
	claims map[string][]merge.Claim
	items  map[string]fieldpath.Path // of an item of a list-map, by the list and its position
}

func newChecker(in Input) *checker {
	c := &checker{in: in}
	if in.Runtime != nil {
		c.Report = *codes.NewReport(in.Runtime.findings, nil)
	}
	return c
}

func (c *checker) release() *release.Release { return c.in.Release.Or() }

// renderInput returns the TrainJob over a runtime.
func (c *checker) renderInput(r *Runtime) render.Input {
	in := render.Input{TrainJob: c.typed, Runtime: &r.spec, Layers: c.in.Layers,
		Earlier: c.in.Earlier}
	if c.in.Release != nil {
		in.Earlier.TorchNumProcPerNode = r.processes
	}
	return in
}

// merge merges the patches over the runtime's template, as rendering does.
func (c *checker) merge() {
	c.merging = render.Merge(c.renderInput(c.in.Runtime), c.options())
	c.merged, c.output, c.owners = c.merging.Result, nil, fieldOwners{}
}

func (c *checker) options() render.Options {
	return render.Options{
		Release: c.in.Release, OnConflict: c.in.OnConflict, ForceManagers: c.in.ForceManagers,
		FeatureGates: c.in.FeatureGates,
	}
}

// decidedOptions are options under which no conflict is an error.
func (c *checker) decidedOptions() render.Options {
	o := c.options()
	o.OnConflict = render.Last
	return o
}

// report adds a finding on the TrainJob.
func (c *checker) report(code finding.Code, severity finding.Severity, path fieldpath.Path, message,
	help string) {
	c.Add(finding.Finding{Code: code, Severity: severity, Object: c.job.id, Path: path,
		Message: message, Remedy: finding.Remedy{Text: help}})
}

// trainJobController is the managedBy value of the Trainer's own controller.
const trainJobController = "trainer.kubeflow.org/trainjob-controller"

// managedHere reports whether the Trainer of this cluster makes the JobSet. Before 2.3 it did so
// for other managers as well.
func (c *checker) managedHere() bool {
	job := c.typed
	return !c.job.release.ManagedBy || job.Spec.ManagedBy == nil ||
		*job.Spec.ManagedBy == trainJobController
}
