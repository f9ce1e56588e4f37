package pipeline_test

import (
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/pipeline"
)

// TestIsDevice tells accelerators from other resources.
func TestIsDevice(t *testing.T) {
	for name, want := range map[string]bool{
		"nvidia.com/gpu": true, "amd.com/gpu": true, "nvidia.com/mig-1g.5gb": true,
		"gpu.intel.com/i915": true, "google.com/tpu": true,
		"cloud-tpus.google.com/v3": true, "aws.amazon.com/neuron": true,
		"aws.amazon.com/neuroncore": true, "habana.ai/gaudi": true,
		"huawei.com/npu": true, "nvidia.com/gpu.shared": true,
		"cpu": false, "gpu": false, "memory": false, "hugepages-2Mi": false,
		"rdma/hca_shared_devices": false, "vpc.amazonaws.com/efa": false,
		"example.com/input": false, "nvidia.com/gpumem": false, "kubernetes.io/gpu": false,
		"x.kubernetes.io/gpu": false, "": false,
	} {
		if got := pipeline.IsDevice(name); got != want {
			t.Errorf("IsDevice(%q) = %t, want %t", name, got, want)
		}
	}
}
