package conflict_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestForce_Object holds the remaining patches and decisions for patches that are objects, or every
// other one a pointer to one.
func TestForce_Object(t *testing.T) {
	for _, tc := range casefile.Table[struct {
		Name      string
		Patches   []string
		Force     []string
		Want      []string
		Decisions []string
	}](t, "testdata/forced.yaml") {
		t.Run(tc.Name, func(t *testing.T) {
			patches := objectPatches(t, tc.Patches...)
			for i := range patches {
				if object, isPointer := patches[i].Value.(*merge.Object); isPointer && i%2 == 0 {
					patches[i].Value = *object
				}
			}
			before := textsOf(patches)
			left, decisions, err := conflict.Force(merging(&boxed{}), patches, tc.Force...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.Want, textsOf(left)); diff != "" {
				t.Errorf("Force() (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, textsOf(patches)); diff != "" {
				t.Errorf("Force() changes its input (-want +got):\n%s", diff)
			}
			var got []string
			for _, d := range decisions {
				got = append(
					got, fmt.Sprintf("%s over %s", d.Conflict.Path,
						strings.Join(conflict.Conflict{Claims: d.Lost}.Managers(), " ")))
			}
			if diff := cmp.Diff(tc.Decisions, got); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
			if result, err := merge.Strategic(&boxed{}, left); err != nil ||
				len(conflict.Find(result.History)) > 0 {
				t.Errorf("conflicts remain: %v", err)
			}
		})
	}
}

// TestForce_Lost wants every claim that lost in a decision, also if several lie within one field.
func TestForce_Lost(t *testing.T) {
	_, decisions, err := conflict.Force(merging(&boxed{}),
		objectPatches(t, `{"box": {"a": "x", "b": "y"}}`, `{"box": null}`), "m1")
	if err != nil || len(decisions) != 1 {
		t.Fatalf("%v %v", decisions, err)
	}
	want := []merge.Claim{{Owner: merge.Manager("m0"), Value: "x"},
		{Owner: merge.Manager("m0"), Value: "y"}}
	if diff := cmp.Diff(want, decisions[0].Lost,
		cmpopts.IgnoreFields(merge.Claim{}, "At")); diff != "" {
		t.Errorf("Lost (-want +got):\n%s", diff)
	}
}

// TestForce_Several checks two patches of one manager. The first one loses the forced fields, and
// the second one stays as it is.
func TestForce_Several(t *testing.T) {
	for _, tc := range []struct{ winner, first, second, left string }{
		{`{"box": {"a": "x"}}`, `{"box": {"a": "y"}}`, `{"box": {}}`, `{}`},
		{`{"box": {"inner": {"a": "x"}}}`, `{"box": {"inner": {"a": "y"}, "b": "z"}}`,
			`{"box": {"inner": {}}}`, `{"box":{"b":"z"}}`},
		{`{"labels": {"a": "x"}}`, `{"labels": {"a": "y", "b": "z"}}`, `{"labels": {}}`,
			`{"labels":{"b":"z"}}`},
		{`{"items": [{"id": 1, "out": "x"}]}`, `{"items": [{"id": 1, "out": "y"}]}`,
			`{"items": [{"id": 2, "out": "y"}]}`, `{"items":[{"id":1}]}`},
		{`{"items": [{"id": 1, "box": {"a": "x"}}]}`, `{"items": [{"id": 1, "box": {"a": "y"}}]}`,
			`{"items": [{"id": 1, "box": {}}]}`, `{"items":[{"id":1}]}`},
	} {
		patches := objectPatches(t, tc.winner, tc.first, tc.second)
		patches[2].Manager = patches[1].Manager
		want := textsOf(patches)
		want[1] = tc.left
		left, _, err := conflict.Force(merging(&boxed{}), patches, "m0")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, textsOf(left)); diff != "" {
			t.Errorf("Force() (-want +got):\n%s", diff)
		}
	}
}

