package pipeline_test

import (
	"fmt"
	"math/big"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/render"
)

// TestIsDevice tells accelerators from other resources.
func TestIsDevice(t *testing.T) {
	for name, want := range map[string]bool{
		"nvidia.com/gpu": true, "amd.com/gpu": true, "nvidia.com/mig-1g.5gb": true, "gpu.intel.com/i915": true, "google.com/tpu": true,
		"cloud-tpus.google.com/v3": true, "aws.amazon.com/neuron": true, "aws.amazon.com/neuroncore": true, "habana.ai/gaudi": true,
		"huawei.com/npu": true, "nvidia.com/gpu.shared": true,
		"cpu": false, "gpu": false, "memory": false, "hugepages-2Mi": false, "rdma/hca_shared_devices": false, "vpc.amazonaws.com/efa": false,
		"example.com/input": false, "nvidia.com/gpumem": false, "kubernetes.io/gpu": false, "x.kubernetes.io/gpu": false, "": false,
	} {
		if got := pipeline.IsDevice(name); got != want {
			t.Errorf("IsDevice(%q) = %t, want %t", name, got, want)
		}
	}
}

// gpus returns a container that requests or limits a number of GPUs.
func gpus(n string, limit bool) corev1.Container {
	list := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(n)}
	if limit {
		return corev1.Container{Resources: corev1.ResourceRequirements{Limits: list}}
	}
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: list}}
}

// TestLoadOf counts Pods and accelerators by the scheduler's rule.
func TestLoadOf(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	sidecar := gpus("1", true)
	sidecar.RestartPolicy = &always
	for _, tc := range []struct {
		reason         string
		replicas, pods int32
		spec           corev1.PodSpec
		want           string
	}{
		{"no accelerators", 2, 3, corev1.PodSpec{}, "6 <nil>"},
		{"limits without requests", 1, 4, corev1.PodSpec{Containers: []corev1.Container{gpus("8", true)}}, "4 32"},
		{"containers add up", 1, 2, corev1.PodSpec{Containers: []corev1.Container{gpus("2", false), gpus("1", true)}}, "2 6"},
		{"init containers do not", 1, 1, corev1.PodSpec{InitContainers: []corev1.Container{gpus("4", true), gpus("3", true)}, Containers: []corev1.Container{gpus("2", true)}}, "1 4"},
		{"sidecars do", 1, 1, corev1.PodSpec{InitContainers: []corev1.Container{sidecar}, Containers: []corev1.Container{gpus("2", true)}}, "1 3"},
		{"many Pods", 2_000_000_000, 2_000_000_000, corev1.PodSpec{Containers: []corev1.Container{gpus("8", true)}}, "4000000000000000000 32000000000000000000"},
	} {
		js := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{{
			Name: "node", Replicas: tc.replicas,
			Template: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Parallelism: ptr.To(tc.pods), Completions: ptr.To(tc.pods), Template: corev1.PodTemplateSpec{Spec: tc.spec}}},
		}}}}
		load := pipeline.LoadOf(js, nil, render.PodsOptions{})
		if got := fmt.Sprint(load.Pods, load.Devices["nvidia.com/gpu"]); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
		}
	}
	var sum pipeline.Load
	sum.Add(pipeline.Load{})
	sum.Add(pipeline.Load{Pods: big.NewInt(2), Devices: map[string]*big.Int{"nvidia.com/gpu": big.NewInt(3)}})
	sum.Add(sum)
	if got, want := fmt.Sprint(sum.Pods, sum.Devices), "4 map[nvidia.com/gpu:6]"; got != want {
		t.Errorf("the sum is %s, want %s", got, want)
	}
}
