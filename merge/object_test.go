package merge_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestObject_Invalid shows which objects a plan rejects, and why.
func TestObject_Invalid(t *testing.T) {
	plan := objectPlan(specSchema)
	cyclic := map[string]any{}
	cyclic["x"] = cyclic
	same := make([]any, 100_000)
	for i := range same {
		same[i] = map[string]any{"port": int64(80)}
	}
	for name, test := range map[string]struct {
		spec any
		want string
	}{
		"a number for a string": {map[string]any{"name": int64(1)},
			`.spec.name: must be a string, and is a number`},
		"a list for an object": {map[string]any{"resources": []any{}},
			`.spec.resources: must be an object, and is a list`},
		"an object for a list": {map[string]any{"args": map[string]any{}},
			`.spec.args: must be a list, and is an object`},
		"an unknown field": {
			map[string]any{"nmae": "x"}, `.spec.nmae: the definition has no such field`},
		"NaN": {map[string]any{"replicas": math.NaN()},
			`.spec.replicas: must be an integer, and is a number`},
		"a Go value": {map[string]any{"args": []string{"x"}},
			`.spec.args: must be JSON, and is []string`},
		"an item twice": {
			map[string]any{"ports": same},
			`.spec.ports[port=80,protocol="TCP"]: duplicate: a patch names an item once`},
		"an element twice": {map[string]any{"tags": []any{"x", "y", "x"}},
			`.spec.tags[="x"]: duplicate: a patch names an item once`},
		"an element that is none": {map[string]any{"tags": []any{nil}},
			`.spec.tags[0]: must be a scalar, as an element of a set, and is null`},
		"an item that is null": {map[string]any{"ports": []any{nil}},
			`.spec.ports[0]: must be an object, and is null`},
		"within an atomic": {map[string]any{"args": []any{"x", true}},
			`.spec.args[1]: must be a string, and is a boolean`},
		"within an item": {
			map[string]any{"ports": []any{map[string]any{"port": int64(1), "name": true}}},
			`.spec.ports[port=1,protocol="TCP"].name: must be a string, and is a boolean`},
		"no end":    {map[string]any{"values": cyclic}, `nests more than 10000 deep`},
		"no object": {"text", `.spec: must be an object, and is a string`},
	} {
		_, err := plan.Apply(&merge.Object{"spec": merge.Object{}},
			[]merge.Patch{{Manager: "a", Value: &merge.Object{"spec": test.spec}}})
		var rejected *merge.PatchError
		if !errors.As(err, &rejected) || rejected.Owner != merge.Manager("a") ||
			rejected.Index != 0 {
			t.Errorf("%s: %v", name, err)
		} else if got := rejected.Path.String() + ": " + rejected.Err.Error(); !strings.HasSuffix(
			got, test.want) {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
		if name == "an item twice" || name == "an element twice" {
			continue // a base may hold them
		}
		_, err = plan.Apply(&merge.Object{"spec": test.spec}, nil)
		if !errors.As(err, &rejected) || rejected.Owner != merge.BaseLayer || rejected.Index != -1 {
			t.Errorf("%s in the base: %v", name, err)
		}
	}
	base, patch := &merge.Object{"kind": "A"}, &merge.Object{"kind": "B"}
	_, err := plan.Apply(base, []merge.Patch{{Manager: "a", Value: patch}})
	if want := `patch of manager/a: .kind: must be "A", as in the base, and is "B"`; err == nil ||
		err.Error() != want {
		t.Errorf("another kind: got %v, want %s", err, want)
	}
}

// TestObjectWrite records what later layers write.
func TestObjectWrite(t *testing.T) {
	base := exactObject(
		`{"spec": {"replicas": 1, "name": "x", "labels": {"x": "1"}, "ports": [{"port": 80}, {"port": 81}], "tags": ["x"], "resources": {"cpu": 1}}}`)
	result := applied(t, objectPlan(specSchema), &base,
		patchesOf(exactObject, `a {"spec": {"replicas": 2}}`))
	spec := result.Value["spec"].(map[string]any)
	before := spec
	now := map[string]any{"replicas": int64(3), "labels": map[string]any{"x": "1", "y": "2"},
		"ports": spec["ports"].([]any)[:1], "tags": []any{"x", "y"}}
	result.History.Within(fieldpath.Fields("spec")).Record("later", before, now, nil)
	result.Value["spec"] = now
	port, _ := fieldpath.ParsePath(`spec.ports[port=80,protocol="TCP"].name`)
	result.History.Within(port).Record("last", nil, "web", nil)
	now["ports"].([]any)[0].(map[string]any)["name"] = "web"
	want := []string{
		`.spec.labels["x"] base="1"`,
		`.spec.labels["y"] later="2"`,
		`.spec.name base="x" later=null`,
		`.spec.ports[port=80,protocol="TCP"] base=present`,
		`.spec.ports[port=80,protocol="TCP"].name last="web"`,
		`.spec.ports[port=80,protocol="TCP"].port base=80`,
		`.spec.ports[port=81,protocol="TCP"] base=present later=null`,
		`.spec.ports[port=81,protocol="TCP"].port base=81 later=null`,
		`.spec.replicas base=1 a=2 later=3`,
		`.spec.resources.cpu base=1 later=null`,
		`.spec.tags[="x"] base=present`,
		`.spec.tags[="y"] later=present`,
	}
	if d := cmp.Diff(want, claimsOf(result.History)); d != "" {
		t.Errorf("claims (-want +got):\n%s", d)
	}
	if conflicts := conflict.Find(result.History); conflicts != nil {
		t.Errorf("one manager disagrees with itself: %v", conflicts)
	}
}

// TestApply_Duplicates checks that patches to a list of the base report each merge key that its
// items share, once.
func TestApply_Duplicates(t *testing.T) {
	plan := must(planFor[corev1.Service](schema.Rules{}))
	base := corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Port: 53, Protocol: "UDP"}, {Port: 53, Protocol: "TCP"}, {Port: 80},
		{Port: 53, Protocol: "SCTP"},
	}}}
	ports := func(port int32) *corev1.Service {
		return &corev1.Service{
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: port, Name: "a"}}}}
	}
	same := fieldpath.Fields("spec", "ports").Append(fieldpath.Item("port", "53"))
	for _, tc := range []struct {
		reason  string
		patches []*corev1.Service
		want    []fieldpath.Path
	}{
		{"two patches to the list", []*corev1.Service{ports(53), ports(80)},
			[]fieldpath.Path{same}},
		{"a patch to another field",
			[]*corev1.Service{{Spec: corev1.ServiceSpec{ClusterIP: "None"}}}, nil},
	} {
		var patches []merge.Patch
		for _, patch := range tc.patches {
			patches = append(patches, merge.Patch{Manager: "a", Value: patch})
		}
		result := applied(t, plan, &base, patches)
		if !reflect.DeepEqual(notePaths(result.Notes, merge.Duplicate), tc.want) {
			t.Errorf("%s: Duplicates = %v, want %v", tc.reason,
				notePaths(result.Notes, merge.Duplicate), tc.want)
		}
	}
}

