package release_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/render/release"
)

// TestParts wants a part for each difference between the definitions, or the stock runtimes, of two
// successive releases. It wants each part to have a difference.
func TestParts(t *testing.T) {
	known := release.Known()
	for _, s := range release.Switches() {
		if s.Parts == nil {
			continue
		}
		used := map[string]bool{}
		for i := range known[1:] {
			before, after := &known[i], &known[i+1]
			for _, place := range changed(t, s.ID, before, after) {
				p, found := s.Part(after.Name, place...)
				if !found {
					t.Errorf("%s: no part of %s has the change of %s", s.ID, after.Name,
						strings.Join(place, " "))
				}
				used[p.ID+" "+p.In] = true
			}
		}
		if s.ID == "jobset-definition" {
			continue // it shares the parts of definitions
		}
		seen := map[string]bool{}
		for _, p := range s.Parts {
			if name := p.ID + " " + p.In; seen[name] || !used[name] || p.Why == "" || p.Link == "" {
				t.Errorf("%s: part %s has no change, reason or link, or is there twice", s.ID, name)
			} else {
				seen[name] = true
			}
		}
	}
	if _, found := release.Switches()[0].Part("2.3", "TrainJob", "spec", "suspend"); found {
		t.Error("a field that does not change has a part")
	}
}

// changed returns the places that differ between two releases.
func changed(t *testing.T, id string, before, after *release.Release) [][]string {
	t.Helper()
	var places [][]string
	add := func(place []string) { places = append(places, slices.Clone(place)) }
	decode := func(text []byte, err error) (value map[string]any) {
		if err == nil {
			err = json.Unmarshal(text, &value)
		}
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	if id == "stock" {
		differences([]string{}, decode(before.Runtimes())["items"],
			decode(after.Runtimes())["items"], add)
		return places
	}
	of := map[string]string{"TrainJob": "TrainJob", "ClusterTrainingRuntime": "TrainingRuntime",
		"TrainingRuntime": "TrainingRuntime", "JobSet": "JobSet"}
	for kind, name := range of {
		schema := func(r *release.Release) map[string]any {
			crd := decode(r.Definition(kind))
			version := crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
			return version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
		}
		schemas([]string{name}, schema(before), schema(after), add)
	}
	return places
}

// schemas calls add for the places of the fields that differ between two schemas.
func schemas(place []string, before, after map[string]any, add func([]string)) {
	below := []string{"properties", "items", "additionalProperties"}
	own := func(schema map[string]any) map[string]any {
		out := map[string]any{}
		for key, value := range schema {
			if !slices.Contains(below, key) {
				out[key] = value
			}
		}
		return out
	}
	if !reflect.DeepEqual(own(before), own(after)) {
		add(place)
	}
	for _, key := range below[1:] {
		b, _ := before[key].(map[string]any)
		a, _ := after[key].(map[string]any)
		if b != nil && a != nil {
			schemas(place, b, a, add)
		}
	}
	b, _ := before["properties"].(map[string]any)
	a, _ := after["properties"].(map[string]any)
	for name := range b {
		if a[name] == nil {
			add(append(slices.Clone(place), name))
		}
	}
	for name := range a {
		at := append(slices.Clone(place), name)
		if b[name] == nil {
			add(at)
			continue
		}
		schemas(at, b[name].(map[string]any), a[name].(map[string]any), add)
	}
}

// differences calls add for the places of the values that differ. Items of a list go by their
// names, if they have any.
func differences(place []string, before, after any, add func([]string)) {
	b, isObject := before.(map[string]any)
	a, isToo := after.(map[string]any)
	if !isObject || !isToo {
		one, isList := before.([]any)
		other, isListToo := after.([]any)
		if b, a = byName(one), byName(other); !isList || !isListToo || b == nil || a == nil {
			if !reflect.DeepEqual(before, after) {
				add(place)
			}
			return
		}
	}
	for name := range b {
		if _, found := a[name]; !found {
			add(append(slices.Clone(place), name))
		}
	}
	for name := range a {
		at := append(slices.Clone(place), name)
		if _, found := b[name]; !found {
			add(at)
			continue
		}
		differences(at, b[name], a[name], add)
	}
}

func byName(list []any) map[string]any {
	out := map[string]any{}
	for _, item := range list {
		object, _ := item.(map[string]any)
		metadata, _ := object["metadata"].(map[string]any)
		name := object["name"]
		if name == nil {
			name = metadata["name"]
		}
		if name == nil {
			return nil
		}
		out[fmt.Sprint(name)] = object
	}
	return out
}
