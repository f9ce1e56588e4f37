package fuzz

import (
	"reflect"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// text is a string for the place. The names that lists are merged by come from long alphabets, of
// which the first letters are by far the likeliest; every other string from a short one.
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

// key is the value of a merge key. Without tidiness an empty one comes now and then: encoded it may
// vanish, and with it the item's identity.
func (s *source) key(at site) string {
	empty := 0.02
	if s.tidy {
		empty = 0 // also where the check lets one pass, a pull secret: the merge may fail on it
	}
	if s.chance(empty) {
		return ""
	}
	switch at.parent {
	case reflect.TypeFor[jobset.ReplicatedJob](), reflect.TypeFor[trainer.ReplicatedJobPatch](), reflect.TypeFor[jobset.DependsOn]():
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

// digit is mostly a 1 or a 2, and at most n.
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
