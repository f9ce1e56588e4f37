package trainingoperator_test

import (
	"slices"
	"testing"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/util/train"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/legacy/trainingjob"
)

// TestExitCodes asks the operator of every exit code whether ExitCode tries again, and wants of the new Job the
// same: its podFailurePolicy fails it, or the Pod is made anew.
func TestExitCodes(t *testing.T) {
	job := &kubeflow.JAXJob{}
	job.Name = "mine"
	job.Spec.JAXReplicaSpecs = map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec{kubeflow.JAXJobReplicaTypeWorker: {RestartPolicy: kubeflow.RestartPolicyExitCode}}
	pod := &job.Spec.JAXReplicaSpecs[kubeflow.JAXJobReplicaTypeWorker].Template.Spec
	pod.Containers = []corev1.Container{{Name: "jax", Image: "i"}}
	result, findings := trainingjob.Convert(job, trainingjob.Options{})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	spec := result.Runtime.Spec.Template.Spec.ReplicatedJobs[0].Template.Spec
	if spec.Template.Spec.RestartPolicy != corev1.RestartPolicyNever || *spec.BackoffLimit == 0 {
		t.Fatalf("restart policy %s, backoff limit %d: the Job controller does not make Pods anew", spec.Template.Spec.RestartPolicy, *spec.BackoffLimit)
	}
	for code := int32(1); code < 256; code++ {
		if again, want := !fails(spec.PodFailurePolicy, "node", code), train.IsRetryableExitCode(code); again != want {
			t.Errorf("exit code %d: tried again %v, want %v", code, again, want)
		}
	}
}

// fails tells whether a Job fails at once when the container exits with the code (k8s.io/api/batch/v1,
// PodFailurePolicy: the first rule that matches).
func fails(policy *batchv1.PodFailurePolicy, container string, code int32) bool {
	for _, rule := range policy.Rules {
		on := rule.OnExitCodes
		if on == nil || on.ContainerName != nil && *on.ContainerName != container {
			continue
		}
		if in := slices.Contains(on.Values, code); in == (on.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
			return rule.Action == batchv1.PodFailurePolicyActionFailJob
		}
	}
	return false
}
