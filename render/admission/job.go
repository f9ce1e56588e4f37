package admission

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimachinery "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/policy"
)

// jobs is what becomes of the JobSet's Jobs.
func (c *checker) jobs(js *jobset.JobSet) {
	known := c.set()
	for _, f := range jobFindings(c.withNodes(js), render.JobsOptions{Companions: c.output.Companions}) {
		if known.Supersedes(f) {
			continue
		}
		if f.Object.Kind == "ConfigMap" {
			// It is the policy's own, of which the runtime says most.
			f.Claims = append(f.Claims, engine.Claim{Layer: merge.RuntimeLayer, Value: engine.Presence{}, Source: fieldpath.Fields("spec", "mlPolicy")})
			c.add(f)
			continue
		}
		c.late(f, f.Path)
	}
	c.unknownClasses(js, classes{priority: c.in.PriorityClasses, runtime: c.in.RuntimeClasses})
	checkJobs(js, fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name}, c.late)
}

// withNodes returns the JobSet with one Pod in each Job that numNodes leaves without Pods. Other findings report numNodes,
// and not every address of such a Pod.
func (c *checker) withNodes(js *jobset.JobSet) *jobset.JobSet {
	if t := c.typed.Spec.Trainer; t == nil || t.NumNodes == nil || *t.NumNodes > 0 {
		return js
	}
	filled, one := js.DeepCopy(), int32(1)
	for i := range filled.Spec.ReplicatedJobs {
		if job := &filled.Spec.ReplicatedJobs[i]; c.takesNumNodes(job) {
			job.Template.Spec.Parallelism, job.Template.Spec.Completions = &one, &one
		}
	}
	return filled
}

// jobFindings are package render's on the Jobs, but for what only a reader of its output needs to know.
func jobFindings(js *jobset.JobSet, opts render.JobsOptions) finding.List {
	out, _ := render.Jobs(oneOfEach(js), opts)
	if out == nil {
		return nil
	}
	return slices.DeleteFunc(out.Findings, func(f finding.Finding) bool {
		switch f.Code {
		case finding.CodeNoSuchPod, finding.CodeNeverCreated, finding.CodeManagedElsewhere:
			return false
		default:
			return true
		}
	})
}

// oneOfEach is the JobSet with one replica of each of its jobs: all others are alike.
func oneOfEach(js *jobset.JobSet) *jobset.JobSet {
	small := js.DeepCopy()
	for i := range small.Spec.ReplicatedJobs {
		small.Spec.ReplicatedJobs[i].Replicas = min(1, small.Spec.ReplicatedJobs[i].Replicas)
	}
	return small
}

// checkJobs says what the API server refuses when the JobSet controller creates the JobSet's Jobs and
// volume claims, and the Job controller their Pods. The add function gets findings whose objects are
// those Jobs, and beside them the field of the JobSet.
func checkJobs(js *jobset.JobSet, id fieldpath.Object, add func(finding.Finding, fieldpath.Path)) {
	out, _ := render.Jobs(oneOfEach(js), render.JobsOptions{Stored: true})
	if out == nil {
		return
	}
	suspended := js.Spec.Suspend != nil && *js.Spec.Suspend
	if leftToOthers(js) {
		report := add
		add = func(f finding.Finding, path fieldpath.Path) {
			f.Severity = finding.Warning // this cluster's controllers create nothing
			report(f, path)
		}
	}
	for i, child := range slices.Concat(out.Jobs, out.Later) {
		at := jobPath(child.ReplicatedJob).Append(fieldpath.Field("template"))
		object := fieldpath.Object{Kind: "Job", Namespace: id.Namespace, Name: child.Job.Name}
		severity := finding.Error
		if suspended && i >= len(out.Jobs) {
			severity = finding.Warning // the controller creates the Job after the JobSet is resumed
		}
		checkJob(child.Job, func(code finding.Code, path fieldpath.Path, message, help string) {
			add(finding.Finding{Code: code, Severity: severity, Object: object, Path: asPrinted(code, path), Message: message, Remedy: finding.Remedy{Text: help}}, at.Append(path...))
		})
	}
	checkPods(js, id, add)
	for i := range js.Spec.VolumeClaimPolicies {
		for j := range js.Spec.VolumeClaimPolicies[i].Templates {
			claim := out.Claims[0]
			out.Claims = out.Claims[1:]
			at := fieldpath.Fields("spec", "volumeClaimPolicies").Append(fieldpath.Index(i), fieldpath.Field("templates"), fieldpath.Index(j))
			object := fieldpath.Object{Kind: "PersistentVolumeClaim", Namespace: id.Namespace, Name: claim.Name}
			checkClaim(claim, func(code finding.Code, path fieldpath.Path, message, help string) {
				add(finding.Finding{Code: code, Severity: finding.Error, Object: object, Path: path, Message: message, Remedy: finding.Remedy{Text: help}}, at.Append(path...))
			})
		}
	}
}