// TestForce_Keys takes a field from an item of several keys, one of which has a default.
func TestForce_Keys(t *testing.T) {
	root, err := schema.ParseOpenAPI([]byte(`{"type": "object", "properties": {"ports": {
		"type": "array", "x-kubernetes-list-type": "map",
		"x-kubernetes-list-map-keys": ["port", "protocol"],
		"items": {"type": "object", "properties": {"port": {"type": "integer"},
			"protocol": {"type": "string", "default": "TCP"}, "name": {"type": "string"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	left, decisions, err := conflict.Force(func(patches []merge.Patch) (*merge.History, error) {
		result, err := merge.Apply(root, nil, patches)
		if err != nil {
			return nil, err
		}
		return result.History, nil
	}, objectPatches(t, `{"ports": [{"port": 80, "protocol": "TCP", "name": "x"}]}`,
		`{"ports": [{"port": 80, "name": "y"}, {"port": 80, "protocol": "UDP", "name": "y"}]}`), "m0")
	if err != nil || len(decisions) != 1 {
		t.Fatal(decisions, err)
	}
	if diff := cmp.Diff(`{"ports":[{"port":80},{"name":"y","port":80,"protocol":"UDP"}]}`,
		textsOf(left)[1]); diff != "" {
		t.Errorf("Force() (-want +got):\n%s", diff)
	}
}

// TestForce_JSON lets a JSON patch win, which has no fields to take a value from.
func TestForce_JSON(t *testing.T) {
	root, err := schema.ParseOpenAPI(
		[]byte(`{"type": "object", "properties": {"a": {"type": "string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	left, _, err := conflict.Force(func(patches []merge.Patch) (*merge.History, error) {
		result, err := merge.Apply(root, nil, patches)
		if err != nil {
			return nil, err
		}
		return result.History, nil
	}, objectPatches(t, `[{"op": "add", "path": "/a", "value": "x"}]`, `{"a": "y"}`), "m0")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`[{"op":"add","path":"/a","value":"x"}]`, `{}`},
		textsOf(left)); diff != "" {
		t.Errorf("Force() (-want +got):\n%s", diff)
	}
}

// TestForce_Directive wants no decision about a directive that no field of the patch holds: the
// patches stay as they are.
func TestForce_Directive(t *testing.T) {
	for _, texts := range [][]string{
		{`{"$retainKeys": ["labels"], "labels": {"a": "x"}}`, `{"box": {"b": "y"}}`},
		{`{"box": {"$retainKeys": ["a"], "a": "x"}}`, `{"box": {"b": "y"}}`},
		{`{"items": [{"$retainKeys": ["id"], "id": 1}]}`, `{"items": [{"id": 1, "out": "y"}]}`},
	} {
		base := &boxed{Box: &box{B: "z"}, Items: []boxedItem{{ID: 1, Out: "z"}}}
		patches := objectPatches(t, texts...)
		result, err := merge.Strategic(base, patches)
		if err != nil || conflict.Find(result.History) == nil {
			t.Fatalf("%v: want a conflict, %v", texts, err)
		}
		left, decisions, err := conflict.Force(merging(base), patches, "m1")
		if err != nil || len(decisions) > 0 {
			t.Errorf("Force() = %v, %v, want no decision", decisions, err)
		}
		if diff := cmp.Diff(textsOf(patches), textsOf(left)); diff != "" {
			t.Errorf("Force() (-want +got):\n%s", diff)
		}
	}
}

// valued is a Go type whose struct is not a pointer. The struct stays in a patch when nothing is
// left in it.
type valued struct {
	Box box `json:"box,omitempty"`
}

// TestForce_Value takes a field from a struct by value.
func TestForce_Value(t *testing.T) {
	patches := []merge.Patch{{Manager: "m0", Value: &valued{box{A: "x"}}},
		{Manager: "m1", Value: &valued{box{A: "y", B: "z"}}}}
	left, _, err := conflict.Force(merging(&valued{}), patches, "m0")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(valued{box{B: "z"}}, *left[1].Value.(*valued)); diff != "" {
		t.Errorf("Force() (-want +got):\n%s", diff)
	}
}

// held has a field that is always encoded, and items with numbers as keys.
type held struct {
	Box   *box       `json:"box"`
	Ports []portLike `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
}

// TestForce_Held takes fields from Go values. What takes the winner's value shares no memory with
// another patch, and the winner's first patch may lack an item.
func TestForce_Held(t *testing.T) {
	for _, tc := range []struct {
		want    string
		patches []merge.Patch
	}{
		{`{"box":{"a":"x","b":"b"}} {"box":{"b":"b"}} {"box":{"a":"x","b":"b"}} {"box":{"b":"b"}}`,
			[]merge.Patch{{Manager: "m0", Value: &held{Box: &box{A: "x", B: "b"}}},
				{Manager: "m1", Value: &held{}}, {Manager: "m2", Value: &held{}},
				{Manager: "m1", Value: &held{Box: &box{A: "y"}}}}},
		{`{"box":null} {"box":null,"ports":[{"port":1,"routes":[{"port":2,"name":"x"}]}]} {"box":null,"ports":[{"port":1,"routes":[{"port":2}]}]}`, []merge.Patch{{Manager: "m0", Value: &held{}}, {Manager: "m0", Value: &held{Ports: []portLike{{Port: 1, Routes: []routeLike{{Port: 2, Name: "x"}}}}}}, {Manager: "m1", Value: &held{Ports: []portLike{{Port: 1, Routes: []routeLike{{Port: 2, Name: "y"}}}}}}}},
	} {
		left, _, err := conflict.Force(merging(&held{}), tc.patches, "m0")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range left {
			text, _ := json.Marshal(p.Value)
			got = append(got, string(text))
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("Force() (-want +got):\n%s", diff)
		}
	}
}
