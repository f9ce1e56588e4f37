package render

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/internal/children"
)

// JobsOptions says how Jobs writes. The zero value writes what the JobSet controller sends, without
// the ids that only a cluster has.
type JobsOptions struct {
	// Stored adds what the API server itself writes when a Job is created: the job-name labels of the
	// Pod template, one Pod where neither parallelism nor completions says how many, and what the
	// JobSet CRD defaults within Pod templates. It changes what the API server changes: quantities round
	// up to thousandths, fields behind feature gates that are off go, aliases and the data sources of
	// claims mirror each other. Other defaults of the API server say nothing and are left out.
	Stored bool
	// JobSetUID is the uid to write into labels, annotations and owner references. Empty means that
	// of the JobSet; where it has none either, they are left out.
	JobSetUID types.UID
	// JobUID tells the uid of a Job by its name, for those who compare with a cluster: with Stored
	// it fills the controller-uid labels and the selector. Nil leaves them out.
	JobUID func(job string) types.UID
	// Companions are the objects rendered beside the JobSet. Their ConfigMaps may name Pods, as a
	// hostfile does: a finding tells of each that does not exist. They are not written.
	Companions []runtime.Object
	// OwnerReferences adds the reference to the controlling owner, with its uid where it is known.
	OwnerReferences bool
}

// JobsOutput is what the JobSet controller makes of a JobSet.
type JobsOutput struct {
	// Jobs are the child Jobs in the order of the replicated jobs, also those that the controller
	// creates only after others: see ChildJob.WaitsFor. Those of a suspended JobSet are suspended.
	Jobs []ChildJob
	// Later are Jobs that the JobSet does not have as it stands: those of a suspended JobSet that
	// depend on other Jobs, created after it is resumed, and those that depend on themselves.
	Later []ChildJob
	// Service is the headless Service that gives the Pods their DNS names; nil when the JobSet has
	// DNS hostnames switched off.
	Service *corev1.Service
	// Claims are the volume claims of the JobSet's volumeClaimPolicies.
	Claims []*corev1.PersistentVolumeClaim
	// Findings are what a reader of these objects should know.
	Findings finding.List
}

// ChildJob is one child Job of a JobSet.
type ChildJob struct {
	Job *batchv1.Job
	// ReplicatedJob is the name of the replicated job that it is a replica of, Index its number
	// there.
	ReplicatedJob string
	Index         int
	// WaitsFor are the replicated jobs all of whose Jobs must be complete, or ready, before this
	// Job is created (dependsOn) or, where the start is in order, started.
	WaitsFor []jobset.DependsOn
}

// Jobs returns the child Jobs, the headless Service and the volume claims that the controller of
// JobSet 0.12.0 makes of a JobSet (JobSet v0.12.0 pkg/controllers). The JobSet may stand as its
// author wrote it: what its CRD and webhook would fill in is filled in, as DefaultJobSet does, but
// for defaults within Pod templates, see JobsOptions.Stored. A JobSet without a namespace is taken
// to be in "default". status.restarts counts as the restart attempt. The alpha features of JobSet
// are off.
//
// All Jobs are there at once, however long the controller would wait before creating them; the order
// is told by ChildJob.WaitsFor, never by a field of the Job. Jobs does not say whether the cluster
// accepts the JobSet; package admission does.
//
// The error is the findings of severity Error; the output is there all the same, except for a
// JobSet that is nil or has no name. The output shares no memory with js.
func Jobs(js *jobset.JobSet, opts JobsOptions) (*JobsOutput, error) {
	family, err := children.New(js, children.Options(opts))
	if err != nil {
		return nil, err
	}
	out := &JobsOutput{Service: family.Service(), Claims: family.Claims(), Findings: family.Findings()}
	if family.TooManyJobs() {
		return out, out.Findings.Err()
	}
	for _, members := range family.Members {
		for index := range int(members.Replicas) {
			child := ChildJob{
				Job:           members.Job(index).DeepCopy(),
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
