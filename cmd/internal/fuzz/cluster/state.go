package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// state is the progress of a case.
type state struct {
	jobs, pods, claims int
	failures           int
	outcome, words     string
	waits              bool // for Pods to become ready or to complete
}

// lines returns the failures that do not pass by themselves.
func (r *recording) lines() []string {
	kept, any := r.c.failures.Load(r.namespace)
	if !any {
		return nil
	}
	lines := kept.(*failures).all()
	for i, line := range lines {
		// The trainer reads the JobSet before it creates it in the same pass.
		line, _, _ = strings.Cut(line, `\nJobSet.jobset.x-k8s.io "`)
		lines[i] = line
	}
	slices.Sort(lines)
	return slices.DeleteFunc(slices.Compact(lines), func(line string) bool {
		return strings.HasPrefix(line, "trainer: ") && strings.HasSuffix(line, " not found") &&
			strings.Contains(line, ": JobSet.jobset.x-k8s.io ") ||
			strings.HasPrefix(line, "jobset: ") &&
				strings.Contains(line, "jobsets.jobset.x-k8s.io ") &&
				strings.HasSuffix(line, " not found") ||
			strings.Contains(line, "already exists") ||
			strings.Contains(line, "the object has been modified") ||
			strings.Contains(line, "StorageError") || strings.Contains(line, "Precondition failed")
	})
}

// look reads the state from the managers' caches. If it is calm, look also reads the rejected Pods.
func (r *recording) look(ctx context.Context, name string, isCalm bool) (state, error) {
	var s state
	from := client.InNamespace(r.namespace)
	var trainjob trainer.TrainJob
	if err := r.c.trainer.GetClient().Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name},
		&trainjob); err != nil {
		s.outcome, s.words = Undecided, "TIMEOUT: the trainer does not see the TrainJob"
		return s, client.IgnoreNotFound(err)
	}
	cache := r.c.jobset.GetClient()
	var jobs batchv1.JobList
	var pods corev1.PodList
	if err := cache.List(ctx, &jobs, from); err != nil {
		return s, err
	}
	if err := cache.List(ctx, &pods, from); err != nil {
		return s, err
	}
	lines := r.lines()
	s.jobs, s.pods, s.failures = len(jobs.Items), len(pods.Items), len(lines)
	by := func(manager string) bool {
		return slices.ContainsFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, manager+": ")
		})
	}
	if by := trainjob.Spec.ManagedBy; by != nil &&
		*by != "trainer.kubeflow.org/trainjob-controller" {
		s.outcome, s.words = Ignored, "nothing created"
		return s, nil
	}
	var set jobset.JobSet
	if err := cache.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name},
		&set); err != nil {
		s.outcome, s.words = Undecided, "TIMEOUT: no JobSet"
		r.out.Finished = r.out.Finished || r.made
		for _, condition := range trainjob.Status.Conditions {
			if condition.Type == trainer.TrainJobFailed &&
				condition.Status == metav1.ConditionTrue {
				s.outcome, s.words = Blocked, "failed: the TrainJob is Failed: "+condition.Reason
			}
		}
		if by("trainer") {
			s.outcome, s.words = Blocked,
				"BLOCKED: the trainer keeps failing to build the JobSet (controller-errors.txt)"
		}
		return s, client.IgnoreNotFound(err)
	}
	r.made = true
	r.out.Finished = r.out.Finished || finishedBy(&set) != "" ||
		slices.ContainsFunc(jobs.Items, func(job batchv1.Job) bool {
			return isOver(&job) || job.DeletionTimestamp != nil
		}) ||
		slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
			return pod.DeletionTimestamp != nil
		})
	if by := set.Spec.ManagedBy; by != nil && *by != jobset.JobSetControllerName {
		s.outcome, s.words = Ignored, "JobSet managed by another controller: no Jobs"
		return s, nil
	}
	r.compareCounts(&s, &set, jobs.Items, pods.Items)
	if isCalm && strings.HasPrefix(s.words, shortOfPods) && r.rejectsPods() {
		s.outcome, s.words = Blocked,
			"BLOCKED: pods refused: "+strings.TrimPrefix(s.words, shortOfPods)
	}
	isSuspended := trainjob.Spec.Suspend != nil && *trainjob.Spec.Suspend
	switch finished := finishedBy(&set); {
	case isSuspended && !by("jobset") && (s.outcome == Accepted || s.waits):
		// Jobs that wait for others are created only when it resumes.
		s.outcome, s.words, s.waits = Suspended, "suspended", false
	case s.outcome == Accepted:
	case finished != "" && strings.HasPrefix(s.words, "PARTIAL"):
		s.outcome, s.words = Partial, "PARTIAL: JobSet "+finished+" before Jobs were made for: "+
			strings.TrimPrefix(s.words, "PARTIAL: ")
	case by("jobset"):
		s.outcome, s.words, s.waits = Blocked,
			"BLOCKED: the JobSet controller fails (controller-errors.txt)", false
	case strings.HasPrefix(s.words, "PARTIAL"):
		s.words = "TIMEOUT: jobs missing: " + s.words
	}
	return s, nil
}

