package render

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/internal/defaults"
)

// maxJobs is how many Jobs one JobSet may have here. Far fewer fit into a cluster; without a limit
// a mistyped number of replicas would take all memory.
const maxJobs = 100_000

// childOptions says what the children hold, as JobsOptions does.
type childOptions struct {
	Stored          bool
	JobSetUID       types.UID
	JobUID          func(job string) types.UID
	Companions      []runtime.Object
	OwnerReferences bool
}

// jobFamily is what the child Jobs of one JobSet have in common, worked out once.
type jobFamily struct {
	*jobset.JobSet // a copy, defaulted
	opts           childOptions
	uid            types.UID
	subdomain      string // empty when DNS hostnames are off
	globalReplicas int    // of all replicated jobs together
	members        []*jobMembers
}

func newJobFamily(js *jobset.JobSet, opts childOptions) (*jobFamily, error) {
	if js == nil {
		return nil, fmt.Errorf("render: there is no JobSet; pass one that is not nil")
	}
	if js.Name == "" {
		return nil, finding.List{{
			Code: finding.CodeNoName, Severity: finding.Error, Path: fieldpath.Fields("metadata", "name"),
			Object:  fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace},
			Message: "the JobSet has no name, and the names of its Jobs and Pods start with it",
			Remedy:  finding.Remedy{Text: "give it one"},
		}}
	}
	f := &jobFamily{JobSet: js.DeepCopy(), opts: opts, uid: opts.JobSetUID}
	if f.uid == "" {
		f.uid = js.UID
	}
	if f.Namespace == "" {
		f.Namespace = metav1.NamespaceDefault
	}
	defaults.JobSetSpec(&f.Spec)
	if *f.Spec.Network.EnableDNSHostnames {
		f.subdomain = f.Spec.Network.Subdomain
		if f.subdomain == "" {
			f.subdomain = f.Name
		}
	}
	inGroup := map[string]int{}
	for i := range f.Spec.ReplicatedJobs {
		rjob := &f.Spec.ReplicatedJobs[i]
		f.members = append(f.members, &jobMembers{
			ReplicatedJob: rjob, family: f,
			firstOfAll: f.globalReplicas, firstInGroup: inGroup[rjob.GroupName],
		})
		f.globalReplicas += int(rjob.Replicas)
		inGroup[rjob.GroupName] += int(rjob.Replicas)
	}
	for _, members := range f.members {
		members.groupReplicas = inGroup[members.GroupName]
	}
	f.resolveWaits()
	return f, nil
}

// owner is the reference by which the JobSet owns what its controller makes.
func (f *jobFamily) owner() []metav1.OwnerReference {
	if !f.opts.OwnerReferences {
		return nil
	}
	return controlledBy(jobset.SchemeGroupVersion.String(), "JobSet", f.Name, f.uid)
}

func controlledBy(apiVersion, kind, name string, uid types.UID) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{
		APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: &yes, BlockOwnerDeletion: &yes,
	}}
}

// suspended tells whether the JobSet is suspended, and so its Jobs.
func (f *jobFamily) suspended() bool { return f.Spec.Suspend != nil && *f.Spec.Suspend }
