// Package children makes the objects that controllers make from a JobSet: Jobs, a Service, volume
// claims and Pods.
//
// New fills in the defaults of a JobSet and counts its Jobs. Each Members represents one replicated
// job. Its method Job makes one Job, and Pods makes the Pods of one. The sources are the JobSet
// controller and webhooks (JobSet v0.12.0 pkg/controllers, pkg/webhooks) and the Job controller
// (Kubernetes v1.36.3 pkg/controller/job). Another source is the API server, which changes objects
// when it stores them (pkg/registry).
//
//	waits.go      the Jobs of a JobSet, and their dependencies
//	job.go        a Job
//	service.go    the Service
//	claims.go     the claims that all Pods share; ephemeral.go has the claims of one Pod
//	selection.go  the selection of Pods
//	pod.go        a Pod
//	stored.go     the changes of the API server
//	findings.go   findings on the children, with endpoints.go
//
// Its first file to read is children.go.
package children

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/defaults"
	"github.com/trainweld/trainweld/render/release"
)

// maxJobs is the maximum number of Jobs of one JobSet. No cluster holds as many. Without a limit, a
// mistyped number of replicas would take all memory.
const maxJobs = 100_000

// Options configures the children. Its fields are the fields of render.JobsOptions.
type Options struct {
	Release         *release.Release
	Stored          bool
	JobSetUID       types.UID
	JobUID          func(job string) types.UID
	Companions      []runtime.Object
	OwnerReferences bool
}

// Family holds the values that the child Jobs of one JobSet share.
type Family struct {
	*jobset.JobSet // a copy with defaults, which shares the contents of templates
	opts           Options
	uid            types.UID
	subdomain      string // empty if DNS hostnames are off
	globalReplicas int    // total of all replicated jobs
	Members        []*Members
}

// New returns the children of a JobSet, which it does not change. It returns an error for nil and
// for a JobSet without a name.
func New(js *jobset.JobSet, opts Options) (*Family, error) {
	if js == nil {
		return nil, fmt.Errorf("render: there is no JobSet; pass one that is not nil")
	}
	if js.Name == "" {
		return nil, finding.List{{
			Code: codes.NoName, Severity: finding.Error, Path: fieldpath.Fields("metadata", "name"),
			Object:  fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace},
			Message: "Required value: the names of Jobs and Pods start with it",
			Remedy:  finding.Remedy{Text: "set metadata.name"},
		}}
	}
	opts.Release = opts.Release.Or()
	shared := *js
	shared.Spec.ReplicatedJobs = nil
	f := &Family{JobSet: shared.DeepCopy(), opts: opts, uid: opts.JobSetUID}
	// the defaults are fields of the items
	f.Spec.ReplicatedJobs = slices.Clone(js.Spec.ReplicatedJobs)
	if f.uid == "" {
		f.uid = js.UID
	}
	if f.Namespace == "" {
		f.Namespace = metav1.NamespaceDefault
	}
	defaults.JobSetSpec(&f.Spec, opts.Release.JobSet)
	if *f.Spec.Network.EnableDNSHostnames {
		f.subdomain = f.Spec.Network.Subdomain
		if f.subdomain == "" {
			f.subdomain = f.Name
		}
	}
	inGroup := map[string]int{}
	for i := range f.Spec.ReplicatedJobs {
		rjob := &f.Spec.ReplicatedJobs[i]
		f.Members = append(f.Members, &Members{
			ReplicatedJob: rjob, family: f,
			firstOfAll: f.globalReplicas, firstInGroup: inGroup[rjob.GroupName],
		})
		f.globalReplicas += int(rjob.Replicas)
		inGroup[rjob.GroupName] += int(rjob.Replicas)
	}
	for _, members := range f.Members {
		members.groupReplicas = inGroup[members.GroupName]
	}
	f.resolveWaits()
	return f, nil
}

// owner returns the owner references to the JobSet, or nil if they are off.
func (f *Family) owner() []metav1.OwnerReference {
	if !f.opts.OwnerReferences {
		return nil
	}
	return ControlledBy(jobset.SchemeGroupVersion.String(), "JobSet", f.Name, f.uid)
}

// ControlledBy returns the owner references of an object with a controller.
func ControlledBy(apiVersion, kind, name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: new(true),
		BlockOwnerDeletion: new(true),
	}}
}

// suspended reports whether the JobSet, and so its Jobs, are suspended.
func (f *Family) suspended() bool { return f.Spec.Suspend != nil && *f.Spec.Suspend }
