package engine_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/schema"
)

// TestPlan_Zero checks that a plan that was not compiled, nil or zero, merges nothing.
func TestPlan_Zero(t *testing.T) {
	for name, plan := range map[string]*engine.Plan[kinds, engine.Object]{"nil": nil, "zero": {}} {
		patch := engine.Object{"text": "a"}
		if got := plan.Type(); got != nil {
			t.Errorf("Type of a plan that is %s = %v, want nil", name, got)
		}
		if got := plan.CopyPatch(&patch); got != nil {
			t.Errorf("CopyPatch of a plan that is %s = %v, want nil", name, got)
		}
		result, err := plan.Apply(nil, []engine.Layered[engine.Object]{{Patch: &patch}}, engine.Options{})
		if err == nil || result != nil {
			t.Errorf("Apply of a plan that is %s = %v, %v, want an error", name, result, err)
		}
	}
	if plan := engine.ForObject(nil); plan.Type() != nil {
		t.Errorf("Type of a plan for no definition = %v, want nil", plan.Type())
	}
}

// TestPlan_Types checks the types that have no plan.
func TestPlan_Types(t *testing.T) {
	missing := schema.Rules{Only: map[string][]string{"nowhere": {"x"}}}
	noStruct, errNoStruct := engine.For[string, string](schema.Rules{})
	noPatch, errNoPatch := engine.For[kinds, []string](schema.Rules{})
	noField, errNoField := engine.For[kinds, kinds](missing)
	noType, errNoType := engine.ForType(nil, schema.Rules{})
	noStructType, errNoStructType := engine.ForType(reflect.TypeFor[int](), schema.Rules{})
	noFieldType, errNoFieldType := engine.ForType(reflect.TypeFor[kinds](), missing)
	noAny, errNoAny := engine.ForAny(reflect.TypeFor[int](), schema.Rules{})
	for _, tc := range []struct {
		plan any
		err  error
		want string
	}{
		{noStruct, errNoStruct, "engine: string is not a struct"},
		{noPatch, errNoPatch, "engine: patches of type []string are neither structs nor objects"},
		{noField, errNoField, `engine: engine_test.kinds: rule for "nowhere": there is no field "nowhere"`},
		{noType, errNoType, "engine: <nil> is not a struct"},
		{noStructType, errNoStructType, "engine: int is not a struct"},
		{noFieldType, errNoFieldType, `engine: engine_test.kinds: rule for "nowhere": there is no field "nowhere"`},
		{noAny, errNoAny, "engine: int is not a struct"},
	} {
		if tc.err == nil || tc.err.Error() != tc.want || !reflect.ValueOf(tc.plan).IsNil() {
			t.Errorf("got %v, %v, want the error %s", tc.plan, tc.err, tc.want)
		}
	}
}

