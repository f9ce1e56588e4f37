package render

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/children"
)

// PodsOptions configures and filters Pods. The zero value gives every Pod that the Jobs start with,
// without the ids that only a cluster knows.
type PodsOptions struct {
	// JobsOptions apply to the Pods as to their Jobs; Companions have no effect here. Stored adds
	// more for Pods: the Jobs' labels, the priority of a system PriorityClass, and the minimum
	// termination grace period. It also adds the selectors of matchLabelKeys and mismatchLabelKeys,
	// and AppArmor profiles from annotations.
	JobsOptions
	// Job selects the Pods of one child Job, or of all Jobs of a replicated job, by name. The empty
	// string selects all.
	Job string
	// Indexes selects Pods by their index within their Job. Nil selects all. Pods without an index
	// count in their order of creation.
	Indexes *IndexRange
	// AllIndexes adds the Pods that a Job creates as others finish, if its completions exceed its
	// parallelism. Without it, only the initial Pods count.
	AllIndexes bool
}

// IndexRange includes the indexes from First to Last.
type IndexRange struct{ First, Last int }

// ParseIndexRange parses an index, or a range such as 0..7. It returns an error for anything else.
func ParseIndexRange(words string) (*IndexRange, error) {
	first, last, isRange := strings.Cut(words, "..")
	if !isRange {
		last = first
	}
	from, errFirst := strconv.Atoi(first)
	to, errLast := strconv.Atoi(last)
	switch {
	case errFirst != nil || errLast != nil || from < 0 || to < 0:
		return nil, fmt.Errorf("%q is neither a number nor a range such as 0..7", words)
	case to < from:
		return nil, fmt.Errorf("%q ends before it begins", words)
	}
	return &IndexRange{from, to}, nil
}

// Select parses a selection of Pods: JOB, JOB/INDEX or /INDEX. INDEX is an index, a range such as
// 0..7, or all for AllIndexes. Select returns an error for anything else.
func (opts *PodsOptions) Select(text string) error {
	job, index, hasIndex := strings.Cut(text, "/")
	opts.Job, opts.AllIndexes, opts.Indexes = job, index == "all", nil
	if !hasIndex || opts.AllIndexes {
		return nil
	}
	var err error
	opts.Indexes, err = ParseIndexRange(index)
	return err
}

// selected returns the children of a JobSet and the selection of their Pods. It returns an error
// for an invalid selection.
func (opts PodsOptions) selected(js *jobset.JobSet) (*children.Family, children.Selection, error) {
	s := children.Selection{Job: opts.Job, Indexes: (*children.IndexRange)(opts.Indexes),
		AllIndexes: opts.AllIndexes}
	family, err := children.New(js, children.Options(opts.JobsOptions))
	if err == nil {
		err = s.Check(family)
	}
	return family, s, err
}

// Pods yields the Pods that the Job controller of Kubernetes 1.36 makes for a JobSet's child Jobs.
// It applies the API server and JobSet's Pod webhook to them. They have generateName, hostname,
// completion index, tracking finalizer, priority label, and the affinities of exclusive placement.
// The order follows the replicated jobs, their Jobs and their indexes.
//
// Pods omits values that only a cluster knows. They are names, uids, nodes, and the priorities of
// custom PriorityClasses, which Jobs reports. The node selector that sends the followers of an
// exclusive leader to its topology domain is another one. The Pods of a suspended JobSet are the
// Pods after its resume. Jobs that are never created, or that another controller manages, have no
// Pods.
//
// Pods is a stream. It holds one Job's Pod template at a time, however many Pods there are. The
// Pods of one Job share the memory of their specs, but no memory with js. A caller may change a
// Pod's metadata and the fields of its spec. To change anything deeper, it must copy the Pod.
//
// An error comes first and ends the stream. The causes are a nil js, an empty name, a selected Job
// that does not exist, and an invalid range.
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

// Pods yields the Pods that the cluster makes, as [Pods] yields them without options.
func (o *Objects) Pods() iter.Seq2[*corev1.Pod, error] {
	options := JobsOptions{Release: o.release, Companions: o.Companions}
	return Pods(o.JobSet, PodsOptions{JobsOptions: options})
}

