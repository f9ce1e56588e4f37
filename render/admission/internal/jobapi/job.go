package jobapi

import (
	"cmp"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/admission/internal/podapi"
	"github.com/trainweld/trainweld/render/codes"
)

// Check applies the rules of the Job API (Kubernetes v1.36.3 pkg/apis/batch/validation) to a Job
// that the JobSet controller made, as a minor version does. Fields that the API server fills in may
// be empty.
func Check(kubernetes string, job *batchv1.Job, report apirule.Reporter) {
	apirule.Metadata(job.Labels, job.Annotations, fieldpath.Fields("metadata"), report)
	spec := fieldpath.Fields("spec")
	checkCounts(&job.Spec, spec, report)
	if by := job.Spec.ManagedBy; by != nil {
		apirule.ManagedBy(*by, spec.Append(fieldpath.Field("managedBy")), codes.JobSpec, report)
	}
	if p := job.Spec.PodFailurePolicy; p != nil {
		checkPodFailurePolicy(&job.Spec, report)
	}
	checkJobSuccessPolicy(&job.Spec, report)
	if p := job.Spec.PodReplacementPolicy; p != nil {
		path := spec.Append(fieldpath.Field("podReplacementPolicy"))
		if job.Spec.PodFailurePolicy != nil {
			apirule.OneOf(report, codes.JobSpec, path, *p, batchv1.Failed)
		} else {
			apirule.OneOf(report, codes.JobSpec, path, *p, batchv1.Failed,
				batchv1.TerminatingOrFailed)
		}
	}
	checkSelector(job, report)
	checkRestartPolicy(&job.Spec, report)
	template := &job.Spec.Template
	at := spec.Append(fieldpath.Field("template"))
	apirule.Metadata(template.Labels, template.Annotations, at.Append(fieldpath.Field("metadata")),
		report)
	podapi.CheckTemplate(kubernetes, template, at, report)
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

func checkCounts(spec *batchv1.JobSpec, at fieldpath.Path, report apirule.Reporter) {
	reject := func(field, message, help string) {
		report(codes.JobSpec, at.Append(fieldpath.Field(field)), message, help)
	}
	apirule.NonNegative(report, codes.JobSpec, at.Append(fieldpath.Field("parallelism")),
		spec.Parallelism)
	apirule.NonNegative(report, codes.JobSpec, at.Append(fieldpath.Field("completions")),
		spec.Completions)
	apirule.NonNegative(report, codes.JobSpec, at.Append(fieldpath.Field("activeDeadlineSeconds")),
		spec.ActiveDeadlineSeconds)
	apirule.NonNegative(report, codes.JobSpec, at.Append(fieldpath.Field("backoffLimit")),
		spec.BackoffLimit)
	apirule.NonNegative(report, codes.JobSpec,
		at.Append(fieldpath.Field("ttlSecondsAfterFinished")), spec.TTLSecondsAfterFinished)
	apirule.NonNegative(report, codes.JobSpec, at.Append(fieldpath.Field("backoffLimitPerIndex")),
		spec.BackoffLimitPerIndex)
	apirule.NonNegative(report, codes.JobSpec, at.Append(fieldpath.Field("maxFailedIndexes")),
		spec.MaxFailedIndexes)
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		reject("backoffLimitPerIndex", apirule.Missing("when maxFailedIndexes is specified"),
			"set it, or remove maxFailedIndexes")
	}
	if spec.CompletionMode != nil {
		apirule.OneOf(report, codes.JobSpec, at.Append(fieldpath.Field("completionMode")),
			*spec.CompletionMode, batchv1.IndexedCompletion, batchv1.NonIndexedCompletion)
	}
	if !isIndexed(spec) {
		const help = "set completionMode to Indexed, or remove the field"
		if spec.CompletionMode == nil || *spec.CompletionMode == batchv1.NonIndexedCompletion {
			if spec.BackoffLimitPerIndex != nil {
				reject("backoffLimitPerIndex",
					apirule.Invalid(*spec.BackoffLimitPerIndex, needsIndex), help)
			}
			if spec.MaxFailedIndexes != nil {
				reject("maxFailedIndexes", apirule.Invalid(*spec.MaxFailedIndexes, needsIndex),
					help)
			}
		}
		return
	}
	if spec.Completions == nil {
		reject("completions", apirule.Missing("when completion mode is Indexed"), "set it")
		return
	}
	if p := spec.Parallelism; p != nil && *p > mostParallel {
		reject("parallelism",
			apirule.Invalid(
				*p, fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed",
					mostParallel)), "lower it")
	}
	if m := spec.MaxFailedIndexes; m != nil {
		if *m > *spec.Completions {
			reject("maxFailedIndexes",
				apirule.Invalid(*m, "must be less than or equal to completions"), "lower it")
		}
		if *m > mostFailedIndexesOfAny {
			reject("maxFailedIndexes",
				apirule.Invalid(
					*m, fmt.Sprintf("must be less than or equal to %d", mostFailedIndexesOfAny)),
				"lower it")
		}
	}
	if *spec.Completions > mostCompletions && spec.BackoffLimitPerIndex != nil {
		checkManyIndexes(spec, reject)
	}
}