// TestApply_NilPatch checks that a nil patch sets nothing, and that patches count from the first one.
func TestApply_NilPatch(t *testing.T) {
	plan := must(engine.For[kinds, engine.Object](schema.Rules{}))
	patch, wrong := engine.Object{"text": "a"}, engine.Object{"text": int64(1)}
	layers := []engine.Layered[engine.Object]{{Layer: "one"}, {Layer: "two", Patch: &patch}}
	result := applied(t, plan, nil, layers)
	if diff := cmp.Diff([]string{`.text two="a"`}, claimsOf(result.Owners)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	_, err := plan.Apply(nil, append(layers, engine.Layered[engine.Object]{Layer: "three", Patch: &wrong}), engine.Options{})
	var failed *engine.PatchError
	if !errors.As(err, &failed) || failed.Index != 2 || failed.Layer != "three" || failed.Path.String() != ".text" {
		t.Errorf("Apply returns %v, want an error of the third patch", err)
	}
}

// TestApplyInto checks that the value lands in the given place, which the caller must have.
func TestApplyInto(t *testing.T) {
	plan := must(engine.For[kinds, kinds](schema.Rules{}))
	if owners, err := plan.ApplyInto(nil, nil, nil, engine.Options{Owners: true}); err == nil || owners != nil {
		t.Errorf("ApplyInto(nil) = %v, %v, want an error", owners, err)
	}
	var into kinds
	owners, err := plan.ApplyInto(&into, &kinds{Text: "a"}, []engine.Layered[kinds]{{Layer: "one", Patch: &kinds{Small: 1}}}, engine.Options{Owners: true})
	if err != nil || into.Text != "a" || into.Small != 1 {
		t.Fatalf("ApplyInto makes %s, %v", asJSON(into), err)
	}
	if diff := cmp.Diff([]string{`.small one=1`, `.text base="a"`}, claimsOf(owners)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

// TestForAny checks the values that a plan for pointers accepts, and that it leaves them alone.
func TestForAny(t *testing.T) {
	plan := must(engine.ForAny(reflect.TypeFor[kinds](), schema.Rules{}))
	var none *kinds
	for _, tc := range []struct {
		base  any
		patch any
		want  string
	}{
		{&kinds{Text: "a"}, &kinds{Small: 1}, ``},
		{&kinds{Text: "a"}, engine.Object{"small": int64(1)}, ``},
		{&kinds{Text: "a"}, nil, `patch of one: : is nil, and must be a pointer to engine_test.kinds`},
		{&kinds{Text: "a"}, none, `patch of one: : is *engine_test.kinds, and must be a pointer to engine_test.kinds`},
		{&kinds{Text: "a"}, kinds{}, `patch of one: : is engine_test.kinds, and must be a pointer to engine_test.kinds`},
		{&kinds{Text: "a"}, &part{}, `patch of one: : is *engine_test.part, and must be a pointer to engine_test.kinds`},
		{nil, engine.Object{}, `engine: the base is nil, and must be a pointer to engine_test.kinds`},
		{engine.Object{}, engine.Object{}, `engine: the base is map[string]interface {}, and must be a pointer to engine_test.kinds`},
		{kinds{}, engine.Object{}, `engine: the base is engine_test.kinds, and must be a pointer to engine_test.kinds`},
	} {
		before := asJSON([]any{tc.base, tc.patch})
		result, err := plan.Apply(&tc.base, []engine.Layered[any]{{Layer: "one", Patch: &tc.patch}}, engine.Options{Owners: true})
		if tc.want != "" {
			if err == nil || err.Error() != tc.want {
				t.Errorf("Apply(%T, %T) returns %v, want %s", tc.base, tc.patch, err, tc.want)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(result.Value, &kinds{Text: "a", Small: 1}) {
			t.Fatalf("Apply = %v, %v", result, err)
		}
		if diff := cmp.Diff([]string{`.small one=1`, `.text base="a"`}, claimsOf(result.Owners)); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
		result.Value.(*kinds).Text = "b"
		if now := asJSON([]any{tc.base, tc.patch}); now != before {
			t.Errorf("the inputs are %s, and were %s", now, before)
		}
	}
	result, err := plan.Apply(nil, []engine.Layered[any]{{Layer: "one"}}, engine.Options{})
	if err != nil || !reflect.DeepEqual(result.Value, &kinds{}) {
		t.Errorf("Apply without a base = %v, %v, want an empty value", result, err)
	}
}

// TestForAny_Directives checks that the plan finds directives in JSON of any shape within lists that are replaced whole.
func TestForAny_Directives(t *testing.T) {
	plan := must(engine.For[ordered, ordered](schema.Rules{}))
	patch := fromJSON[*ordered](`{"raws":[{"a":{"$patch":"delete"},"b":null,"c":"d"}]}`)
	result, err := plan.Apply(nil, []engine.Layered[ordered]{{Layer: "one", Patch: patch}}, engine.Options{})
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
	var none *engine.PatchError
	if none.Error() != "no error" || none.Unwrap() != nil {
		t.Errorf("a nil PatchError is %q and wraps %v", none.Error(), none.Unwrap())
	}
	cause := errors.New("cause")
	if !errors.Is(&engine.PatchError{Err: cause}, cause) {
		t.Error("a PatchError does not wrap its cause")
	}
}
