package merge_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestPlan_Zero checks that a plan that was not compiled, nil or zero, merges nothing.
func TestPlan_Zero(t *testing.T) {
	for name, plan := range map[string]*merge.Plan[kinds, merge.Object]{"nil": nil, "zero": {}} {
		patch := merge.Object{"text": "a"}
		if got := plan.Type(); got != nil {
			t.Errorf("Type of a plan that is %s = %v, want nil", name, got)
		}
		if got, _, err := plan.Fields(&patch); got != nil || err != nil {
			t.Errorf("Fields of a plan that is %s = %v, %v, want none", name, got, err)
		}
		result, err := plan.Apply(nil, []merge.Patch[merge.Object]{{Owner: merge.Manager("a"), Value: &patch}}, merge.Options{})
		if err == nil || result != nil {
			t.Errorf("Apply of a plan that is %s = %v, %v, want an error", name, result, err)
		}
	}
	if plan := merge.ForObject(nil); plan.Type() != nil {
		t.Errorf("Type of a plan for no definition = %v, want nil", plan.Type())
	}
}

// TestPlan_Types checks the types that have no plan.
func TestPlan_Types(t *testing.T) {
	missing := schema.Rules{Only: map[string][]string{"nowhere": {"x"}}}
	noStruct, errNoStruct := merge.For[string, string](schema.Rules{})
	noPatch, errNoPatch := merge.For[kinds, []string](schema.Rules{})
	noField, errNoField := merge.For[kinds, kinds](missing)
	noType, errNoType := merge.ForType(nil, schema.Rules{})
	noStructType, errNoStructType := merge.ForType(reflect.TypeFor[int](), schema.Rules{})
	noFieldType, errNoFieldType := merge.ForType(reflect.TypeFor[kinds](), missing)
	noAny, errNoAny := merge.ForAny(reflect.TypeFor[int](), schema.Rules{})
	for _, tc := range []struct {
		plan any
		err  error
		want string
	}{
		{noStruct, errNoStruct, "merge: string is not a struct"},
		{noPatch, errNoPatch, "merge: patches of type []string are neither structs nor objects"},
		{noField, errNoField, `merge: merge_test.kinds: rule for "nowhere": there is no field "nowhere"`},
		{noType, errNoType, "merge: <nil> is not a struct"},
		{noStructType, errNoStructType, "merge: int is not a struct"},
		{noFieldType, errNoFieldType, `merge: merge_test.kinds: rule for "nowhere": there is no field "nowhere"`},
		{noAny, errNoAny, "merge: int is not a struct"},
	} {
		if tc.err == nil || tc.err.Error() != tc.want || !reflect.ValueOf(tc.plan).IsNil() {
			t.Errorf("got %v, %v, want the error %s", tc.plan, tc.err, tc.want)
		}
	}
}

