package merge_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// memory has a field for each way in which values share memory.
type memory struct {
	Text     string                     `json:"text,omitempty"`
	Pointer  *string                    `json:"pointer,omitempty"`
	List     []string                   `json:"list,omitempty"`
	Lists    [][]string                 `json:"lists,omitempty"`
	Array    [2][]string                `json:"array"`
	Arrays   [][2][]string              `json:"arrays,omitempty"`
	Map      map[string]string          `json:"map,omitempty"`
	Maps     []map[string]string        `json:"maps,omitempty"`
	Structs  map[string]whole           `json:"structs,omitempty"`
	Pointers map[string]*whole          `json:"pointers,omitempty"`
	Any      any                        `json:"any,omitempty"`
	Anys     []any                      `json:"anys,omitempty"`
	Loop     *memory                    `json:"loop,omitempty"`
	Loops    []memory                   `json:"loops,omitempty"`
	At       metav1.Time                `json:"at,omitempty"`
	Micro    *metav1.MicroTime          `json:"micro,omitempty"`
	Quantity resource.Quantity          `json:"quantity"`
	Raw      runtime.RawExtension       `json:"raw"`
	Raws     []runtime.RawExtension     `json:"raws,omitempty"`
	Either   *intstr.IntOrString        `json:"either,omitempty"`
	Limits   map[word]resource.Quantity `json:"limits,omitempty"`
}

// mixed has a field that JSON lacks.
type mixed struct {
	Labels map[string]string
	note   string
}

// copyOf returns a patch with the JSON of another one, or nil.
func copyOf(patch *memory) *memory {
	fields, err := tree.Value(patch)
	made := new(memory)
	if err != nil || tree.Read(fields, made) != nil {
		return nil
	}
	return made
}

// TestPatch shows that a copy has the JSON of its patch, and shares no memory with it. A patch
// without JSON has no copy.
func TestPatch(t *testing.T) {
	text := func(s string) *string { return &s }
	huge := resource.MustParse("123456789012345678901234567890")
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("x", 3600)))
	micro := metav1.NewMicroTime(at.Time)
	for name, patch := range map[string]memory{
		"nothing": {},
		"text":    {Text: "a", Pointer: text("b")},
		"lists":   {List: []string{"a"}, Lists: [][]string{{"a"}, nil, {}}},
		"arrays": {
			Array: [2][]string{{"a"}, nil}, Arrays: [][2][]string{{nil, {"b"}}}},
		"maps": {
			Map: map[string]string{"a": "b"}, Maps: []map[string]string{{"a": "b"}, nil, {}}},
		"structs": {
			Structs:  map[string]whole{"a": {Labels: map[string]string{"a": "b"}}},
			Pointers: map[string]*whole{"a": {Whole: &whole{Name: "b"}}, "c": nil}},
		"anything": {Any: map[string]any{"a": []any{"b", nil, int64(1)}},
			Anys: []any{[]any{"a"}, nil}},
		"loops": {Loop: &memory{List: []string{"a"}},
			Loops: []memory{{Map: map[string]string{"a": "b"}}}},
		"times": {At: at, Micro: &micro},
		"a null of a time": {Micro: &metav1.MicroTime{}, Loop: &memory{Micro: &metav1.MicroTime{}},
			Loops: []memory{{Micro: &metav1.MicroTime{}}}},
		"a null of a time in a map": {
			Structs:  map[string]whole{"a": {Raw: &runtime.RawExtension{}}, "b": {}},
			Pointers: map[string]*whole{"a": {Raw: &runtime.RawExtension{}}, "c": nil}},
		"quantities": {
			Quantity: huge, Limits: map[word]resource.Quantity{"a": resource.MustParse("1Gi")}},
		"JSON": {Raw: runtime.RawExtension{Raw: []byte(`{"a":1}`)},
			Raws: []runtime.RawExtension{{Raw: []byte(`"a"`)}, {}}},
		"no JSON":           {Raw: runtime.RawExtension{Raw: []byte(`{`)}},
		"no JSON in a list": {Raws: []runtime.RawExtension{{Raw: []byte(`{`)}}},
		"a struct in anything": {Any: mixed{Labels: map[string]string{"a": "b"}, note: "c"},
			Anys: []any{&thingPart{Args: []string{"a"}}, whole{Ranks: map[int]string{1: "a"}}}},
		"structs in anything": {Any: []thingPart{{Labels: map[string]string{"a": "b"}}}},
		"one pointer, often":  {Anys: slices.Repeat([]any{&whole{Name: "a"}}, 20_000)},
		"an integer":          {Either: &intstr.IntOrString{IntVal: 1, StrVal: "hidden"}},
	} {
		copied := copyOf(&patch)
		if strings.HasPrefix(name, "no JSON") {
			if copied != nil {
				t.Errorf("%s: the copy of %#v = %#v", name, patch, *copied)
			}
			continue
		}
		before := asJSON(patch)
		if made := asJSON(copied); made != before &&
			asJSON(fromJSON[any](made)) != asJSON(fromJSON[any](before)) {
			t.Errorf("%s: the copy of %s = %s", name, before, made)
		}
		scribble(reflect.ValueOf(copied))
		if after := asJSON(patch); after != before {
			t.Errorf("%s: a change of the copy changed the original from\n%s\nto\n%s", name, before,
				after)
		}
	}
}

