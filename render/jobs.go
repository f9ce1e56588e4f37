package render

import (
	"iter"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/internal/children"
	"github.com/trainweld/trainweld/render/release"
)

// JobsOptions configures Jobs. The zero value gives the Jobs as the JobSet controller sends them,
// without the ids that only a cluster knows.
type JobsOptions struct {
	// Release is the release of the Trainer whose JobSet makes the Jobs; nil means the latest one.
	Release *release.Release
	// Stored adds the changes of the API server when it creates a Job. It adds the job-name labels
	// of the Pod template and the JobSet CRD's defaults within Pod templates. It sets one Pod if
	// neither parallelism nor completions is set. It rounds quantities up to thousandths and
	// removes fields of disabled feature gates. Aliases and the data sources of claims mirror each
	// other. Stored skips other defaults of the API server, since they carry no information.
	Stored bool
	// JobSetUID is the uid for labels, annotations and owner references. The default is the uid of
	// the JobSet. If both are empty, Jobs omits them.
	JobSetUID types.UID
	// JobUID returns the uid of a Job by its name, for comparisons with a cluster. With Stored, it
	// fills the controller-uid labels and the selector. If it is nil, Jobs omits them.
	JobUID func(job string) types.UID
	// Companions are the companions of the JobSet. Jobs only reads their ConfigMaps: a hostfile in
	// one may name Pods, and a finding reports each missing Pod.
	Companions []runtime.Object
	// OwnerReferences adds the reference to the controlling owner, with its uid if known.
	OwnerReferences bool
}

// JobsOutput holds the objects that the JobSet controller makes from a JobSet.
type JobsOutput struct {
	// Jobs are the child Jobs in the order of the replicated jobs. They include Jobs that the
	// controller creates only after others, see ChildJob.WaitsFor. The Jobs of a suspended JobSet
	// are suspended.
	Jobs []ChildJob
	// Later are Jobs that the JobSet does not have in its present state. Some depend on other Jobs
	// and wait for a suspended JobSet to resume. Others are never created, such as Jobs that depend
	// on themselves.
	Later []ChildJob
	// Service is the headless Service for the DNS names of the Pods. It is nil if the JobSet
	// disables DNS hostnames.
	Service *corev1.Service
	// Claims are the volume claims of the JobSet's volumeClaimPolicies.
	Claims []*corev1.PersistentVolumeClaim
	// Findings are the findings on the children.
	Findings finding.List
}

// Jobs yields the Jobs that the JobSet controller creates, as [Jobs] returns them without options,
// also those that it creates later. It yields none without a JobSet.
func (o *Objects) Jobs() iter.Seq[*batchv1.Job] {
	return func(yield func(*batchv1.Job) bool) {
		out, _ := Jobs(o.JobSet, JobsOptions{Release: o.release, Companions: o.Companions})
		if out == nil {
			return
		}
		for _, child := range slices.Concat(out.Jobs, out.Later) {
			if !yield(child.Job) {
				return
			}
		}
	}
}

// ChildJob is one child Job of a JobSet.
type ChildJob struct {
	Job *batchv1.Job
	// ReplicatedJob is the name of the replicated job, and Index the number of this Job in it.
	ReplicatedJob string
	Index         int
	// WaitsFor are the replicated jobs that this Job waits for. Before the controller creates it
	// (dependsOn) or starts it (startup in order), all their Jobs must be ready or complete.
	WaitsFor []jobset.DependsOn
}

// Jobs returns the child Jobs, the headless Service and the volume claims that the JobSet
// controller makes (JobSet v0.12.0 pkg/controllers). It fills in the defaults of CRD and webhook
// first, as DefaultJobSet does. It fills in defaults within Pod templates only with
// JobsOptions.Stored. The default namespace is "default". status.restarts is the restart attempt.
// The alpha features of JobSet are off.
//
// Jobs returns all Jobs at once, even if the controller would create some later. Only
// ChildJob.WaitsFor holds their order. Jobs does not check whether the cluster accepts the JobSet;
// package admission does.
//
// The error is the list of findings of severity Error. The output is nil only if js is nil or has
// no name. It shares no memory with js.
func Jobs(js *jobset.JobSet, opts JobsOptions) (*JobsOutput, error) {
	family, err := children.New(js, children.Options(opts))
	if err != nil {
		return nil, err
	}
	out := &JobsOutput{Service: family.Service(), Claims: family.Claims(),
		Findings: family.Findings()}
	if family.TooManyJobs() {
		return out, out.Findings.Err()
	}
	for _, members := range family.Members {
		for index := range int(members.Replicas) {
			job := members.Job(index)
			if index+1 < int(members.Replicas) {
				job = job.DeepCopy() // the last Job keeps the memory that they share
			}
			child := ChildJob{
				Job:           job,
				ReplicatedJob: members.Name,
				Index:         index,
				WaitsFor:      members.WaitsFor,
			}
			if members.IsPresent() {
				out.Jobs = append(out.Jobs, child)
			} else {
				out.Later = append(out.Later, child)
			}
		}
	}
	return out, out.Findings.Err()
}