// leftToOthers reports whether JobSet's own controller makes nothing of the JobSet.
func leftToOthers(js *jobset.JobSet) bool {
	return js.Spec.ManagedBy != nil && *js.Spec.ManagedBy != jobset.JobSetControllerName
}

// checkPods says what the API server refuses when the Job controller creates the first Pod of each Job. A suspended
// JobSet gets its Pods later, so its findings are warnings.
func checkPods(js *jobset.JobSet, id fieldpath.Object, add func(finding.Finding, fieldpath.Path)) {
	severity := finding.Error
	if js.Spec.Suspend != nil && *js.Spec.Suspend {
		severity = finding.Warning
	}
	for pod, err := range render.Pods(oneOfEach(js), render.PodsOptions{Indexes: &render.IndexRange{}}) {
		if err != nil {
			return
		}
		object := fieldpath.Object{Kind: "Pod", Namespace: id.Namespace, Name: strings.TrimSuffix(pod.GenerateName, "-")}
		at := jobPath(pod.Labels[jobset.ReplicatedJobNameKey]).Append(fieldpath.Fields("template", "spec", "template")...)
		checkCreated(pod, func(code finding.Code, path fieldpath.Path, message, help string) {
			add(finding.Finding{Code: code, Severity: severity, Object: object, Path: path, Message: message, Remedy: finding.Remedy{Text: help}}, at.Append(path...))
		})
	}
}

// checkJob is the Job API (Kubernetes v1.36.3 pkg/apis/batch/validation) for a Job that the JobSet
// controller made. Fields that the API server fills in may be empty.
func checkJob(job *batchv1.Job, report reporter) {
	checkMetadata(job.Labels, job.Annotations, fieldpath.Fields("metadata"), report)
	spec := fieldpath.Fields("spec")
	checkCounts(&job.Spec, spec, report)
	if by := job.Spec.ManagedBy; by != nil {
		checkManagedBy(*by, spec.Append(fieldpath.Field("managedBy")), finding.CodeJobSpec, report)
	}
	if p := job.Spec.PodFailurePolicy; p != nil {
		checkPodFailurePolicy(&job.Spec, report)
	}
	checkJobSuccessPolicy(&job.Spec, report)
	if p := job.Spec.PodReplacementPolicy; p != nil {
		path := spec.Append(fieldpath.Field("podReplacementPolicy"))
		if job.Spec.PodFailurePolicy != nil {
			oneOf(report, finding.CodeJobSpec, path, *p, batchv1.Failed)
		} else {
			oneOf(report, finding.CodeJobSpec, path, *p, batchv1.Failed, batchv1.TerminatingOrFailed)
		}
	}
	checkSelector(job, report)
	checkRestartPolicy(&job.Spec, report)
	template := &job.Spec.Template
	at := spec.Append(fieldpath.Field("template"))
	checkMetadata(template.Labels, template.Annotations, at.Append(fieldpath.Field("metadata")), report)
	checkPod(template, at, report)
}

// The limits of Jobs with an index.
const (
	mostParallel           = 100_000
	mostCompletions        = 100_000 // … beside which a backoff limit per index has limits of its own
	mostParallelOfMany     = 10_000
	mostFailedIndexesOfAny = 100_000
	mostFailedOfMany       = 10_000
)