// checkManyIndexes checks a Job with more than mostCompletions indexes and a backoff limit for
// each.
func checkManyIndexes(spec *batchv1.JobSpec, reject func(field, message, help string)) {
	const ofMany = "must be less than or equal to %d when completions are above %d and used with " +
		"backoff limit per index"
	if spec.MaxFailedIndexes == nil {
		reject("maxFailedIndexes",
			apirule.Missing(
				fmt.Sprintf("must be specified when completions is above %d", mostCompletions)),
			"set it")
	} else if *spec.MaxFailedIndexes > mostFailedOfMany {
		reject("maxFailedIndexes",
			apirule.Invalid(*spec.MaxFailedIndexes,
				fmt.Sprintf(ofMany, mostFailedOfMany, mostCompletions)), "lower it")
	}
	if p := spec.Parallelism; p != nil && *p > mostParallelOfMany {
		reject("parallelism",
			apirule.Invalid(*p, fmt.Sprintf(ofMany, mostParallelOfMany, mostCompletions)),
			"lower it")
	}
}

func isIndexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}

// checkRestartPolicy checks the restart policy; JobSet fills in OnFailure for a missing one.
func checkRestartPolicy(spec *batchv1.JobSpec, report apirule.Reporter) {
	policy := spec.Template.Spec.RestartPolicy
	path := fieldpath.Fields("spec", "template", "spec", "restartPolicy")
	switch policy {
	case corev1.RestartPolicyNever:
	case corev1.RestartPolicyOnFailure, "":
		if spec.PodFailurePolicy != nil {
			report(codes.RestartPolicy, path,
				apirule.Invalid(string(cmp.Or(policy, corev1.RestartPolicyOnFailure)),
					`only "Never" is supported when podFailurePolicy is specified`),
				"set restartPolicy to Never, or remove podFailurePolicy")
		}
	default:
		allowed := []corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}
		message := apirule.Unsupported(policy, allowed...)
		if policy == corev1.RestartPolicyAlways {
			message = apirule.Missing(`valid values: "OnFailure", "Never"`)
		}
		report(codes.RestartPolicy, path, message, "use Never or OnFailure")
	}
}

// checkSelector checks the selector and the labels that it selects. The Job API sets both.
func checkSelector(job *batchv1.Job, report apirule.Reporter) {
	if manual := job.Spec.ManualSelector; manual != nil && *manual {
		checkManualSelector(job, report)
		return
	}
	own := map[string]string{"job-name": job.Name, batchv1.JobNameLabel: job.Name}
	if s := job.Spec.Selector; s != nil {
		apirule.LabelSelector(s, fieldpath.Fields("spec", "selector"), codes.ReservedLabel, report)
	}
	if s := job.Spec.Selector; s != nil && !selects(s, own) {
		report(codes.ReservedLabel, fieldpath.Fields("spec", "selector"),
			apirule.InvalidObject("`selector` not auto-generated"), "remove the selector")
	}
	labels := fieldpath.Fields("spec", "template", "metadata", "labels")
	for _, key := range []string{"job-name", batchv1.JobNameLabel} {
		if value, set := job.Spec.Template.Labels[key]; set && value != job.Name {
			report(codes.ReservedLabel, labels.Append(fieldpath.Key(key)),
				apirule.InvalidObject(fmt.Sprintf("must be '%s'", job.Name)),
				"remove the label: the Job API sets it")
		}
	}
	for _, key := range []string{"controller-uid", batchv1.ControllerUidLabel} {
		if _, set := job.Spec.Template.Labels[key]; set {
			report(codes.ReservedLabel, labels.Append(fieldpath.Key(key)),
				apirule.InvalidObject("must be the uid of the Job"),
				"remove the label: the Job API sets it")
		}
	}
}

func checkManualSelector(job *batchv1.Job, report apirule.Reporter) {
	path := fieldpath.Fields("spec", "selector")
	if job.Spec.Selector == nil {
		report(codes.ReservedLabel, path, apirule.Missing(""),
			"remove manualSelector: the Job API makes the selector")
		return
	}
	apirule.LabelSelector(job.Spec.Selector, path, codes.ReservedLabel, report)
	if !selects(job.Spec.Selector, job.Spec.Template.Labels) {
		report(codes.ReservedLabel, fieldpath.Fields("spec", "template", "metadata", "labels"),
			apirule.InvalidObject("`selector` does not match template `labels`"),
			"remove manualSelector and selector")
	}
}

// selects reports whether the selector matches the labels.
func selects(selector *metav1.LabelSelector, set map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err != nil || s.Matches(labels.Set(set))
}
