package pipeline

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/render"
)

// IsDevice reports whether a resource counts accelerators. It is an extended resource with a part
// such as gpu, tpu, npu, gaudi or neuron in its name. Examples are nvidia.com/gpu,
// nvidia.com/mig-1g.5gb, gpu.intel.com/i915, google.com/tpu and aws.amazon.com/neuroncore.
func IsDevice(resource string) bool {
	domain, _, extended := strings.Cut(strings.ToLower(resource), "/")
	if !extended || domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
		return false
	}
	parts := strings.FieldsFunc(strings.ToLower(resource), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return slices.ContainsFunc(parts, func(part string) bool {
		part = strings.TrimSuffix(part, "s")
		for _, end := range []string{"gpu", "tpu", "npu", "xpu"} {
			if strings.HasSuffix(part, end) {
				return true
			}
		}
		return slices.Contains(
			[]string{"mig", "gaudi", "gaudi2", "gaudi3", "neuron", "neuroncore", "neurondevice"},
			part)
	})
}

// podGPUs returns the number of accelerators that a Pod requests, of all resources.
func podGPUs(pod *corev1.Pod) int64 {
	sum := new(big.Int)
	for name, q := range render.Requests(&pod.Spec) {
		if IsDevice(string(name)) {
			sum.Add(sum, big.NewInt(q.Value()))
		}
	}
	if !sum.IsInt64() {
		return math.MaxInt64
	}
	return sum.Int64()
}
