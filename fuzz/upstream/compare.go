package upstream

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/oracle"
)

// Typed returns the object after a pass through the typed API. Upstream's apply configurations can
// hold empty values that the typed API cannot, and that have no effect. Typed omits owner
// references.
func Typed(object Object) (Object, error) {
	var typed any
	apiVersion, _ := object["apiVersion"].(string)
	switch kind := object["kind"]; {
	case kind == "JobSet":
		typed = &jobset.JobSet{}
	case kind == "ConfigMap":
		typed = &corev1.ConfigMap{}
	case kind == "Secret":
		typed = &corev1.Secret{}
	case kind == "PodGroup" && strings.HasPrefix(apiVersion, volcano.GroupName+"/"):
		typed = &Object{} // the Go type omits a minMember of 0, which upstream sends
	case kind == "PodGroup":
		typed = &coscheduling.PodGroup{}
	default:
		return nil, fmt.Errorf("no type for %v of %s", kind, apiVersion)
	}
	if err := oracle.Convert(object, typed); err != nil {
		return nil, err
	}
	out := Object{}
	if err := oracle.Convert(typed, &out); err != nil {
		return nil, err
	}
	if metadata, ok := out["metadata"].(map[string]any); ok {
		delete(metadata, "ownerReferences")
	}
	return out, nil
}

// Diff returns the differences between two sets of objects of the given kinds, with a minus before
// upstream's lines. It returns "" if they are equal.
func Diff(want, got []Object, kinds []string) (string, error) {
	wanted, made, err := bothByName(want, got, kinds)
	return cmp.Diff(wanted, made), err
}

// Differing returns the number of values in which they differ.
func Differing(want, got []Object, kinds []string) (int, error) {
	wanted, made, err := bothByName(want, got, kinds)
	return fuzz.Differing(wanted, made), err
}

func bothByName(want, got []Object, kinds []string) (wanted, made map[string]any, err error) {
	if wanted, err = byName(want, kinds); err != nil {
		return nil, nil, fmt.Errorf("upstream: %w", err)
	}
	if made, err = byName(got, kinds); err != nil {
		return nil, nil, fmt.Errorf("trainweld: %w", err)
	}
	return wanted, made, nil
}

func byName(objects []Object, kinds []string) (map[string]any, error) {
	out := map[string]any{}
	for _, object := range objects {
		kind, _ := object["kind"].(string)
		if !slices.Contains(kinds, kind) {
			continue
		}
		typed, err := Typed(object)
		if err != nil {
			return nil, err
		}
		metadata, _ := typed["metadata"].(map[string]any)
		id := fmt.Sprintf("%s %v %v/%v", kind, typed["apiVersion"], metadata["namespace"],
			metadata["name"])
		if _, twice := out[id]; twice {
			return nil, fmt.Errorf("%s is there twice", id)
		}
		mask(typed)
		out[id] = typed
	}
	return out, nil
}

// mask hides the values that are generated at random, and keeps their names.
func mask(object Object) {
	if object["kind"] != "Secret" {
		return
	}
	data, _ := object["data"].(map[string]any)
	for name := range data {
		data[name] = "made up"
	}
}
