package schema_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestType_Unchanged holds that a type never changes: neither when several goroutines read it and
// merge by it, nor when another type is compiled from the same Go type.
func TestType_Unchanged(t *testing.T) {
	pod := reflect.TypeFor[corev1.Pod]()
	compiled, err := schema.Compile(pod, pod, schema.PodRules(pod))
	if err != nil {
		t.Fatal(err)
	}
	definition, err := schema.ParseOpenAPI([]byte(`{type: object, properties: {spec: {type: object,
		properties: {containers: {type: array, x-kubernetes-list-type: map,
			x-kubernetes-list-map-keys: [name], items: {type: object, required: [name],
			properties: {name: {type: string}, image: {type: string}}}},
		nodeSelector: {type: object, additionalProperties: {type: string}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	patches := []merge.Patch{
		{Manager: "a", Value: merge.Object{"spec": merge.Object{
			"containers":   []any{merge.Object{"name": "b", "image": "x"}},
			"nodeSelector": merge.Object{"pool": "a"}}}},
		{Manager: "b", Value: merge.Object{"spec": merge.Object{
			"containers":   []any{merge.Object{"name": "b", "image": "y"}},
			"nodeSelector": nil}}},
	}
	base := merge.Object{"spec": merge.Object{"containers": []any{merge.Object{"name": "a"}}}}
	type mergeBy = func(*schema.Type, merge.Object, []merge.Patch,
		...merge.Option) (*merge.Result[merge.Object], error)
	for name, tc := range map[string]struct {
		of    *schema.Type
		merge mergeBy
	}{"a Go type": {compiled, merge.StrategicObject}, "a definition": {definition, merge.Apply}} {
		before := shapeOf(tc.of)
		if strings.Count(before, "\n") < 30 {
			t.Fatalf("%s: the shape of the type is too short:\n%s", name, before)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Add(1)
			go func() {
				defer all.Done()
				tc.of.Sorted()
				_, _ = tc.of.Resolve(fieldpath.Fields("spec", "containers", "image"))
				_, _ = tc.of.Resolve(fieldpath.Fields("spec", "container"))
				result, err := tc.merge(tc.of, base, patches, merge.First())
				if err != nil {
					t.Error(err)
					return
				}
				if conflict.Find(result.History) == nil {
					t.Errorf("%s: no conflict is found", name)
				}
			}()
		}
		all.Wait()
		only := schema.Rules{Only: map[string][]string{"spec": {"nodeSelector"}}}
		if _, err := schema.Compile(pod, pod, only); err != nil {
			t.Fatal(err)
		}
		if after := shapeOf(tc.of); after != before {
			t.Errorf("%s changes from\n%s\nto\n%s", name, before, after)
		}
	}
}

// shapeOf returns all that a type holds, also where no method shows it, with each part once.
func shapeOf(of *schema.Type) string {
	var b strings.Builder
	seen := map[uintptr]int{}
	var write func(v reflect.Value, name string)
	write = func(v reflect.Value, name string) {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() || seen[v.Pointer()] > 0 {
				fmt.Fprintf(&b, "%s: part %d\n", name, seen[v.Pointer()])
				return
			}
			seen[v.Pointer()] = len(seen) + 1
			write(v.Elem(), name)
		case reflect.Struct:
			for i := range v.NumField() {
				write(v.Field(i), name+"."+v.Type().Field(i).Name)
			}
		case reflect.Slice:
			for i := range v.Len() {
				write(v.Index(i), fmt.Sprintf("%s[%d]", name, i))
			}
		default:
			fmt.Fprintf(&b, "%s: %v\n", name, v)
		}
	}
	write(reflect.ValueOf(of), "")
	return b.String()
}
