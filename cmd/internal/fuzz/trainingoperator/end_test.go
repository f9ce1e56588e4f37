package trainingoperator_test

import (
	"slices"
	"testing"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/util/train"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/fuzz/trainingoperator"
	"github.com/trainweld/trainweld/cmd/internal/trainingjob"
)

// TestEnd lets some or all Pods of generated jobs succeed. It checks that the JobSet is done when
// the operator reports the job as done.
func TestEnd(t *testing.T) {
	compared := map[string]int{}
	for number := range uint64(300) {
		job := newJob(number)
		result, _ := trainingjob.Convert(job, trainingjob.Options{})
		if result == nil {
			continue
		}
		old, err := trainingoperator.Run(job, nil)
		if err != nil {
			t.Fatal(err)
		}
		if kind := typeName(job); kind == "*v1.JAXJob" || kind == "*v1.TFJob" || !leads(old.Pods) {
			continue
		}
		now, _, err := renderPods(result)
		if err != nil {
			t.Fatal(err)
		}
		types := []kubeflow.ReplicaType{old.Pods[0].Type, old.Pods[len(old.Pods)-1].Type}
		for scenario, succeeds := range []func(trainingoperator.Pod) bool{
			func(trainingoperator.Pod) bool { return false },
			func(p trainingoperator.Pod) bool { return p.Type == types[0] },
			func(p trainingoperator.Pod) bool { return p.Type == types[1] },
			func(p trainingoperator.Pod) bool { return p.Type == types[0] && p.Index == 0 },
			func(p trainingoperator.Pod) bool { return p.Type == types[1] && p.Index == 0 },
			func(trainingoperator.Pod) bool { return true },
		} {
			counts, pods := map[kubeflow.ReplicaType]int32{}, []*corev1.Pod{}
			for i, pod := range old.Pods {
				if succeeds(pod) {
					counts[pod.Type]++
					pods = append(pods, now[i])
				}
			}
			want, err := trainingoperator.Succeeded(job, counts)
			if err != nil {
				t.Fatal(err)
			}
			if got := done(&result.Runtime.Spec.Template.Spec, now, pods); got != want {
				t.Errorf("job %d, a %T, scenario %d, %v succeeded: done is %v, want %v", number,
					job, scenario, counts, got, want)
			}
			compared[typeName(job)]++
		}
	}
	if len(compared) != 4 {
		t.Errorf("compared %v: want jobs of four kinds", compared)
	}
}

// leads reports whether the end of some Pod ends the job.
func leads(pods []trainingoperator.Pod) bool {
	return slices.ContainsFunc(pods, func(p trainingoperator.Pod) bool {
		return p.Type == "Master" || p.Type == "Launcher"
	})
}

// done reports whether a JobSet is done when Pods have succeeded. The JobSet is done when its
// target jobs, or all its jobs, are done. A job is done when a rule of its successPolicy matches,
// or all its Pods have succeeded.
func done(spec *jobset.JobSetSpec, all, succeeded []*corev1.Pod) bool {
	jobs := map[string]bool{}
	for _, rjob := range spec.ReplicatedJobs {
		of := func(pods []*corev1.Pod) (n int, first bool) {
			for _, pod := range pods {
				if pod.Labels["jobset.sigs.k8s.io/replicatedjob-name"] == rjob.Name {
					n++
					first = first || pod.Labels["batch.kubernetes.io/job-completion-index"] == "0"
				}
			}
			return n, first
		}
		total, _ := of(all)
		n, first := of(succeeded)
		complete := n == total
		if policy := rjob.Template.Spec.SuccessPolicy; policy != nil {
			for _, rule := range policy.Rules {
				complete = complete || rule.SucceededIndexes != nil && first ||
					rule.SucceededCount != nil && n >= int(*rule.SucceededCount)
			}
		}
		jobs[rjob.Name] = complete
	}
	for name, complete := range jobs {
		if p := spec.SuccessPolicy; !complete &&
			(p == nil || len(p.TargetReplicatedJobs) == 0 ||
				slices.Contains(p.TargetReplicatedJobs, name)) {
			return false
		}
	}
	return true
}

// TestExitCodes asks the operator for every exit code whether ExitCode tries again. The new Job
// must do the same: its podFailurePolicy fails it, or the Pod is made again.
func TestExitCodes(t *testing.T) {
	job := &kubeflow.JAXJob{}
	job.Name = "mine"
	job.Spec.JAXReplicaSpecs = map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec{
		kubeflow.JAXJobReplicaTypeWorker: {RestartPolicy: kubeflow.RestartPolicyExitCode}}
	pod := &job.Spec.JAXReplicaSpecs[kubeflow.JAXJobReplicaTypeWorker].Template.Spec
	pod.Containers = []corev1.Container{{Name: "jax", Image: "i"}}
	result, findings := trainingjob.Convert(job, trainingjob.Options{})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	spec := result.Runtime.Spec.Template.Spec.ReplicatedJobs[0].Template.Spec
	if spec.Template.Spec.RestartPolicy != corev1.RestartPolicyNever || *spec.BackoffLimit == 0 {
		t.Fatalf("restart policy %s, backoff limit %d: the Job controller does not make Pods again",
			spec.Template.Spec.RestartPolicy, *spec.BackoffLimit)
	}
	for code := int32(1); code < 256; code++ {
		if again, want := !fails(spec.PodFailurePolicy, "node", code),
			train.IsRetryableExitCode(code); again != want {
			t.Errorf("exit code %d: tried again %v, want %v", code, again, want)
		}
	}
}

// fails reports whether a Job fails at once when the container exits with the code. The first rule
// that matches decides (PodFailurePolicy of k8s.io/api/batch/v1).
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
