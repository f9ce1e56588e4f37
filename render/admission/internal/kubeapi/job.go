package kubeapi

import (
	"cmp"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trainweld/trainweld/render/codes"
)

// CheckJob applies the rules of the Job API to a Job that the JobSet controller made, as a minor
// version does. Fields that the API server fills in may be empty. The labels are for CheckTemplate.
func CheckJob(kubernetes string, labels map[string]string, job *batchv1.Job, object *At) {
	object.Field("metadata").Metadata(job.Labels, job.Annotations)
	spec, at := &job.Spec, object.As(codes.JobSpec).Field("spec")
	checkCounts(spec, at)
	if by := spec.ManagedBy; by != nil {
		at.Field("managedBy").ManagedBy(*by)
	}
	if spec.PodFailurePolicy != nil {
		checkPodFailurePolicy(spec, at.Field("podFailurePolicy", "rules"))
	}
	if spec.SuccessPolicy != nil {
		checkJobSuccessPolicy(spec, at.Field("successPolicy"))
	}
	replacements := []batchv1.PodReplacementPolicy{batchv1.Failed}
	if spec.PodFailurePolicy == nil {
		replacements = append(replacements, batchv1.TerminatingOrFailed)
	}
	NilOr(at.Field("podReplacementPolicy"), spec.PodReplacementPolicy, replacements...)
	checkSelector(job, at.As(codes.ReservedLabel))
	checkRestartPolicy(spec, at.As(codes.RestartPolicy))
	template := at.Field("template")
	template.Field("metadata").Metadata(spec.Template.Labels, spec.Template.Annotations)
	CheckTemplate(kubernetes, labels, &spec.Template, template)
}

// needsIndex is the API server's detail of a field for Jobs whose Pods have an index.
const needsIndex = "requires indexed completion mode"

// The limits of Jobs with an index.
const (
	mostParallel           = 100_000
	mostCompletions        = 100_000 // above this, a backoff limit per index has the limits below
	mostParallelOfMany     = 10_000
	mostFailedIndexesOfAny = 100_000
	mostFailedOfMany       = 10_000
)

func checkCounts(spec *batchv1.JobSpec, at *At) {
	parallelism, failed := at.Field("parallelism"), at.Field("maxFailedIndexes")
	backoff := at.Field("backoffLimitPerIndex")
	NonNegative(parallelism, spec.Parallelism)
	NonNegative(at.Field("completions"), spec.Completions)
	NonNegative(at.Field("activeDeadlineSeconds"), spec.ActiveDeadlineSeconds)
	NonNegative(at.Field("backoffLimit"), spec.BackoffLimit)
	NonNegative(at.Field("ttlSecondsAfterFinished"), spec.TTLSecondsAfterFinished)
	NonNegative(backoff, spec.BackoffLimitPerIndex)
	NonNegative(failed, spec.MaxFailedIndexes)
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		backoff.Missing("when maxFailedIndexes is specified", "set it, or remove maxFailedIndexes")
	}
	NilOr(at.Field("completionMode"), spec.CompletionMode, batchv1.IndexedCompletion,
		batchv1.NonIndexedCompletion)
	if !isIndexed(spec) {
		const help = "set completionMode to Indexed"
		known := spec.CompletionMode == nil || *spec.CompletionMode == batchv1.NonIndexedCompletion
		if n := spec.BackoffLimitPerIndex; n != nil && known {
			backoff.Invalid(*n, needsIndex, help)
		}
		if n := spec.MaxFailedIndexes; n != nil && known {
			failed.Invalid(*n, needsIndex, help)
		}
		return
	}
	if spec.Completions == nil {
		at.Field("completions").Missing("when completion mode is Indexed", "set it")
		return
	}
	parallelism.atMost(spec.Parallelism, mostParallel, " when completion mode is Indexed")
	if m := spec.MaxFailedIndexes; m != nil && *m > *spec.Completions {
		failed.Invalid(*m, "must be less than or equal to completions", "lower it")
	}
	failed.atMost(spec.MaxFailedIndexes, mostFailedIndexesOfAny, "")
	if *spec.Completions <= mostCompletions || spec.BackoffLimitPerIndex == nil {
		return
	}
	if spec.MaxFailedIndexes == nil {
		failed.Missing(
			fmt.Sprintf("must be specified when completions is above %d", mostCompletions),
			"set it")
	}
	ofMany := fmt.Sprintf(" when completions are above %d and used with backoff limit per index",
		mostCompletions)
	failed.atMost(spec.MaxFailedIndexes, mostFailedOfMany, ofMany)
	parallelism.atMost(spec.Parallelism, mostParallelOfMany, ofMany)
}

// atMost reports a number above a limit that holds under a condition.
func (a *At) atMost(n *int32, most int32, condition string) {
	if n != nil && *n > most {
		a.Invalid(*n, fmt.Sprintf("must be less than or equal to %d%s", most, condition), "lower it")
	}
}

func isIndexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}

// checkRestartPolicy checks the restart policy; JobSet fills in OnFailure for a missing one.
func checkRestartPolicy(spec *batchv1.JobSpec, at *At) {
	const failing, never = corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever
	policy, at := spec.Template.Spec.RestartPolicy, at.Field("template", "spec", "restartPolicy")
	switch {
	case policy == never:
	case policy != failing && policy != "":
		message := Unsupported(policy, failing, never)
		if policy == corev1.RestartPolicyAlways {
			message = Missing(`valid values: "OnFailure", "Never"`)
		}
		at.Reject(message, "use Never or OnFailure")
	case spec.PodFailurePolicy != nil:
		at.Invalid(string(cmp.Or(policy, failing)),
			`only "Never" is supported when podFailurePolicy is specified`,
			"set restartPolicy to Never, or remove podFailurePolicy")
	}
}

// checkSelector checks the selector and the labels that it selects. The Job API sets both.
func checkSelector(job *batchv1.Job, spec *At) {
	selector, template := job.Spec.Selector, &job.Spec.Template
	at, labels := spec.Field("selector"), spec.Field("template", "metadata", "labels")
	if selector != nil {
		at.Selector(selector)
	}
	if isSet(job.Spec.ManualSelector) {
		if selector == nil {
			at.Missing("", "remove manualSelector: the Job API makes the selector")
		} else if !selects(selector, template.Labels) {
			labels.InvalidObject("`selector` does not match template `labels`",
				"remove manualSelector and selector")
		}
		return
	}
	own := map[string]string{"job-name": job.Name, batchv1.JobNameLabel: job.Name}
	if selector != nil && !selects(selector, own) {
		at.InvalidObject("`selector` not auto-generated", "remove the selector")
	}
	const help = "remove the label: the Job API sets it"
	for _, key := range []string{"job-name", batchv1.JobNameLabel} {
		if value, set := template.Labels[key]; set && value != job.Name {
			labels.Key(key).InvalidObject(fmt.Sprintf("must be '%s'", job.Name), help)
		}
	}
	for _, key := range []string{"controller-uid", batchv1.ControllerUidLabel} {
		if _, set := template.Labels[key]; set {
			labels.Key(key).InvalidObject("must be the uid of the Job", help)
		}
	}
}

// selects reports whether the selector matches the labels.
func selects(selector *metav1.LabelSelector, set map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err != nil || s.Matches(labels.Set(set))
}
