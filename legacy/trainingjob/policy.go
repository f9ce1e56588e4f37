package trainingjob

import (
	"fmt"
	"math"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// retryable is the first exit code that the restart policy ExitCode takes for retryable; those below are
// permanent (training-operator v1.9.3 pkg/util/train).
const retryable = 128

// podRestart is the restart policy of the Pods. Under ExitCode the old controller made the Pods anew
// itself, as the Job controller does. A Job takes no Always.
func podRestart(p kubeflow.RestartPolicy) corev1.RestartPolicy {
	switch p {
	case kubeflow.RestartPolicyAlways, kubeflow.RestartPolicyOnFailure:
		return corev1.RestartPolicyOnFailure
	default:
		return corev1.RestartPolicyNever
	}
}

// checkRestarts reports restart policies that no Job has.
func (c *conversion) checkRestarts() {
	for _, r := range c.replicas {
		path := r.path.Append(fieldpath.Field("restartPolicy"))
		switch r.spec.RestartPolicy {
		case kubeflow.RestartPolicyNever, kubeflow.RestartPolicyOnFailure, kubeflow.RestartPolicyExitCode:
		case kubeflow.RestartPolicyAlways:
			c.changed(path, "a Job takes no restartPolicy Always; OnFailure takes its place, and a container that ends with 0 is not started again",
				"write OnFailure if that is meant; let the program run on if not")
		default:
			c.invalid(path, fmt.Sprintf("there is no restart policy %q", r.spec.RestartPolicy), "write Never, OnFailure or ExitCode")
		}
	}
}

// jobSpec is what the restart policy and the run policy make of a Job, besides its Pods.
func (c *conversion) jobSpec(r *role) batchv1.JobSpec {
	spec := batchv1.JobSpec{BackoffLimit: c.backoffLimit(r)}
	if r.replica.spec.RestartPolicy == kubeflow.RestartPolicyExitCode {
		spec.PodFailurePolicy = exitCodes(c.newName(r))
	}
	switch {
	case r.firstDecides && r.count > 1:
		first := "0"
		spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: &first}}}
	case r.anyDecides && r.count > 1:
		one := int32(1)
		spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: &one}}}
	}
	if c.ends(r) {
		spec.TTLSecondsAfterFinished = c.ttl()
	}
	return spec
}

// newName is the name of the container that trains.
func (c *conversion) newName(r *role) string {
	if r.trains || c.ml.MPI != nil {
		return node
	}
	return r.main
}

// backoffLimit is how often Pods may fail. Under Never the old job failed with its first Pod, whatever
// the limit; without a limit it was tried for ever, where a Job has 6.
func (c *conversion) backoffLimit(r *role) *int32 {
	limit := int32(math.MaxInt32)
	switch {
	case r.replica.spec.RestartPolicy == kubeflow.RestartPolicyNever:
		limit = 0
	case c.run.BackoffLimit != nil:
		limit = *c.run.BackoffLimit
	}
	return &limit
}

// exitCodes fails the job on the exit codes that ExitCode takes for permanent. The others count against
// the backoff limit.
func exitCodes(container string) *batchv1.PodFailurePolicy {
	var permanent []int32
	for code := int32(1); code < retryable; code++ {
		permanent = append(permanent, code)
	}
	return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action: batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: &container, Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: permanent,
		},
	}}}
}

// ends reports whether the end of a job is the end of the JobSet, so that the job may be deleted then: one
// that is deleted earlier, the JobSet's controller makes anew.
func (c *conversion) ends(r *role) bool {
	if r.apart && r.count > 1 {
		return false
	}
	return len(c.roles) == 1 || len(c.targets) == 1 && c.targets[0] == r.name
}

// leastTTL is how long a finished Job stays at least. The JobSet's controller has to see that it
// finished; a Job that goes before is made anew.
const leastTTL = 60

