package children

import (
	"fmt"
	"iter"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// Selection selects Pods of a JobSet. Its fields are the fields of render.PodsOptions.
type Selection struct {
	Job        string
	Indexes    *IndexRange
	AllIndexes bool
}

// IndexRange holds the indexes from First to Last, both included.
type IndexRange struct{ First, Last int }

// Check returns an error for an invalid range, and for a name that no Job has.
func (s Selection) Check(f *Family) error {
	if r := s.Indexes; r != nil && (r.First < 0 || r.Last < r.First) {
		return fmt.Errorf("indexes %d..%d of Pods: give the first and then the last, from 0",
			r.First, r.Last)
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
	return fmt.Errorf(
		"JobSet %s/%s has no Job %q: name one of its replicated jobs (%s), or one of their Jobs, "+
			"such as %q",
		f.Namespace, f.Name, s.Job, quoted(names),
		f.Name+"-"+slices.Concat(names, []string{"node"})[0]+"-0")
}

// Members yields the replicated jobs with selected Pods, and the indexes of these Pods in each Job.
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

// Jobs yields the indexes of the selected child Jobs.
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

// indexes returns the first and the last index of the selected Pods of a Job.
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

// isPastDeadline reports whether the deadline is exceeded before the Job controller creates Pods.
// This holds for a deadline of zero, and for one that overflows to a negative duration.
func isPastDeadline(spec *batchv1.JobSpec) bool {
	return spec.ActiveDeadlineSeconds != nil && time.Duration(*spec.ActiveDeadlineSeconds)*
		time.Second <= 0
}

// podCounts are the numbers of Pods that a Job creates at its start, and until it completes without
// failures.
type podCounts struct{ atStart, all int }

// newPodCounts counts as the Job controller does: at most parallelism Pods at a time, and at most
// the remaining completions. Without completions, parallelism is the number of Pods.
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