// PodRange is the Pods of one child Job. They differ only in their index. With exclusive placement,
// the Pod of index 0 also differs in its affinity.
type PodRange struct {
	// Pod is the first Pod.
	Pod *corev1.Pod
	IndexRange
}

// PodRanges yields a range for each Job with Pods from [Pods], in the same order. Its errors are
// the same.
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

// MaxPods is the default limit for the Pods of one run.
const MaxPods = 1_000_000

// CountPods returns the number of Pods that [Pods] yields with the same arguments. It makes no
// Pods, and takes one step for each replicated job. Its errors are the same.
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

// TooManyPods returns a finding if a JobSet, or a run of several, has more Pods than the limit.
// Otherwise it returns nil. The finding names the largest count of the JobSet, with the last claim
// of its owners. For a run, js is nil. For a JobSet of the user, owners are nil.
func TooManyPods(js *jobset.JobSet, owners *merge.History, count, limit int64) finding.List {
	if count <= limit {
		return nil
	}
	f := finding.Finding{
		Code: codes.TooManyJobs, Severity: finding.Error,
		Message: fmt.Sprintf("there would be %d Pods: must be at most %d", count, limit),
		Remedy: finding.Remedy{
			Text: "lower the number of nodes"},
	}
	if js == nil {
		return finding.List{f}
	}
	f.Object = fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name}
	f.Path = fieldpath.Fields("spec", "replicatedJobs")
	if len(js.Spec.ReplicatedJobs) == 0 {
		return finding.List{f}
	}
	parallelism := func(r jobset.ReplicatedJob) int64 {
		return int64(ptr.Deref(r.Template.Spec.Parallelism, 1))
	}
	largest := slices.MaxFunc(js.Spec.ReplicatedJobs, func(a, b jobset.ReplicatedJob) int {
		return cmp.Compare(int64(a.Replicas)*parallelism(a), int64(b.Replicas)*parallelism(b))
	})
	f.Path = f.Path.Append(fieldpath.Item("name", largest.Name))
	if int64(largest.Replicas) > parallelism(largest) {
		f.Path = f.Path.Append(fieldpath.Field("replicas"))
	} else {
		f.Path = f.Path.Append(fieldpath.Fields("template", "spec", "parallelism")...)
	}
	if owners == nil {
		return finding.List{f}
	}
	for path, claims := range owners.All() {
		if slices.Equal(path, f.Path) {
			f.Claims = claims[len(claims)-1:]
		}
	}
	return finding.List{f}
}

// HasEphemeralVolumes reports whether a Pod of the JobSet may have an ephemeral volume. The cluster
// makes a claim for each of them.
func HasEphemeralVolumes(js *jobset.JobSet) bool {
	return js != nil &&
		slices.ContainsFunc(js.Spec.ReplicatedJobs, func(job jobset.ReplicatedJob) bool {
			return slices.ContainsFunc(job.Template.Spec.Template.Spec.Volumes,
				func(v corev1.Volume) bool { return v.Ephemeral != nil })
		})
}

// EphemeralClaims returns the volume claims that the cluster makes for the generic ephemeral
// volumes of one Pod (Kubernetes v1.36.3 pkg/controller/volume/ephemeral). A claim's name contains
// the name of the Pod, which ends in characters that the cluster chooses; suffix replaces them. If
// the Pod has owner references, the claims refer to the Pod, without its uid.
//
// The claims are as the API server stores them. They share memory with the Pod, so they may round
// up its quantities; a stored Pod has rounded quantities already.
func EphemeralClaims(pod *corev1.Pod, suffix string) []*corev1.PersistentVolumeClaim {
	return children.EphemeralClaims(pod, suffix)
}

// SystemPriority returns the priority of a PriorityClass that every cluster has, or of a Pod
// without a class. It returns false for other classes.
func SystemPriority(class string) (priority int32, known bool) {
	return children.SystemPriority(class)
}
