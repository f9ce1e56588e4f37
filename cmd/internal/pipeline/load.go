package pipeline

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render"
)

// Load counts the Pods of JobSets and their accelerators, as if no JobSet was suspended. Numbers have no limit.
type Load struct {
	Pods *big.Int
	// Devices are the requested accelerators by their resources, see IsDevice.
	Devices map[string]*big.Int
}

// LoadOf returns the load of a JobSet. It counts the Pods with which the Jobs start, and their requests by the scheduler's rule. A
// JobSet that cannot have Pods has no load.
func LoadOf(js *jobset.JobSet, companions []runtime.Object, opts render.PodsOptions) Load {
	load := Load{Pods: new(big.Int), Devices: map[string]*big.Int{}}
	opts.Companions = companions
	for i := range js.Spec.ReplicatedJobs {
		job := &js.Spec.ReplicatedJobs[i]
		opts.Job = job.Name
		counted := js
		if len(job.DependsOn) == 0 { // no other job decides about its Pods, and a count reads the whole JobSet
			alone := *js
			alone.Spec.ReplicatedJobs = js.Spec.ReplicatedJobs[i : i+1]
			counted = &alone
		}
		count, err := render.CountPods(counted, opts)
		if err != nil {
			continue // check reports it
		}
		pods := big.NewInt(count)
		load.Pods.Add(load.Pods, pods)
		for name, n := range devices(&corev1.Pod{Spec: job.Template.Spec.Template.Spec}) {
			load.add(name, n.Mul(n, pods))
		}
	}
	return load
}

func (l *Load) add(device string, n *big.Int) {
	if l.Devices[device] == nil {
		l.Devices[device] = new(big.Int)
	}
	l.Devices[device].Add(l.Devices[device], n)
}

// Add adds the load of another JobSet. The zero value is empty.
func (l *Load) Add(other Load) {
	if other.Pods == nil {
		return
	}
	if l.Pods == nil {
		*l = Load{Pods: new(big.Int), Devices: map[string]*big.Int{}}
	}
	l.Pods.Add(l.Pods, other.Pods)
	for _, name := range slices.Sorted(maps.Keys(other.Devices)) {
		l.add(name, other.Devices[name])
	}
}

// devices returns the accelerators that a Pod requests, by their resources.
func devices(pod *corev1.Pod) map[string]*big.Int {
	all := map[string]*big.Int{}
	for name, q := range render.Requests(&pod.Spec) {
		if IsDevice(string(name)) {
			all[string(name)] = big.NewInt(q.Value())
		}
	}
	return all
}

// IsDevice reports whether a resource counts accelerators. It is an extended resource with a part such as gpu, tpu, npu, gaudi or
// neuron in its name. Examples are nvidia.com/gpu, nvidia.com/mig-1g.5gb, gpu.intel.com/i915, google.com/tpu and
// aws.amazon.com/neuroncore.
func IsDevice(resource string) bool {
	domain, _, extended := strings.Cut(strings.ToLower(resource), "/")
	if !extended || domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
		return false
	}
	parts := strings.FieldsFunc(strings.ToLower(resource), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.ContainsFunc(parts, func(part string) bool {
		part = strings.TrimSuffix(part, "s")
		for _, end := range []string{"gpu", "tpu", "npu", "xpu"} {
			if strings.HasSuffix(part, end) {
				return true
			}
		}
		return slices.Contains([]string{"mig", "gaudi", "gaudi2", "gaudi3", "neuron", "neuroncore", "neurondevice"}, part)
	})
}

// podGPUs returns the number of accelerators that a Pod requests, of all resources.
func podGPUs(pod *corev1.Pod) int64 {
	sum := new(big.Int)
	for _, n := range devices(pod) {
		sum.Add(sum, n)
	}
	if !sum.IsInt64() {
		return math.MaxInt64
	}
	return sum.Int64()
}