func checkCounts(spec *batchv1.JobSpec, at fieldpath.Path, report reporter) {
	refuse := func(field, message, help string) {
		report(finding.CodeJobSpec, at.Append(fieldpath.Field(field)), message, help)
	}
	nonNegative(report, finding.CodeJobSpec, at.Append(fieldpath.Field("parallelism")), spec.Parallelism)
	nonNegative(report, finding.CodeJobSpec, at.Append(fieldpath.Field("completions")), spec.Completions)
	nonNegative(report, finding.CodeJobSpec, at.Append(fieldpath.Field("activeDeadlineSeconds")), spec.ActiveDeadlineSeconds)
	nonNegative(report, finding.CodeJobSpec, at.Append(fieldpath.Field("backoffLimit")), spec.BackoffLimit)
	nonNegative(report, finding.CodeJobSpec, at.Append(fieldpath.Field("ttlSecondsAfterFinished")), spec.TTLSecondsAfterFinished)
	nonNegative(report, finding.CodeJobSpec, at.Append(fieldpath.Field("backoffLimitPerIndex")), spec.BackoffLimitPerIndex)
	nonNegative(report, finding.CodeJobSpec, at.Append(fieldpath.Field("maxFailedIndexes")), spec.MaxFailedIndexes)
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		refuse("backoffLimitPerIndex", "is required beside maxFailedIndexes", "set it, or drop maxFailedIndexes")
	}
	if spec.CompletionMode != nil {
		oneOf(report, finding.CodeJobSpec, at.Append(fieldpath.Field("completionMode")), *spec.CompletionMode, batchv1.IndexedCompletion, batchv1.NonIndexedCompletion)
	}
	if !isIndexed(spec) {
		const help = "set completionMode to Indexed, or drop the field"
		if spec.CompletionMode == nil || *spec.CompletionMode == batchv1.NonIndexedCompletion {
			if spec.BackoffLimitPerIndex != nil {
				refuse("backoffLimitPerIndex", "is only for Jobs whose Pods have an index", help)
			}
			if spec.MaxFailedIndexes != nil {
				refuse("maxFailedIndexes", "is only for Jobs whose Pods have an index", help)
			}
		}
		return
	}
	if spec.Completions == nil {
		refuse("completions", "is required where completionMode is Indexed", "set it")
		return
	}
	if p := spec.Parallelism; p != nil && *p > mostParallel {
		refuse("parallelism", fmt.Sprintf("is %d; Pods with an index run %d at a time at most", *p, mostParallel), "lower it")
	}
	if m := spec.MaxFailedIndexes; m != nil {
		if *m > *spec.Completions {
			refuse("maxFailedIndexes", fmt.Sprintf("is %d, more than the %d completions", *m, *spec.Completions), "lower it")
		}
		if *m > mostFailedIndexesOfAny {
			refuse("maxFailedIndexes", fmt.Sprintf("is %d, and may be %d", *m, mostFailedIndexesOfAny), "lower it")
		}
	}
	if *spec.Completions > mostCompletions && spec.BackoffLimitPerIndex != nil {
		checkManyIndexes(spec, refuse)
	}
}

// checkManyIndexes holds what is asked of a Job with very many indexes and a backoff limit for each.
func checkManyIndexes(spec *batchv1.JobSpec, refuse func(field, message, help string)) {
	if spec.MaxFailedIndexes == nil {
		refuse("maxFailedIndexes", fmt.Sprintf("is required beside more than %d completions", mostCompletions), "set it")
	} else if *spec.MaxFailedIndexes > mostFailedOfMany {
		refuse("maxFailedIndexes", fmt.Sprintf("is %d, and may be %d beside more than %d completions", *spec.MaxFailedIndexes, mostFailedOfMany, mostCompletions), "lower it")
	}
	if p := spec.Parallelism; p != nil && *p > mostParallelOfMany {
		refuse("parallelism", fmt.Sprintf("is %d, and may be %d beside more than %d completions with a backoff limit for each index", *p, mostParallelOfMany, mostCompletions), "lower it")
	}
}

func isIndexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}

// checkRestartPolicy: JobSet fills in OnFailure where there is none.
func checkRestartPolicy(spec *batchv1.JobSpec, report reporter) {
	policy := spec.Template.Spec.RestartPolicy
	path := fieldpath.Fields("spec", "template", "spec", "restartPolicy")
	switch policy {
	case corev1.RestartPolicyNever:
	case corev1.RestartPolicyOnFailure, "":
		if spec.PodFailurePolicy != nil {
			report(finding.CodeRestartPolicy, path, "a Job with a podFailurePolicy needs the restart policy Never; JobSet fills in OnFailure where there is none",
				"set restartPolicy to Never, or drop podFailurePolicy")
		}
	default:
		report(finding.CodeRestartPolicy, path, fmt.Sprintf("a Job's Pods cannot have the restart policy %q", policy), "write Never or OnFailure")
	}
}