func finishedBy(set *jobset.JobSet) string {
	for _, condition := range set.Status.Conditions {
		if (condition.Type == string(jobset.JobSetCompleted) ||
			condition.Type == string(jobset.JobSetFailed)) &&
			condition.Status == metav1.ConditionTrue {
			return condition.Type
		}
	}
	return ""
}

const shortOfPods = "TIMEOUT: pods missing: "

// compareCounts compares the numbers of Jobs and Pods with the JobSet's.
func (r *recording) compareCounts(s *state, set *jobset.JobSet, jobs []batchv1.Job,
	pods []corev1.Pod) {
	owned := map[string]int{}
	for _, pod := range pods {
		owned[pod.Labels[batchv1.JobNameLabel]]++
	}
	of := map[string]int{}
	var short []string
	claims := 0
	for _, job := range jobs {
		of[job.Labels[jobset.ReplicatedJobNameKey]]++
		want, have := podsOf(&job), owned[job.Name]
		if have < want {
			short = append(short, fmt.Sprintf("job %s: %d/%d pods", job.Name, have, want))
		}
		for _, volume := range job.Spec.Template.Spec.Volumes {
			if volume.Ephemeral != nil {
				claims += want
			}
		}
	}
	var missing []string
	for _, replicated := range set.Spec.ReplicatedJobs {
		if of[replicated.Name] < int(replicated.Replicas) {
			missing = append(missing, replicated.Name)
		}
	}
	slices.Sort(short)
	s.outcome, s.words = Undecided, ""
	switch {
	case len(short) > 0:
		s.words = shortOfPods + strings.Join(short, "; ")
	case len(missing) > 0:
		s.words, s.waits = "PARTIAL: "+strings.Join(missing, ", "), len(jobs) > 0
	default:
		if claims > 0 {
			items, _ := r.list(resource{"v1", "persistentvolumeclaims", true}, "")
			owned := 0
			for _, item := range items {
				metadata, _ := item["metadata"].(Object)
				owners, _ := metadata["ownerReferences"].([]any)
				for _, owner := range owners {
					if owner, isMap := owner.(Object); isMap && owner["kind"] == "Pod" {
						owned++
					}
				}
			}
			if s.claims = owned; owned < claims {
				s.words = fmt.Sprintf("TIMEOUT: %d of %d claims", owned, claims)
				return
			}
		}
		s.outcome, s.words = Accepted, "complete"
	}
}

// podsOf returns the number of Pods with which a Job starts.
func podsOf(job *batchv1.Job) int {
	if job.Spec.Suspend != nil && *job.Spec.Suspend || job.Spec.ManagedBy != nil &&
		*job.Spec.ManagedBy != batchv1.JobControllerName {
		return 0
	}
	if isOver(job) {
		return 0
	}
	want := 1
	if job.Spec.Parallelism != nil {
		want = int(*job.Spec.Parallelism)
	}
	if job.Spec.Completions != nil {
		want = min(want, int(*job.Spec.Completions))
	}
	return want
}

func isOver(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(condition batchv1.JobCondition) bool {
		return (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) &&
			condition.Status == corev1.ConditionTrue
	})
}

func (r *recording) rejectsPods() bool {
	events, err := r.list(resource{"v1", "events", true}, "?fieldSelector=type%3DWarning")
	return err == nil && slices.ContainsFunc(events, func(event Object) bool {
		return event["reason"] == "FailedCreate"
	})
}
