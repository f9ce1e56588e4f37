package fuzz

import (
	"reflect"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// text returns a string for the place. Merge keys come from long alphabets whose first letters are
// by far the likeliest. Every other string comes from a short alphabet.
func (s *source) text(t reflect.Type, at site) string {
	if strings.HasPrefix(at.field, "key of ") {
		switch t {
		case reflect.TypeFor[corev1.ResourceName]():
			return pick(s, "cpu", "memory", "storage")
		}
		if !s.checked && s.chance(0.01) {
			return ""
		}
		return "k" + s.digit(3)
	}
	if at.field != "" && mergeKeys[at.parent] == at.field {
		return s.key(at)
	}
	switch at.field {
	case "value":
		return pick(s, "", "x", "x", "y", "$(E1)")
	case "finalizers":
		return "f.example/" + s.digit(4)
	}
	if strings.HasPrefix(at.field, "value of ") {
		return pick(s, "", "x", "x", "y")
	}
	return pick(s, "", "x", "x", "y", "y", "z")
}

// key returns the value of a merge key. Without tidiness it is sometimes empty. The encoding may
// then omit it, and with it the item's identity.
func (s *source) key(at site) string {
	empty := 0.02
	if s.tidy {
		empty = 0 // even for a pull secret, where the check accepts one: the merge may fail on it
	}
	if s.chance(empty) {
		return ""
	}
	switch at.parent {
	case reflect.TypeFor[jobset.ReplicatedJob](), reflect.TypeFor[trainer.ReplicatedJobPatch](),
		reflect.TypeFor[jobset.DependsOn]():
		if s.chance(0.6) {
			return pick(s, "node", "launcher", "dataset-initializer", "model-initializer")
		}
		return "job-" + s.digit(9)
	case reflect.TypeFor[corev1.Container](), reflect.TypeFor[trainer.ContainerPatch]():
		if s.chance(0.25) {
			return pick(s, "node", "dataset-initializer", "model-initializer")
		}
		return "c" + s.digit(9)
	case reflect.TypeFor[corev1.EnvVar]():
		return "E" + s.digit(9)
	case reflect.TypeFor[corev1.VolumeMount]():
		return "/m" + s.digit(9)
	case reflect.TypeFor[corev1.Volume]():
		return "v" + s.digit(9)
	}
	return "n" + s.digit(9)
}

// digit returns a number up to n, mostly 1 or 2.
func (s *source) digit(n int) string {
	if s.spread {
		return strconv.Itoa(1 + s.rng.IntN(n))
	}
	further := 0.55
	if s.theme != nil {
		further = 0.3
	}
	i := 1
	for i < n && s.chance(further) {
		i++
	}
	return strconv.Itoa(i)
}
