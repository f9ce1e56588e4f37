package trainingjob

import (
	"math"
	"slices"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/fieldpath"
)

// retryable is the first exit code that the restart policy ExitCode retries. Smaller ones are
// permanent errors (training-operator v1.9.3 pkg/util/train).
const retryable = 128

// podRestart returns the restart policy of the Pods. Under ExitCode the old controller recreated
// the Pods, as the Job controller does. A Job does not support Always.
func podRestart(p kubeflow.RestartPolicy) corev1.RestartPolicy {
	switch p {
	case kubeflow.RestartPolicyAlways, kubeflow.RestartPolicyOnFailure:
		return corev1.RestartPolicyOnFailure
	default:
		return corev1.RestartPolicyNever
	}
}

// checkRestarts reports restart policies that Jobs lack.
func (c *conversion) checkRestarts() {
	for _, r := range c.replicas {
		path := within(r.path, "restartPolicy")
		switch r.spec.RestartPolicy {
		case kubeflow.RestartPolicyNever, kubeflow.RestartPolicyOnFailure,
			kubeflow.RestartPolicyExitCode:
		case kubeflow.RestartPolicyAlways:
			c.report("restartAlways", path)
		default:
			c.report("restartPolicy", path, r.spec.RestartPolicy)
		}
	}
}

// jobSpec returns the spec of a Job without its Pods, from the restart policy and the run policy.
func (c *conversion) jobSpec(r *role) batchv1.JobSpec {
	spec := batchv1.JobSpec{BackoffLimit: c.backoffLimit(r)}
	if r.replica.spec.RestartPolicy == kubeflow.RestartPolicyExitCode {
		spec.PodFailurePolicy = exitCodes(c.newName(r))
	}
	switch {
	case r.firstDecides && r.count > 1:
		spec.SuccessPolicy = &batchv1.SuccessPolicy{
			Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("0")}}}
	case r.anyDecides && r.count > 1:
		spec.SuccessPolicy = &batchv1.SuccessPolicy{
			Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}
	}
	if c.ends(r) {
		spec.TTLSecondsAfterFinished = c.ttl()
	}
	return spec
}

// newName returns the new name of the training container.
func (c *conversion) newName(r *role) string {
	if r.isTrainer || c.ml.MPI != nil {
		return node
	}
	return r.main
}

// backoffLimit returns the number of failures of Pods that a Job accepts. Under Never the old job
// failed with its first Pod, regardless of the limit. Without a limit it retried forever, where a
// Job's default is 6.
func (c *conversion) backoffLimit(r *role) *int32 {
	switch {
	case r.replica.spec.RestartPolicy == kubeflow.RestartPolicyNever:
		return new(int32(0))
	case c.run.BackoffLimit != nil:
		return new(*c.run.BackoffLimit)
	}
	return new(int32(math.MaxInt32))
}

// exitCodes fails the job on the permanent exit codes of ExitCode. Other codes count against the
// backoff limit.
func exitCodes(container string) *batchv1.PodFailurePolicy {
	var permanent []int32
	for code := int32(1); code < retryable; code++ {
		permanent = append(permanent, code)
	}
	return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action: batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: &container, Operator: batchv1.PodFailurePolicyOnExitCodesOpIn,
			Values: permanent,
		},
	}}}
}

// ends reports whether the JobSet ends with a job, so that the job may be deleted then. The
// JobSet's controller recreates a job that is deleted earlier.
func (c *conversion) ends(r *role) bool {
	if r.jobPerPod && r.count > 1 {
		return false
	}
	return len(c.roles) == 1 || len(c.targets) == 1 && c.targets[0] == r.name
}

// leastTTL is the least lifetime of a finished Job, in seconds. The JobSet's controller must see
// its end. It recreates a Job that is deleted before.
const leastTTL = 60

// ttl returns the lifetime of finished Jobs and their Pods, or nil for no limit. It does not use
// the JobSet's own ttlSecondsAfterFinished. Trainer v2.3.0 recreates the deleted JobSet of a failed
// TrainJob (pkg/controller/trainjob_controller.go), and the job would run again.
func (c *conversion) ttl() *int32 {
	switch ttl := c.run.TTLSecondsAfterFinished; {
	case c.cleanPods() == kubeflow.CleanPodPolicyAll:
		return new(int32(leastTTL))
	case ttl != nil:
		return new(max(*ttl, leastTTL))
	}
	return nil
}

func (c *conversion) cleanPods() kubeflow.CleanPodPolicy {
	return ptr.Deref(c.run.CleanPodPolicy, kubeflow.CleanPodPolicyNone)
}

// checkRunPolicy reports the fields of the run policy that change or are lost.
func (c *conversion) checkRunPolicy() {
	run := fieldpath.Fields("spec", "runPolicy")
	c.checkRestarts()
	c.checkCleanPods(run)
	if s := c.run.ActiveDeadlineSeconds; s != nil {
		c.reportIf(*s < 1, "activeDeadlineSeconds", within(run, "activeDeadlineSeconds"), *s)
	}
	if b := c.run.BackoffLimit; b != nil {
		path, jobs := within(run, "backoffLimit"), c.jobs()
		if !c.reportIf(*b < 0, "backoffLimit", path, *b) {
			c.reportIf(jobs > 1, "backoffLimits", path, jobs, *b)
		}
	}
	if c.run.TTLSecondsAfterFinished != nil {
		rule := "ttl"
		if !c.anyEnds() {
			rule = "noTTL"
		}
		c.report(rule, within(run, "ttlSecondsAfterFinished"), *c.ttl())
	}
	if m := c.run.ManagedBy; m != nil {
		c.reportIf(*m != kubeflow.KubeflowJobsController && *m != kubeflow.MultiKueueController,
			"managedBy", within(run, "managedBy"), *m, kubeflow.KubeflowJobsController,
			kubeflow.MultiKueueController)
	}
}

// jobs returns the number of Jobs.
func (c *conversion) jobs() int {
	n := 0
	for _, r := range c.roles {
		if r.jobPerPod {
			n += int(r.count)
		} else {
			n++
		}
	}
	return n
}

func (c *conversion) anyEnds() bool {
	return slices.ContainsFunc(c.roles, c.ends)
}

// checkCleanPods reports changes in the deletion of Pods at the end of the job. JobSet v0.12.0
// deletes running Pods, like the policy Running.
func (c *conversion) checkCleanPods(run fieldpath.Path) {
	path := within(run, "cleanPodPolicy")
	switch clean := c.cleanPods(); {
	case clean == kubeflow.CleanPodPolicyRunning:
	case clean == kubeflow.CleanPodPolicyNone, clean == kubeflow.CleanPodPolicyUndefined:
		c.report("cleanNone", path)
	case clean != kubeflow.CleanPodPolicyAll:
		c.report("cleanPodPolicy", path, clean)
	case c.anyEnds():
		c.report("cleanAll", path, leastTTL)
	default:
		c.report("cleanRunning", path)
	}
}
