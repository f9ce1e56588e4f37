package render

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
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
		family, err := newJobFamily(js, opts.JobsOptions)
		if err == nil {
			err = opts.check(family)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for members, indexes := range opts.members(family) {
			first, last := indexes.First, indexes.Last
			for index := range opts.jobs(members) {
				pods := newJobPods(members.job(index), family.opts)
				for i := first; i <= last; i++ {
					if !yield(pods.pod(i), nil) {
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
		family, err := newJobFamily(js, opts.JobsOptions)
		if err == nil {
			err = opts.check(family)
		}
		if err != nil {
			yield(PodRange{}, err)
			return
		}
		for members, indexes := range opts.members(family) {
			for index := range opts.jobs(members) {
				pods := newJobPods(members.job(index), family.opts)
				if !yield(PodRange{pods.pod(indexes.First), indexes}, nil) {
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
	family, err := newJobFamily(js, opts.JobsOptions)
	if err == nil {
		err = opts.check(family)
	}
	if err != nil {
		return 0, err
	}
	count := int64(0)
	for members, indexes := range opts.members(family) {
		jobs := int64(max(0, members.Replicas))
		if opts.Job != "" && opts.Job != members.Name {
			jobs = 0
			for range opts.jobs(members) {
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

// members yields the replicated jobs that have Pods in the selection, with the indexes of each Job's.
func (opts PodsOptions) members(f *jobFamily) iter.Seq2[*jobMembers, IndexRange] {
	return func(yield func(*jobMembers, IndexRange) bool) {
		for _, members := range f.members {
			spec := &members.Template.Spec
			if members.presence == never || isManagedElsewhere(spec) || isPastDeadline(spec) {
				continue
			}
			first, last := opts.indexes(spec)
			if first <= last && !yield(members, IndexRange{first, last}) {
				return
			}
		}
	}
}

// HasEphemeralVolumes reports whether a Pod of the JobSet may have a volume of which the cluster makes a claim.
func HasEphemeralVolumes(js *jobset.JobSet) bool {
	return js != nil && slices.ContainsFunc(js.Spec.ReplicatedJobs, func(job jobset.ReplicatedJob) bool {
		return slices.ContainsFunc(job.Template.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil })
	})
}

// check refuses a selection that cannot be meant.
func (opts PodsOptions) check(f *jobFamily) error {
	if r := opts.Indexes; r != nil && (r.First < 0 || r.Last < r.First) {
		return fmt.Errorf("indexes %d..%d of Pods: give the first and then the last, from 0", r.First, r.Last)
	}
	if opts.Job == "" {
		return nil
	}
	var names []string
	for _, members := range f.members {
		for range opts.jobs(members) {
			return nil
		}
		names = append(names, members.Name)
	}
	return fmt.Errorf("JobSet %s/%s has no Job %q: name one of its replicated jobs (%s), or one of their Jobs, such as %q",
		f.Namespace, f.Name, opts.Job, quoted(names), f.Name+"-"+slices.Concat(names, []string{"node"})[0]+"-0")
}

// jobs are the indexes of the child Jobs that the selection holds.
func (opts PodsOptions) jobs(members *jobMembers) iter.Seq[int] {
	return func(yield func(int) bool) {
		for index := range int(members.Replicas) {
			if opts.Job != "" && opts.Job != members.Name && opts.Job != members.jobName(index) {
				continue
			}
			if !yield(index) {
				return
			}
		}
	}
}

// indexes are the first and the last index that the selection holds of a Job's Pods.
func (opts PodsOptions) indexes(spec *batchv1.JobSpec) (first, last int) {
	counts := newPodCounts(spec)
	last = counts.atStart - 1
	if opts.AllIndexes {
		last = counts.all - 1
	}
	if opts.Indexes != nil {
		first, last = opts.Indexes.First, min(last, opts.Indexes.Last)
	}
	return first, last
}

// isManagedElsewhere reports whether a controller other than Kubernetes' own manages the Job.
func isManagedElsewhere(spec *batchv1.JobSpec) bool {
	return spec.ManagedBy != nil && *spec.ManagedBy != batchv1.JobControllerName
}

// isPastDeadline reports whether the Job controller finds the deadline exceeded before it creates Pods: a deadline
// of zero, or one that overflows a duration to a negative one.
func isPastDeadline(spec *batchv1.JobSpec) bool {
	return spec.ActiveDeadlineSeconds != nil && time.Duration(*spec.ActiveDeadlineSeconds)*time.Second <= 0
}

// podCounts are how many Pods a Job creates at its start, and until it is complete when none fails.
type podCounts struct{ atStart, all int }

// newPodCounts counts as the Job controller does: at most as many at a time as parallelism says, and
// no more than there are completions left. Without completions, as many as parallelism says.
func newPodCounts(spec *batchv1.JobSpec) podCounts {
	counted := batchv1.JobSpec{Parallelism: spec.Parallelism, Completions: spec.Completions}
	setDefaultCounts(&counted)
	parallelism := max(0, int(*counted.Parallelism))
	if counted.Completions == nil {
		return podCounts{atStart: parallelism, all: parallelism}
	}
	completions := max(0, int(*counted.Completions))
	return podCounts{atStart: min(parallelism, completions), all: completions}
}