// TestApply_NilPatch checks that a nil patch sets nothing, and that patches count from the first one.
func TestApply_NilPatch(t *testing.T) {
	plan := must(merge.For[kinds, merge.Object](schema.Rules{}))
	patch, wrong := merge.Object{"text": "a"}, merge.Object{"text": int64(1)}
	layers := []merge.Patch[merge.Object]{{Owner: merge.Manager("one")}, {Owner: merge.Manager("two"), Value: &patch}}
	result := applied(t, plan, nil, layers)
	if diff := cmp.Diff([]string{`.text two="a"`}, claimsOf(result.History)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	_, err := plan.Apply(nil, append(layers, merge.Patch[merge.Object]{Owner: merge.Manager("three"), Value: &wrong}), merge.Options{})
	var failed *merge.PatchError
	if !errors.As(err, &failed) || failed.Index != 2 || failed.Owner != merge.Manager("three") || failed.Path.String() != ".text" {
		t.Errorf("Apply returns %v, want an error of the third patch", err)
	}
}

// TestApply_NoManager merges patches of layers that are no managers: no conflict would name them.
func TestApply_NoManager(t *testing.T) {
	one, two := merge.Object{"text": "a"}, merge.Object{"text": "b"}
	for _, layer := range []merge.Owner{"", "a", merge.Base, "runtime"} {
		patches := []merge.Patch[merge.Object]{{Owner: merge.Manager("a"), Value: &one}, {Owner: layer, Value: &two}}
		_, err := merge.ForJSON().Apply(nil, patches, merge.Options{})
		if want := fmt.Sprintf("merge: the layer %q of patch 1 is no manager: use merge.Manager", layer); err == nil || err.Error() != want {
			t.Errorf("Apply returns %v, want %s", err, want)
		}
	}
}

// TestApplyInto checks that the value lands in the given place, which the caller must have.
func TestApplyInto(t *testing.T) {
	plan := must(merge.For[kinds, kinds](schema.Rules{}))
	if owners, err := plan.ApplyInto(nil, nil, nil, merge.Options{Owners: true}); err == nil || owners != nil {
		t.Errorf("ApplyInto(nil) = %v, %v, want an error", owners, err)
	}
	var into kinds
	owners, err := plan.ApplyInto(&into, &kinds{Text: "a"}, []merge.Patch[kinds]{{Owner: merge.Manager("one"), Value: &kinds{Small: 1}}}, merge.Options{Owners: true})
	if err != nil || into.Text != "a" || into.Small != 1 {
		t.Fatalf("ApplyInto makes %s, %v", asJSON(into), err)
	}
	if diff := cmp.Diff([]string{`.small one=1`, `.text base="a"`}, claimsOf(owners)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

// TestForAny checks the values that a plan for pointers accepts, and that it leaves them alone.
func TestForAny(t *testing.T) {
	plan := must(merge.ForAny(reflect.TypeFor[kinds](), schema.Rules{}))
	var none *kinds
	for _, tc := range []struct {
		base  any
		patch any
		want  string
	}{
		{&kinds{Text: "a"}, &kinds{Small: 1}, ``},
		{&kinds{Text: "a"}, merge.Object{"small": int64(1)}, ``},
		{&kinds{Text: "a"}, nil, `patch of manager/one: is nil, and must be a pointer to merge_test.kinds`},
		{&kinds{Text: "a"}, none, `patch of manager/one: is *merge_test.kinds, and must be a pointer to merge_test.kinds`},
		{&kinds{Text: "a"}, kinds{}, `patch of manager/one: is merge_test.kinds, and must be a pointer to merge_test.kinds`},
		{&kinds{Text: "a"}, &part{}, `patch of manager/one: is *merge_test.part, and must be a pointer to merge_test.kinds`},
		{nil, merge.Object{}, `merge: the base is nil, and must be a pointer to merge_test.kinds`},
		{merge.Object{}, merge.Object{}, `merge: the base is map[string]interface {}, and must be a pointer to merge_test.kinds`},
		{kinds{}, merge.Object{}, `merge: the base is merge_test.kinds, and must be a pointer to merge_test.kinds`},
	} {
		before := asJSON([]any{tc.base, tc.patch})
		result, err := plan.Apply(&tc.base, []merge.Patch[any]{{Owner: merge.Manager("one"), Value: &tc.patch}}, merge.Options{Owners: true})
		if tc.want != "" {
			if err == nil || err.Error() != tc.want {
				t.Errorf("Apply(%T, %T) returns %v, want %s", tc.base, tc.patch, err, tc.want)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(result.Value, &kinds{Text: "a", Small: 1}) {
			t.Fatalf("Apply = %v, %v", result, err)
		}
		if diff := cmp.Diff([]string{`.small one=1`, `.text base="a"`}, claimsOf(result.History)); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
		result.Value.(*kinds).Text = "b"
		if now := asJSON([]any{tc.base, tc.patch}); now != before {
			t.Errorf("the inputs are %s, and were %s", now, before)
		}
	}
	result, err := plan.Apply(nil, []merge.Patch[any]{{Owner: merge.Manager("one")}}, merge.Options{})
	if err != nil || !reflect.DeepEqual(result.Value, &kinds{}) {
		t.Errorf("Apply without a base = %v, %v, want an empty value", result, err)
	}
}

// TestForAny_Directives checks that the plan finds directives in JSON of any shape within lists that are replaced whole.
func TestForAny_Directives(t *testing.T) {
	plan := must(merge.For[ordered, ordered](schema.Rules{}))
	patch := fromJSON[*ordered](`{"raws":[{"a":{"$patch":"delete"},"b":null,"c":"d"}]}`)
	result, err := plan.Apply(nil, []merge.Patch[ordered]{{Owner: merge.Manager("one"), Value: patch}}, merge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := strategicMerge(&ordered{}, patch)
	if got := asJSON(result.Value); err != nil || got != want || !strings.Contains(got, `[{"c":"d"}]`) {
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

func TestCheck_NoPlan(t *testing.T) {
	var none *merge.Plan[thing, thing]
	for _, plan := range []*merge.Plan[thing, thing]{none, {}} {
		if err := plan.Check(merge.Options{}); err == nil || err.Error() != "merge: a plan that was not compiled merges nothing" {
			t.Errorf("Check of a plan that was not compiled: %v", err)
		}
	}
	if err := (*merge.OptionError)(nil); err.Error() != "no error" || err.Unwrap() != nil {
		t.Errorf("a nil OptionError is %q and wraps %v", err.Error(), err.Unwrap())
	}
	problem := errors.New("a problem")
	if err := (&merge.OptionError{Option: "Order", Err: problem}); !errors.Is(err, problem) {
		t.Errorf("%v does not wrap its problem", err)
	}
}
