package render

import (
	"fmt"
	"iter"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/internal/children"
)

// PodsOptions says how Pods writes, and which. The zero value writes every Pod that the Jobs start
// with, without the ids that only a cluster has.
type PodsOptions struct {
	// JobsOptions hold for the Pods as for their Jobs. Stored adds the Jobs' labels, the priority of
	// a system PriorityClass, the least termination grace period, the selectors that matchLabelKeys and
	// mismatchLabelKeys make, and AppArmor profiles by annotation; Companions do nothing here.
	JobsOptions
	// Job selects the Pods of one child Job, or of all Jobs of a replicated job, by name. Empty
	// selects all.
	Job string
	// Indexes selects Pods by their index within their Job. Nil selects all. Pods without an index
	// count in the order in which they are created.
	Indexes *IndexRange
	// AllIndexes adds the Pods that a Job with more completions than parallelism creates as others
	// finish. Without it, only those are there that it starts with.
	AllIndexes bool
}

// IndexRange is the indexes from First to Last, both included.
type IndexRange struct{ First, Last int }

// selected returns the children of a JobSet, and the selection of their Pods. It refuses one that cannot be meant.
func (opts PodsOptions) selected(js *jobset.JobSet) (*children.Family, children.Selection, error) {
	s := children.Selection{Job: opts.Job, Indexes: (*children.IndexRange)(opts.Indexes), AllIndexes: opts.AllIndexes}
	family, err := children.New(js, children.Options(opts.JobsOptions))
	if err == nil {
		err = s.Check(family)
	}
	return family, s, err
}

// Pods returns the Pods that the Job controller of Kubernetes 1.36 makes of a JobSet's child Jobs, as
// its API server and JobSet's Pod webhook let them through: generateName, hostname, completion index,
// tracking finalizer, priority label, affinities of exclusive placement. They come in the order of
// the replicated jobs, their Jobs and their indexes.
//
// Left out is what only a cluster knows: names, uids, nodes, the value of a PriorityClass that is not
// a system class (Jobs has a finding), and the node selector that sends the followers of an exclusive
// leader to its topology domain. The Pods of a suspended JobSet are those that it has when it is
// resumed. Jobs that are never created have none, and neither have those that another controller manages.
//
// Pods is a stream: it holds one Job's Pod template at a time, however many Pods there are. The Pods
// of one Job share the memory of their specs, and nothing with js: a caller may change a Pod's
// metadata and the fields of its spec, and has to copy it before it changes anything deeper.
//
// An error ends the stream; it comes first, if at all: js is nil or has no name, no Job has the name
// asked for, or the range is none.
func Pods(js *jobset.JobSet, opts PodsOptions) iter.Seq2[*corev1.Pod, error] {
	return func(yield func(*corev1.Pod, error) bool) {
		family, selected, err := opts.selected(js)
		if err != nil {
			yield(nil, err)
			return
		}
		for members, indexes := range selected.Members(family) {
			for index := range selected.Jobs(members) {
				pods := members.Pods(index)
				for i := indexes.First; i <= indexes.Last; i++ {
					if !yield(pods.Pod(i), nil) {
						return
					}
				}
			}
		}
	}
}

// PodRange is the Pods of one child Job, which differ in their index alone: except that of index 0 where its
// placement is exclusive.
type PodRange struct {
	// Pod is the first one.
	Pod *corev1.Pod
	IndexRange
}

// PodRanges yields a range for each Job of which [Pods] yields Pods, in their order.
func PodRanges(js *jobset.JobSet, opts PodsOptions) iter.Seq2[PodRange, error] {
	return func(yield func(PodRange, error) bool) {
		family, selected, err := opts.selected(js)
		if err != nil {
			yield(PodRange{}, err)
			return
		}
		for members, indexes := range selected.Members(family) {
			for index := range selected.Jobs(members) {
				pods := members.Pods(index)
				if !yield(PodRange{pods.Pod(indexes.First), IndexRange(indexes)}, nil) {
					return
				}
			}
		}
	}
}

// MaxPods is how many Pods a run makes unless it is told otherwise.
const MaxPods = 1_000_000

// CountPods returns how many Pods [Pods] yields with the same arguments. It makes none of them, and takes as many
// steps as there are replicated jobs.
func CountPods(js *jobset.JobSet, opts PodsOptions) (int64, error) {
	family, selected, err := opts.selected(js)
	if err != nil {
		return 0, err
	}
	count := int64(0)
	for members, indexes := range selected.Members(family) {
		jobs := int64(max(0, members.Replicas))
		if opts.Job != "" && opts.Job != members.Name {
			jobs = 0
			for range selected.Jobs(members) {
				jobs++
			}
		}
		each := int64(indexes.Last-indexes.First) + 1
		if jobs > 0 && each > (math.MaxInt64-count)/jobs {
			return math.MaxInt64, nil
		}
		count += jobs * each
	}
	return count, nil
}

// TooManyPods returns the finding on a JobSet, or on a run, that has more Pods than the limit; nil if it has not.
func TooManyPods(object fieldpath.Object, count, limit int64) finding.List {
	if count <= limit {
		return nil
	}
	f := finding.Finding{
		Code: finding.CodeTooManyJobs, Severity: finding.Error, Object: object,
		Message: fmt.Sprintf("there would be %d Pods: must be at most %d", count, limit),
		Remedy:  finding.Remedy{Text: "lower the number of nodes, or select Pods by their job and index"},
	}
	if object != (fieldpath.Object{}) {
		f.Path = fieldpath.Fields("spec", "replicatedJobs")
	}
	return finding.List{f}
}

// HasEphemeralVolumes reports whether a Pod of the JobSet may have a volume of which the cluster makes a claim.
func HasEphemeralVolumes(js *jobset.JobSet) bool {
	return js != nil && slices.ContainsFunc(js.Spec.ReplicatedJobs, func(job jobset.ReplicatedJob) bool {
		return slices.ContainsFunc(job.Template.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil })
	})
}

// EphemeralClaims returns the volume claims that the cluster makes for the generic ephemeral volumes
// of one Pod (Kubernetes v1.36.3 pkg/controller/volume/ephemeral). Their names hold the Pod's, which
// ends in characters that only the cluster chooses: suffix stands for them and is the caller's
// choice. Where the Pod has owner references, the claims refer to the Pod, without its uid.
//
// The claims are as the API server stores them, and share memory with the Pod, which a stored one has rounded its
// quantities in already.
func EphemeralClaims(pod *corev1.Pod, suffix string) []*corev1.PersistentVolumeClaim {
	return children.EphemeralClaims(pod, suffix)
}

// SystemPriority returns the priority of a PriorityClass that every cluster has, or of a Pod without a class. It returns
// false for other classes.
func SystemPriority(class string) (priority int32, known bool) { return children.SystemPriority(class) }