// TestPatch_Object shows that the copy of an encoded object keeps its JSON.
func TestPatch_Object(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Labels = map[string]string{"a": "b"}
	copied := copyOf(&memory{Raw: runtime.RawExtension{Object: pod}})
	before := asJSON(copied)
	pod.Labels["a"] = "c"
	if after := asJSON(copied); after != before {
		t.Errorf("a change of the object changed the copy from\n%s\nto\n%s", before, after)
	}
}

// TestApply_BaseNoJSON rejects a base with a value that has no JSON.
func TestApply_BaseNoJSON(t *testing.T) {
	plan := must(planFor[memory](schema.Rules{}))
	for _, value := range []any{math.NaN(), func() {}, []any{make(chan int)}} {
		var failed *merge.PatchError
		if _, err := plan.Apply(&memory{Any: value}, nil); !errors.As(err, &failed) ||
			failed.Owner != merge.BaseLayer || failed.Index != -1 {
			t.Errorf("a base with a %T: %v", value, err)
		}
	}
}

// TestApply_Verbatim checks that the result shares no memory with an object that a directive takes
// verbatim.
func TestApply_Verbatim(t *testing.T) {
	plan := must(planFor[document](schema.Rules{}))
	patch := fromJSON[merge.Object](`{"$patch": "replace", "frees": {"a": {"b": [{}]}}}`)
	before := asJSON(patch)
	result := applied(t, plan, &document{Name: "a"}, []merge.Patch{{Manager: "a", Value: &patch}})
	scribble(reflect.ValueOf(&result.Value))
	if after := asJSON(patch); after != before {
		t.Errorf("a change of the result changed the patch from\n%s\nto\n%s", before, after)
	}
}

// scribble clears everything that a value reaches.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			scribble(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			scribble(v.MapIndex(key))
			v.SetMapIndex(key, reflect.Value{})
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scribble(v.Field(i))
			}
		}
	}
	if v.CanSet() {
		v.SetZero()
	}
}

// TestSameValue shows that values are equal if their encodings are.
func TestSameValue(t *testing.T) {
	for name, c := range map[string]struct {
		a, b any
		want bool
	}{
		"no values":             {nil, nil, true},
		"equal strings":         {"a", "a", true},
		"quantities":            {resource.MustParse("1Gi"), resource.MustParse("1024Mi"), true},
		"a number and a string": {1, "1", false},
		"a value and none":      {"a", nil, false},
		"values without JSON":   {math.Inf(1), math.NaN(), false},
		"one value with JSON":   {math.Inf(1), 1, false},
		"the other one":         {1, math.Inf(1), false},
	} {
		if got := merge.SameValue(c.a, c.b); got != c.want {
			t.Errorf("%s: SameValue(%v, %v) = %t, want %t", name, c.a, c.b, got, c.want)
		}
	}
}

// hiding has what Go code can hide from JSON.
type hiding struct {
	embedded `json:",inline"`

	Name  string             `json:"name,omitempty"`
	Any   any                `json:"any,omitempty"`
	Inner map[string]*hiding `json:"inner,omitempty"`

	list    []string
	byName  map[string]string
	pointer *embedded
	value   any
	lists   [1][]string
}

type embedded struct {
	List []string `json:"embedded,omitempty"`
}

// TestApply_Hidden shows that a base whose type hides memory merges as its JSON does. It shares no
// memory with the result.
func TestApply_Hidden(t *testing.T) {
	plan := must(planFor[hiding](schema.Rules{}))
	base := func() *hiding {
		return &hiding{
			embedded: embedded{List: []string{"a"}}, Any: embedded{List: []string{"b"}},
			Inner: map[string]*hiding{"c": {list: []string{"c"}}},
			list:  []string{"d"}, byName: map[string]string{"e": "f"}, pointer: &embedded{},
			value: &embedded{}, lists: [1][]string{{"g"}},
		}
	}
	patches := []merge.Patch{{Manager: "a", Value: &merge.Object{"name": "new"}}}
	for _, o := range [][]merge.Option{{}, {}, {merge.BaseWins()}} {
		input := base()
		result, err := plan.Apply(input, patches, o...)
		if err != nil {
			t.Fatal(err)
		}
		want := hiding{Name: "new", embedded: embedded{List: []string{"a"}},
			Any: map[string]any{"embedded": []any{"b"}}, Inner: map[string]*hiding{"c": {}}}
		if !reflect.DeepEqual(result.Value, want) {
			t.Errorf("Apply makes %#v, want %#v", result.Value, want)
		}
		result.Value.List[0], result.Value.Any.(map[string]any)["embedded"],
			result.Value.Inner["c"].Name = "x", "x", "x"
		if !reflect.DeepEqual(input, base()) {
			t.Errorf("a change of the result changes the base to %#v", input)
		}
	}
}