// checkSelector: a Job's selector and the labels that it selects by are the Job API's own affair.
func checkSelector(job *batchv1.Job, report reporter) {
	if manual := job.Spec.ManualSelector; manual != nil && *manual {
		checkManualSelector(job, report)
		return
	}
	own := map[string]string{"job-name": job.Name, batchv1.JobNameLabel: job.Name}
	if s := job.Spec.Selector; s != nil {
		checkLabelSelector(s, fieldpath.Fields("spec", "selector"), finding.CodeReservedLabel, report)
	}
	if s := job.Spec.Selector; s != nil && !selects(s, own) {
		report(finding.CodeReservedLabel, fieldpath.Fields("spec", "selector"), "the Job API makes a Job's selector itself", "drop the selector")
	}
	labels := fieldpath.Fields("spec", "template", "metadata", "labels")
	for _, key := range []string{"job-name", batchv1.JobNameLabel} {
		if value, set := job.Spec.Template.Labels[key]; set && value != job.Name {
			report(finding.CodeReservedLabel, labels.Append(fieldpath.Key(key)), fmt.Sprintf("the Job API sets the label %s of Pods, and takes no other value than the Job's name", key), "drop the label")
		}
	}
	for _, key := range []string{"controller-uid", batchv1.ControllerUidLabel} {
		if _, set := job.Spec.Template.Labels[key]; set {
			report(finding.CodeReservedLabel, labels.Append(fieldpath.Key(key)), fmt.Sprintf("the Job API sets the label %s of Pods, and takes no other value than the Job's uid", key), "drop the label")
		}
	}
}

func checkManualSelector(job *batchv1.Job, report reporter) {
	path := fieldpath.Fields("spec", "selector")
	if job.Spec.Selector == nil {
		report(finding.CodeReservedLabel, path, "is required where manualSelector is true", "drop manualSelector: the Job API makes the selector")
		return
	}
	checkLabelSelector(job.Spec.Selector, path, finding.CodeReservedLabel, report)
	if !selects(job.Spec.Selector, job.Spec.Template.Labels) {
		report(finding.CodeReservedLabel, fieldpath.Fields("spec", "template", "metadata", "labels"), "the Job's selector does not select its own Pods", "drop manualSelector and selector")
	}
}

// longestAnnotations is how much room all annotations of an object may take.
const longestAnnotations = apimachinery.TotalAnnotationSizeLimitB

// checkMetadata checks labels and annotations.
func checkMetadata(labels, annotations map[string]string, at fieldpath.Path, report reporter) {
	const help = "use letters, digits, dashes, underscores and dots, beginning and ending with a letter or digit, 63 at most"
	for _, key := range sortedKeys(labels) {
		path := at.Append(fieldpath.Field("labels"), fieldpath.Key(key))
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			report(finding.CodeBadLabel, path, fmt.Sprintf("%q is no name for a label: %s", key, brief(problems...)), help)
		}
		if problems := validation.IsValidLabelValue(labels[key]); len(problems) > 0 {
			report(finding.CodeBadLabel, path, fmt.Sprintf("%q is no value for a label: %s", labels[key], brief(problems...)), help)
		}
	}
	size := 0
	for _, key := range sortedKeys(annotations) {
		size += len(key) + len(annotations[key])
		if problems := validation.IsQualifiedName(strings.ToLower(key)); len(problems) > 0 {
			report(finding.CodeBadLabel, at.Append(fieldpath.Field("annotations"), fieldpath.Key(key)),
				fmt.Sprintf("%q is no name for an annotation: %s", key, brief(problems...)), help)
		}
	}
	if size > longestAnnotations {
		report(finding.CodeBadLabel, at.Append(fieldpath.Field("annotations")),
			fmt.Sprintf("the annotations have %d bytes together, and may have %d", size, longestAnnotations), "shorten them, or put the text into a ConfigMap")
	}
}

// takesNumNodes reports whether spec.trainer.numNodes counts the Pods of a replicated job.
func (c *checker) takesNumNodes(job *jobset.ReplicatedJob) bool {
	if p := c.in.Runtime.spec.MLPolicy; p != nil && p.MPI != nil {
		return job.Name == policy.Node
	}
	return job.Template.Labels[policy.Ancestor] == policy.Trainer
}
