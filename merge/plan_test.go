package merge_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestPlan_Types checks the types that have no plan.
func TestPlan_Types(t *testing.T) {
	missing := schema.Rules{Only: map[string][]string{"nowhere": {"x"}}}
	noStruct, errNoStruct := planFor[string](schema.Rules{})
	noField, errNoField := planFor[kinds](missing)
	for _, tc := range []struct {
		plan any
		err  error
		want string
	}{
		{noStruct, errNoStruct, "merge: string is not a struct"},
		{noField, errNoField,
			`merge: merge_test.kinds: rule for "nowhere": there is no field "nowhere"`},
	} {
		if tc.err == nil || tc.err.Error() != tc.want || !reflect.ValueOf(tc.plan).IsZero() {
			t.Errorf("got %v, %v, want the error %s", tc.plan, tc.err, tc.want)
		}
	}
}

// TestApply_NilPatch checks that a nil patch sets nothing, and that patches count from the first
// one.
func TestApply_NilPatch(t *testing.T) {
	plan := must(planFor[kinds](schema.Rules{}))
	patch, wrong := merge.Object{"text": "a"}, merge.Object{"text": int64(1)}
	layers := []merge.Patch{{Manager: "one"}, {Manager: "two", Value: &patch}}
	result := applied(t, plan, nil, layers)
	if diff := cmp.Diff([]string{`.text two="a"`}, claimsOf(result.History)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	_, err := plan.Apply(nil, append(layers, merge.Patch{Manager: "three", Value: &wrong}))
	var failed *merge.PatchError
	if !errors.As(err, &failed) || failed.Index != 2 || failed.Owner != merge.Manager("three") ||
		failed.Path.String() != ".text" {
		t.Errorf("Apply returns %v, want an error of the third patch", err)
	}
}

// TestApply_NoManager merges a patch that names no manager, and a base whose layer is one: no
// conflict would name them.
func TestApply_NoManager(t *testing.T) {
	one, two := merge.Object{"text": "a"}, merge.Object{"text": "b"}
	_, err := planForJSON().Apply(nil, []merge.Patch{{Manager: "a", Value: one}, {Value: two}})
	if want := "merge: patch 1 names no manager"; err == nil || err.Error() != want {
		t.Errorf("the merge returns %v, want %s", err, want)
	}
	for _, owner := range []merge.Owner{"", merge.Manager("a")} {
		var wrong *merge.OptionError
		if _, err := planForJSON().Apply(nil, nil, merge.Base(owner, nil)); !errors.As(
			err, &wrong) || wrong.Option != "Base" {
			t.Errorf("the base of %q: %v", owner, err)
		}
	}
}

// TestForAny checks the values that a plan for pointers accepts, and that it leaves them alone.
func TestForAny(t *testing.T) {
	plan := must(planForAny(reflect.TypeFor[kinds](), schema.Rules{}))
	var none *kinds
	for _, tc := range []struct {
		base  any
		patch any
		want  string
	}{
		{&kinds{Text: "a"}, &kinds{Small: 1}, ``},
		{&kinds{Text: "a"}, merge.Object{"small": int64(1)}, ``},
		{&kinds{Text: "a"}, kinds{Small: 1}, ``},
		{&kinds{Text: "a"}, &part{},
			`patch of manager/one: is *merge_test.part, and must be merge_test.kinds or an object`},
		{&kinds{Text: "a"}, "text",
			`patch of manager/one: is string, and must be merge_test.kinds or an object`},
		{nil, merge.Object{}, `merge: the base is <nil>, and must be a pointer to a struct`},
		{merge.Object{}, merge.Object{},
			`merge: the base is map[string]interface {}, and must be a pointer to a struct`},
		{kinds{}, merge.Object{},
			`merge: the base is merge_test.kinds, and must be a pointer to a struct`},
		{none, merge.Object{},
			`merge: the base is *merge_test.kinds, and must be a pointer to a struct`},
	} {
		before := asJSON([]any{tc.base, tc.patch})
		result, err := plan.Apply(&tc.base, []merge.Patch{{Manager: "one", Value: tc.patch}})
		if tc.want != "" {
			if err == nil || err.Error() != tc.want {
				t.Errorf("Apply(%T, %T) returns %v, want %s", tc.base, tc.patch, err, tc.want)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(result.Value, &kinds{Text: "a", Small: 1}) {
			t.Fatalf("Apply = %v, %v", result, err)
		}
		if diff := cmp.Diff([]string{`.small one=1`, `.text base="a"`},
			claimsOf(result.History)); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
		result.Value.(*kinds).Text = "b"
		if now := asJSON([]any{tc.base, tc.patch}); now != before {
			t.Errorf("the inputs are %s, and were %s", now, before)
		}
	}
	result, err := plan.Apply(nil, []merge.Patch{{Manager: "one"}})
	if err != nil || !reflect.DeepEqual(result.Value, &kinds{}) {
		t.Errorf("Apply without a base = %v, %v, want an empty value", result, err)
	}
}

// TestForAny_Directives checks that the plan finds directives in JSON of any shape within lists
// that are replaced whole.
func TestForAny_Directives(t *testing.T) {
	plan := must(planFor[ordered](schema.Rules{}))
	patch := fromJSON[*ordered](`{"raws":[{"a":{"$patch":"delete"},"b":null,"c":"d"}]}`)
	result, err := plan.Apply(nil, []merge.Patch{{Manager: "one", Value: patch}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := strategicMerge(&ordered{}, patch)
	if got := asJSON(result.Value); err != nil || got != want ||
		!strings.Contains(got, `[{"c":"d"}]`) {
		t.Errorf("Apply makes %s, want %s, %v", got, want, err)
	}
}

// TestPatchError checks an error without an error.
func TestPatchError(t *testing.T) {
	var none *merge.PatchError
	if none.Error() != "no error" || none.Unwrap() != nil {
		t.Errorf("a nil PatchError is %q and wraps %v", none.Error(), none.Unwrap())
	}
	cause := errors.New("cause")
	if !errors.Is(&merge.PatchError{Err: cause}, cause) {
		t.Error("a PatchError does not wrap its cause")
	}
}

func TestOptionError(t *testing.T) {
	if err := (*merge.OptionError)(nil); err.Error() != "no error" || err.Unwrap() != nil {
		t.Errorf("a nil OptionError is %q and wraps %v", err.Error(), err.Unwrap())
	}
	problem := errors.New("a problem")
	if err := (&merge.OptionError{Option: "Order", Err: problem}); !errors.Is(err, problem) {
		t.Errorf("%v does not wrap its problem", err)
	}
}