// TestObjectEdges merges patches that set nothing, and values as deep and as wide as allowed.
func TestObjectEdges(t *testing.T) {
	uncompiled := planForObject(nil)
	if _, err := uncompiled.Apply(nil, nil); err == nil || uncompiled.Type() != nil {
		t.Errorf("the plan of no type merges: %v", err)
	}
	values := must(planForAny(reflect.TypeFor[document](), schema.Rules{}))
	if _, err := planForObject(values.Type()).Apply(nil, nil); err == nil {
		t.Error("the plan of a Go type merges objects")
	}
	plan := planForJSON()
	var nothing merge.Object
	wide := merge.Object{}
	for i := range 10_001 {
		wide[strconv.Itoa(i)] = int64(i)
	}
	wide["l"] = slices.Repeat([]any{"x"}, 10_001)
	nested := func(levels int) *merge.Object {
		o := merge.Object{}
		for range levels {
			o = merge.Object{"x": o}
		}
		return &o
	}
	for _, test := range []struct {
		reason      string
		base, patch *merge.Object
		want        *merge.Object
	}{
		{"no patch", &wide, nil, &wide},
		{"a nil patch", &wide, &nothing, &wide},
		{"a nil base", &nothing, &wide, &wide},
		{"10,000 levels in a patch", nil, nested(10_000), nested(10_000)},
		{"9,999 levels in a base", nested(9_999), nil, nested(9_999)},
		{"10,001 levels in a patch", nil, nested(10_001), nil},
		{"10,000 levels in a base", nested(10_000), nil, nil},
		{"10,001 levels in both", nested(9_999), nested(10_001), nil},
	} {
		result, err := plan.Apply(test.base, []merge.Patch{{Manager: "a", Value: test.patch}})
		switch {
		case test.want == nil &&
			(err == nil || !strings.HasSuffix(err.Error(), "nests more than 10000 deep")):
			t.Errorf("%s: %v", test.reason, err)
		case test.want != nil && err != nil:
			t.Errorf("%s: %v", test.reason, err)
		case test.want != nil && !reflect.DeepEqual(result.Value, *test.want):
			t.Errorf("%s: another value", test.reason)
		}
	}
}
