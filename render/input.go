package render

import (
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Input is a TrainJob and its runtime, as the API server stores them, with the defaults of their
// CRDs. For values from files, DefaultTrainJob and DefaultRuntime fill in the defaults. The
// functions of this package do not change it.
type Input struct {
	// TrainJob is the job; nil counts as an empty one.
	TrainJob *trainer.TrainJob
	// Runtime is the spec of the TrainingRuntime or ClusterTrainingRuntime; nil counts as an empty
	// one.
	Runtime *trainer.TrainingRuntimeSpec
	// Live is the runtime in the cluster, if Runtime is the Trainer's snapshot of it. PodSets reads
	// it, as Kueue does; nil counts as Runtime.
	Live *trainer.TrainingRuntimeSpec
	// Patches are further managers' patches. They follow the TrainJob's own patches, in this order.
	// A release without runtimePatches reads neither; it reports further patches as an error.
	Patches []trainer.RuntimePatch
	// Layers are the settings that a TrainJob of an earlier API puts over its runtime, after
	// DefaultPatches; nil for one of today's API. Layers and patches exclude each other, since no
	// version of the Trainer reads both.
	Layers *legacy.Overrides
	// Earlier holds fields of other releases that these Go types lack. It counts only with the
	// Release that reads them.
	Earlier legacy.Earlier
}

// filled returns the input with empty objects for nil ones.
func (in Input) filled() Input {
	if in.TrainJob == nil {
		in.TrainJob = &trainer.TrainJob{}
	}
	if in.Runtime == nil {
		in.Runtime = &trainer.TrainingRuntimeSpec{}
	}
	return in
}

// OnConflict selects how to report conflicts between managers.
type OnConflict int

const (
	// Fail reports every conflict as an error.
	Fail OnConflict = iota
	// Last lets the last patch win, as the cluster does, and reports an overlap as a warning. Two
	// members of one union stay an error: the cluster keeps both, and rejects the object.
	Last
)

// View selects the form of the rendered objects.
type View int

const (
	// Applied shows objects as the controller sends them to the API server.
	Applied View = iota
	// Stored shows them as the API server stores them, with the defaults of CRDs and webhooks. It
	// omits values that only a cluster knows.
	Stored
)

// Options configures JobSet. The zero value rejects conflicts and shows the objects as applied. It
// omits objects that need Secrets or FluxTemplates.
type Options struct {
	// Release is the release of the Trainer, with its JobSet; nil means the latest one.
	Release *release.Release
	// OnConflict is Fail or Last.
	OnConflict OnConflict
	// ForceManagers are managers that win all their conflicts, the first one first. Each decision
	// is a warning, see runtimepatch.Force. OnConflict applies to the other conflicts.
	ForceManagers []string
	// As is Applied or Stored.
	As View
	// OwnerReferences adds the controller's owner reference to every object. It holds the uid of
	// the TrainJob, which a TrainJob from a file lacks.
	OwnerReferences bool
	// FeatureGates are the feature gates of the Trainer's controller.
	FeatureGates FeatureGates
	// StatusServer is the server that Pods report to under the feature gate TrainJobStatus.
	StatusServer mlpolicy.StatusServer
	// Secrets is a source of cryptographic randomness for the controller's Secrets, such as
	// crypto/rand.Reader. The Secrets are the key pair of MPI and the certificate of Flux. They
	// hold real keys, different on every call. If the source is nil, JobSet omits them, each with a
	// warning.
	Secrets io.Reader
	// FluxTemplates is the folder pkg/runtime/framework/plugins/flux/templates of the module
	// github.com/kubeflow/trainer/v2, in the version of the release. Flux's ConfigMap is made from
	// it. If it is nil, JobSet omits the ConfigMap, with a warning.
	FluxTemplates fs.FS
}

// Objects holds the objects rendered from a TrainJob.
type Objects struct {
	// JobSet is the JobSet that the controller applies. It can be present in spite of errors. It is
	// nil if the controller would not get that far.
	JobSet *jobset.JobSet
	// Companions are the other objects that the controller applies, ordered by kind and name. Their
	// types are *corev1.ConfigMap and *corev1.Secret. A PodGroup is an *unstructured.Unstructured,
	// since the Go types cannot express minMember: 0 and minResources: {}. Companions do not
	// include the controller's snapshot of the runtime.
	Companions []runtime.Object
	// History holds the layers that wrote each field of the JobSet, the effective one last. It
	// shares memory with JobSet and describes it as returned. It is nil without a JobSet.
	History *merge.History
	// Findings are all findings: errors, warnings and notes.
	Findings finding.List

	release *release.Release
}

type renderer struct {
	in      Input
	release *release.Release
	order   []string              // of the policies; nil for the usual one
	forced  []conflict.Decision   // of Options.ForceManagers
	merging *runtimepatch.Options // of the patches that these left; nil for all patches
	record  recorder              // into the history of the merge
	out     *Objects
}

// A recorder records that a layer wrote a field. It gets the origin of the value, and both values.
type recorder = func(merge.Owner, merge.Origin, fieldpath.Path, any, any)

func newRenderer(in Input, r *release.Release) renderer {
	return renderer{in: in.filled(), release: r.Or(), out: &Objects{release: r}}
}

func (r *renderer) report(f finding.Finding) {
	if r.in.Layers != nil {
		f = r.in.Layers.Finding(f)
	}
	r.out.Findings = append(r.out.Findings, f)
}

// trainJob and runtime return the names of the two inputs in findings.
func (r *renderer) trainJob() fieldpath.Object { return ObjectOf(r.in.TrainJob) }

func (r *renderer) runtime() fieldpath.Object { return RuntimeOf(r.in.TrainJob) }

// ObjectOf returns the name of a TrainJob in findings.
func ObjectOf(job *trainer.TrainJob) fieldpath.Object {
	if job == nil {
		job = &trainer.TrainJob{}
	}
	return fieldpath.Object{Kind: trainer.TrainJobKind, Namespace: job.Namespace, Name: job.Name}
}

// RuntimeOf returns the runtime that a TrainJob refers to, with the defaults of the reference. An
// empty kind stays empty and is invalid: the API server fills in only a missing one.
func RuntimeOf(job *trainer.TrainJob) fieldpath.Object {
	if job == nil {
		job = &trainer.TrainJob{}
	}
	o := fieldpath.Object{Kind: trainer.ClusterTrainingRuntimeKind, Name: job.Spec.RuntimeRef.Name}
	if kind := job.Spec.RuntimeRef.Kind; kind != nil {
		o.Kind = *kind
	}
	if o.Kind != trainer.ClusterTrainingRuntimeKind {
		o.Namespace = job.Namespace
	}
	return o
}

// FeatureGates are the feature gates of the Trainer's controller that change the rendered objects.
// The zero value has the defaults of the releases.
type FeatureGates struct {
	// TrainJobStatus lets Pods report their progress. It is alpha, and off by default. Releases
	// before 2.2 do not have it.
	TrainJobStatus bool
	// DynamicResourceAllocation lets TrainJobs claim devices. It is alpha, and off by default.
	// Releases before 2.4 do not have it.
	DynamicResourceAllocation bool
}

// The names of the feature gates.
const (
	statusGate = "TrainJobStatus"
	claimsGate = "DynamicResourceAllocation"
)

// ParseFeatureGates parses feature gates in the syntax of the controller's flag --feature-gates,
// such as "TrainJobStatus=true". Commas separate several gates. It returns an error for a gate that
// no release has.
func ParseFeatureGates(text string) (FeatureGates, error) {
	var gates FeatureGates
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		of := map[string]*bool{statusGate: &gates.TrainJobStatus,
			claimsGate: &gates.DynamicResourceAllocation}[name]
		if of == nil {
			return gates,
				fmt.Errorf("unknown feature gate %q: the Trainer has %s, and since 2.4 %s", name,
					statusGate, claimsGate)
		}
		on, err := strconv.ParseBool(value)
		if err != nil {
			return gates, fmt.Errorf("feature gate %s: %q is neither true nor false", name, value)
		}
		*of = on
	}
	return gates, nil
}
