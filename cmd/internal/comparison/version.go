package comparison

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// Version is one of the two compared renderings, or a part of it.
type Version struct {
	Name   string // its name in the report
	Prefix string // before the file names of a revision
	Commit string // the commit of a revision, its day and its repository, or ""
	Jobs   []Job
	// Reasons explain layers that are causes and not layers of a merge, see Object.Causes. The new
	// version has them.
	Reasons map[merge.Owner]Reason
	// Conflicts are the disagreements between managers that the cluster settles in silence.
	Conflicts finding.List
	// Findings are further ones for a review.
	Findings finding.List
	// Observed means that the old version is a dump of a cluster: each of its objects has a state
	// of its own, so no two TrainJobs share an effect. The new version has it.
	Observed bool
}

// Reason explains a cause.
type Reason struct {
	Text string `json:"reason,omitempty" doc:"Why a release changes them, and link is the thread."` // without a full stop
	Link string `json:"link,omitempty"`
	// Before says what to do before an upgrade.
	Before string `json:"before,omitempty" doc:"What to do before the upgrade."`
}

// Job is a TrainJob with its rendered objects.
type Job struct {
	ID      fieldpath.Object
	Build   string // the directory whose build holds it, or ""
	Runtime fieldpath.Object
	JobSet  *jobset.JobSet // of the cluster, whatever the objects are
	Objects []Object
	// Rejected are the errors with which this version rejects the TrainJob, and RejectedBy has the
	// cause of each.
	Rejected   finding.List
	RejectedBy []merge.Claim
	// Queue is Kueue's queue; it may be empty.
	Queue string
	// Input and Source are the input of the object. A broken TrainJob has no Source.TrainJob.
	Input  *workspace.Input
	Source workspace.Job
}

// rewrites reports whether the TrainJob itself differs from its old state, with the patches of its
// policy.
func (j *Job) rewrites(old *Job) bool {
	a, b := old.Source, j.Source
	return a.TrainJob != nil && b.TrainJob != nil &&
		(!equality.Semantic.DeepEqual(a.Spec, b.Spec) ||
			!equality.Semantic.DeepEqual(a.Layers(), b.Layers()) ||
			!equality.Semantic.DeepEqual(old.Input.PatchesFor(a), j.Input.PatchesFor(b)))
}

// IsSuspended reports whether the TrainJob is suspended.
func (j *Job) IsSuspended() bool {
	return j.Source.TrainJob != nil && ptr.Deref(j.Source.Spec.Suspend, false)
}

// Object is one rendered object.
type Object struct {
	Key    Key
	Object any
	// Owners returns the owners of its fields, which nothing else has. It is a function because
	// most objects do not differ.
	Owners func() (*diff.Owners, error)
	// Causes are the causes of changed fields in place of their owners; nil without any.
	Causes *diff.Owners
}

// owners returns who set the fields of an object, or nil for a missing one.
func (o *Object) owners() (*diff.Owners, error) {
	if o == nil {
		return nil, nil
	}
	owners, err := o.Owners()
	if err == nil {
		owners.Causes = o.Causes
	}
	return owners, err
}

// Key identifies an object of a TrainJob. Pods of a Job may share the prefix of their names, and
// have different numbers then.
type Key struct {
	Group, Kind, Name string
	Number            int
}