// ttl is after how long finished Jobs are deleted, and their Pods with them; nil is never. The JobSet's own
// ttlSecondsAfterFinished is not used: Trainer v2.3.0 makes the JobSet of a failed TrainJob anew when it
// goes (pkg/controller/trainjob_controller.go), and the job runs again.
func (c *conversion) ttl() *int32 {
	ttl := c.run.TTLSecondsAfterFinished
	if c.cleanPods() == kubeflow.CleanPodPolicyAll {
		least := int32(leastTTL)
		return &least
	}
	if ttl == nil {
		return nil
	}
	seconds := max(*ttl, leastTTL)
	return &seconds
}

func (c *conversion) cleanPods() kubeflow.CleanPodPolicy {
	if c.run.CleanPodPolicy == nil {
		return kubeflow.CleanPodPolicyNone
	}
	return *c.run.CleanPodPolicy
}

// checkRunPolicy reports what of the run policy is carried otherwise, and what is not.
func (c *conversion) checkRunPolicy() {
	run := fieldpath.Fields("spec", "runPolicy")
	c.checkRestarts()
	c.checkCleanPods(run)
	if s := c.run.ActiveDeadlineSeconds; s != nil && *s < 1 {
		c.refuse(run.Append(fieldpath.Field("activeDeadlineSeconds")), fmt.Sprintf("a deadline of %d seconds: a TrainJob takes 1 or more", *s), "remove it, or write how long the job may run")
	}
	if b := c.run.BackoffLimit; b != nil {
		path := run.Append(fieldpath.Field("backoffLimit"))
		switch jobs := c.jobs(); {
		case *b < 0:
			c.refuse(path, fmt.Sprintf("a backoff limit of %d: a Job takes 0 or more", *b), "remove it")
		case jobs > 1:
			c.changed(path, fmt.Sprintf("each of the %d Jobs counts its own restarts up to %d, where the old controller counted those of all Pods together", jobs, *b), "lower it, if the sum matters")
		}
	}
	if t := c.run.TTLSecondsAfterFinished; t != nil {
		path := run.Append(fieldpath.Field("ttlSecondsAfterFinished"))
		message := fmt.Sprintf("finished Jobs and their Pods go after %d seconds; the JobSet and the TrainJob stay", *c.ttl())
		if !c.anyEnds() {
			message = "it is left out: of several Jobs one that is deleted early would run again, so nothing is deleted"
		}
		c.changed(path, message, "delete finished TrainJobs yourself; a ttlSecondsAfterFinished of the JobSet lets a failed TrainJob run again")
	}
	if m := c.run.ManagedBy; m != nil && *m != kubeflow.KubeflowJobsController && *m != kubeflow.MultiKueueController {
		c.invalid(run.Append(fieldpath.Field("managedBy")), fmt.Sprintf("%q is no manager of training jobs", *m),
			fmt.Sprintf("write %s or %s", kubeflow.KubeflowJobsController, kubeflow.MultiKueueController))
	}
}

// jobs is the number of Jobs.
func (c *conversion) jobs() int {
	n := 0
	for _, r := range c.roles {
		if r.apart {
			n += int(r.count)
		} else {
			n++
		}
	}
	return n
}

func (c *conversion) anyEnds() bool {
	for _, r := range c.roles {
		if c.ends(r) {
			return true
		}
	}
	return false
}

// checkCleanPods reports what becomes of Pods when the job is done. JobSet v0.12.0 deletes those that
// still run, which is the policy Running.
func (c *conversion) checkCleanPods(run fieldpath.Path) {
	path := run.Append(fieldpath.Field("cleanPodPolicy"))
	switch c.cleanPods() {
	case kubeflow.CleanPodPolicyRunning:
	case kubeflow.CleanPodPolicyNone, kubeflow.CleanPodPolicyUndefined:
		c.add(finding.CodeMappedOtherwise, finding.Note, path, "Pods that still run when the job is done are deleted; under None, which is the default, the old controller left them", "")
	case kubeflow.CleanPodPolicyAll:
		message := fmt.Sprintf("Pods that still run when the job is done are deleted at once, finished ones after %d seconds", leastTTL)
		if !c.anyEnds() {
			message = "Pods that still run when the job is done are deleted; finished ones stay"
		}
		c.changed(path, message, "delete the TrainJob to delete the rest")
	default:
		c.invalid(path, fmt.Sprintf("there is no policy %q", c.cleanPods()), "write None, Running or All")
	}
}
