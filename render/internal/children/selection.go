package children

import (
	"fmt"
	"iter"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// Selection selects Pods of a JobSet. Its fields are those of render.PodsOptions.
type Selection struct {
	Job        string
	Indexes    *IndexRange
	AllIndexes bool
}

// IndexRange holds the indexes from First to Last, both included.
type IndexRange struct{ First, Last int }

// Check refuses a selection that cannot be meant.
func (s Selection) Check(f *Family) error {
	if r := s.Indexes; r != nil && (r.First < 0 || r.Last < r.First) {
		return fmt.Errorf("indexes %d..%d of Pods: give the first and then the last, from 0", r.First, r.Last)
	}
	if s.Job == "" {
		return nil
	}
	var names []string
	for _, members := range f.Members {
		for range s.Jobs(members) {
			return nil
		}
		names = append(names, members.Name)
	}
	return fmt.Errorf("JobSet %s/%s has no Job %q: name one of its replicated jobs (%s), or one of their Jobs, such as %q",
		f.Namespace, f.Name, s.Job, quoted(names), f.Name+"-"+slices.Concat(names, []string{"node"})[0]+"-0")
}

// Members yields the replicated jobs that have Pods in the selection, with the indexes of each Job's.
func (s Selection) Members(f *Family) iter.Seq2[*Members, IndexRange] {
	return func(yield func(*Members, IndexRange) bool) {
		for _, members := range f.Members {
			spec := &members.Template.Spec
			if members.presence == never || isManagedElsewhere(spec) || isPastDeadline(spec) {
				continue
			}
			first, last := s.indexes(spec)
			if first <= last && !yield(members, IndexRange{first, last}) {
				return
			}
		}
	}
}

// Jobs are the indexes of the child Jobs that the selection holds.
func (s Selection) Jobs(members *Members) iter.Seq[int] {
	return func(yield func(int) bool) {
		for index := range int(members.Replicas) {
			if s.Job != "" && s.Job != members.Name && s.Job != members.JobName(index) {
				continue
			}
			if !yield(index) {
				return
			}
		}
	}
}

// indexes are the first and the last index that the selection holds of a Job's Pods.
func (s Selection) indexes(spec *batchv1.JobSpec) (first, last int) {
	counts := newPodCounts(spec)
	last = counts.atStart - 1
	if s.AllIndexes {
		last = counts.all - 1
	}
	if s.Indexes != nil {
		first, last = s.Indexes.First, min(last, s.Indexes.Last)
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