// elements is embedded by a type whose JSON leaves it out.
type elements []string

// Nested is inlined in itself, as encoding/json allows.
type Nested struct {
	*Nested `json:",inline"`
	Name    string `json:"name,omitempty"`
}

// TestStrategic_Nested merges into a type that is inlined in itself.
func TestStrategic_Nested(t *testing.T) {
	for _, base := range []*Nested{{Name: "a"}, {Nested: &Nested{Name: "a"}}} {
		result, err := merge.Strategic(base, []merge.Patch{{Manager: "m", Value: Nested{Name: "b"}}})
		if err != nil || result.Value.Name != "b" {
			t.Errorf("the result is %+v, %v", result, err)
		}
	}
}

// TestFor_Fixed shows that no plan takes an embedded struct that it cannot set. Other embedded
// fields do not fail.
func TestFor_Fixed(t *testing.T) {
	type pointer struct{ *embedded }
	type named struct {
		embedded `json:"inner"`
	}
	type left struct {
		elements
		*embedded `json:"-"`

		Any any `json:"any,omitempty"`
	}
	const problem = ", which is not exported, so that no patch can set it: export it"
	_, err := planFor[pointer](schema.Rules{})
	if want := "merge: merge_test.pointer embeds *merge_test.embedded" + problem; err == nil ||
		err.Error() != want {
		t.Errorf("For returns %v, want %s", err, want)
	}
	_, err = planForAny(reflect.TypeFor[named](), schema.Rules{})
	if want := "merge: merge_test.named embeds merge_test.embedded" + problem; err == nil ||
		err.Error() != want {
		t.Errorf("ForAny returns %v, want %s", err, want)
	}
	plan := must(planFor[left](schema.Rules{}))
	patches := []merge.Patch{
		{Manager: "a", Value: &merge.Object{"elements": []any{"b"}, "any": "c"}}}
	result, err := plan.Apply(&left{elements: elements{"a"}}, patches)
	if err != nil || !reflect.DeepEqual(result.Value, left{Any: "c"}) {
		t.Errorf("Apply makes %#v, %v", result, err)
	}
}

// TestApply_CyclicBase shows that a base that contains itself is an error.
func TestApply_CyclicBase(t *testing.T) {
	loop, anything, self := &memory{}, &memory{}, map[string]any{}
	loop.Loop, anything.Any, self["a"] = loop, self, self
	plan, untyped := must(planFor[memory](schema.Rules{})),
		must(planForAny(reflect.TypeFor[memory](), schema.Rules{}))
	for what, base := range map[string]*memory{"a pointer": loop, "a map": anything} {
		_, err := plan.Apply(base, nil)
		var value any = base
		_, alike := untyped.Apply(&value, nil)
		for _, err := range []error{err, alike} {
			if err == nil || err.Error() != "base: contains itself" {
				t.Errorf("%s: Apply returns %v", what, err)
			}
		}
		if copied := copyOf(base); copied != nil {
			t.Errorf("%s: the copy is %v", what, copied)
		}
	}
}

// TestApply_InPlace shows that a merge, which changes its objects in place, changes neither the
// empty values of the schema nor the values of earlier claims.
func TestApply_InPlace(t *testing.T) {
	plan := must(planFor[thing](schema.Rules{}))
	patches := []merge.Patch{
		{Manager: "a", Value: &merge.Object{"fixed": merge.Object{"name": "x"}}},
		{Manager: "b", Value: &merge.Object{
			"fixed": merge.Object{"part": merge.Object{"name": "y"}}, "raw": merge.Object{"b": "2"},
		}},
	}
	base := &thing{Raw: &runtime.RawExtension{Raw: []byte(`{"a":"1"}`)}}
	result := must(plan.Apply(base, patches))
	if part := result.Value.Fixed.Part; part.Name != "y" {
		t.Errorf("the struct of two patches is %+v", part)
	}
	for path, claims := range result.History.All() {
		if path.String() == ".raw" && !reflect.DeepEqual(claims[0].Value, merge.Object{"a": "1"}) {
			t.Errorf("%s: the base claims %v", path, claims[0].Value)
		}
	}
	if part := must(plan.Apply(base, patches[:1])).Value.Fixed.Part; part.Name != "" {
		t.Errorf("the struct of the first patch alone is %+v", part)
	}
	options := []merge.Option{
		merge.Protect([]fieldpath.Path{{fieldpath.Field("labels"), fieldpath.Key("a")}}...)}
	labels := merge.Object{"labels": merge.Object{"a": "2", "b": "2"}}
	labeling := []merge.Patch{{Manager: "a", Value: &labels}}
	kept := must(plan.Apply(&thing{Labels: map[string]string{"a": "1"}}, labeling, options...))
	if want := map[string]string{"a": "1", "b": "2"}; !reflect.DeepEqual(kept.Value.Labels, want) {
		t.Errorf("beside a protected one, the labels are %v, want %v", kept.Value.Labels, want)
	}
}
