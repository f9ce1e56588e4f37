package upstream

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Typed is the object after it went through the typed API: upstream's apply configurations can hold
// empty values that the typed API cannot, and they say nothing. Owner references are left out.
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
		typed = &volcano.PodGroup{}
	case kind == "PodGroup":
		typed = &coscheduling.PodGroup{}
	default:
		return nil, fmt.Errorf("no type for %v of %s", kind, apiVersion)
	}
	if err := convert(object, typed); err != nil {
		return nil, err
	}
	out := Object{}
	if err := convert(typed, &out); err != nil {
		return nil, err
	}
	if metadata, ok := out["metadata"].(map[string]any); ok {
		delete(metadata, "ownerReferences")
	}
	return out, nil
}

// Diff lists where two sets of objects of the given kinds differ, a line each; "" when they are equal.
func Diff(want, got []Object, kinds []string) (string, error) {
	wanted, err := byName(want, kinds)
	if err != nil {
		return "", fmt.Errorf("upstream: %w", err)
	}
	made, err := byName(got, kinds)
	if err != nil {
		return "", fmt.Errorf("trainweld: %w", err)
	}
	var lines []string
	compare("", wanted, made, &lines)
	return strings.Join(lines, "\n"), nil
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
		id := fmt.Sprintf("%s %v %v/%v", kind, typed["apiVersion"], metadata["namespace"], metadata["name"])
		if _, twice := out[id]; twice {
			return nil, fmt.Errorf("%s is there twice", id)
		}
		mask(typed)
		out[id] = typed
	}
	return out, nil
}

// mask hides the keys that are made up anew each time, and keeps their names.
func mask(object Object) {
	if object["kind"] != "Secret" {
		return
	}
	data, _ := object["data"].(map[string]any)
	for name := range data {
		data[name] = "made up"
	}
}

func compare(path string, want, got any, lines *[]string) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		all := maps.Clone(w)
		maps.Copy(all, g)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			a, inWant := w[key]
			b, inGot := g[key]
			switch {
			case !inWant:
				*lines = append(*lines, fmt.Sprintf("  %s.%s: not upstream's: %s", path, key, text(b)))
			case !inGot:
				*lines = append(*lines, fmt.Sprintf("  %s.%s: missing: %s", path, key, text(a)))
			default:
				compare(path+"."+key, a, b, lines)
			}
		}
		return
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			for i := range w {
				compare(fmt.Sprintf("%s[%d]", path, i), w[i], g[i], lines)
			}
			return
		}
	}
	if a, b := text(want), text(got); a != b {
		*lines = append(*lines, fmt.Sprintf("  %s: upstream %s, trainweld %s", path, a, b))
	}
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
