package merge_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestForType_Base checks the errors of bases, which are objects.
func TestForType_Base(t *testing.T) {
	plan := must(planForType(reflect.TypeFor[kinds](), schema.Rules{}))
	for base, want := range map[string]string{
		`{"struct":{"part":{"count":"a"}}}`:       `base: .struct.part.count: must be a number, and is a string`,
		`{"struct":7}`:                            `base: .struct: must be an object, and is a number`,
		`{"pointers":[{"name":"a"},{"name":[]}]}`: `base: .pointers[1].name: must be a string, and is a list`,
		`{"set":"a"}`:                             `base: .set: must be a list, and is a string`,
		`{"labels":[]}`:                           `base: .labels: must be an object, and is a list`,
	} {
		object := fromJSON[merge.Object](base)
		_, err := plan.Apply(&object, nil)
		var failed *merge.PatchError
		if !errors.As(err, &failed) || err.Error() != want || failed.Owner != merge.BaseLayer ||
			failed.Index != -1 {
			t.Errorf("Apply(%s) returns %v, want %s", base, err, want)
		}
		_, err = plan.Apply(&object, nil, merge.Base("defaults", nil))
		if !errors.As(err, &failed) || failed.Owner != "defaults" {
			t.Errorf("Apply(%s) returns %v, want an error of the layer defaults", base, err)
		}
	}
	for _, base := range []*merge.Object{nil, {}, {"struct": nil}} {
		result, err := plan.Apply(base, nil)
		if err != nil || len(result.Value) > 0 {
			t.Errorf("Apply(%v) = %v, %v, want an empty object", base, result, err)
		}
	}
}

// TestApply_Ignored checks that fields which the type lacks have no effect, and that the result
// names them.
func TestApply_Ignored(t *testing.T) {
	plan := must(planForType(reflect.TypeFor[kinds](), schema.Rules{}))
	base := fromJSON[merge.Object](
		`{"x":1,"struct":{"y":1,"name":"a"},"parts":[{"z":1}],"labels":{"q":"r"}}`)
	patch := fromJSON[merge.Object](
		`{"x":2,"struct":{"y":2},"pointers":[{"name":"b","labels":{"t":"t"},"part":{"w":1}}],"parts":[{},{"part":{"v":1}}]}`)
	for _, owners := range []bool{false, true} {
		result, err := plan.Apply(&base, []merge.Patch{{Manager: "a", Value: &patch}})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"base .parts[0].z", "base .struct.y", "base .x",
			"manager/a .parts[1].part.v", `manager/a .pointers[name="b"].part.w`,
			"manager/a .struct.y", "manager/a .x"}
		var got []string
		for _, ignored := range notesOf(result.Notes, merge.Ignored) {
			got = append(got, string(ignored.Owner)+" "+ignored.Path.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("owners %v: ignored (-want +got):\n%s", owners, diff)
		}
		value := `{"labels":{"q":"r"},"parts":[{},{"part":{}}],"pointers":[{"labels":{"t":"t"},"name":"b","part":{}}],"struct":{"name":"a"}}`
		if asJSON(result.Value) != value {
			t.Errorf("Apply makes %s, want %s", asJSON(result.Value), value)
		}
	}
}

// TestApply_IgnoredPaths checks the paths of fields that the type lacks, in any kind of value,
// after patches to other fields.
func TestApply_IgnoredPaths(t *testing.T) {
	type holder struct {
		First   []kindsPart          `json:"first,omitempty"`
		Entries map[string]kindsPart `json:"entries,omitempty"`
		Parts   []kindsPart          `json:"parts,omitempty" patchStrategy:"merge"`
	}
	plan := must(planFor[holder](schema.Rules{}))
	for patch, want := range map[string]string{
		`{"first":[{"x":1}]}`:          ".first[0].x",
		`{"entries":{"a":{"x":1}}}`:    `.entries["a"].x`,
		`{"parts":[{"part":{"x":1}}]}`: ".parts[0].part.x",
	} {
		first, object := merge.Object{"first": []any{}}, fromJSON[merge.Object](patch)
		result, err := plan.Apply(
			nil, []merge.Patch{{Manager: "a", Value: &first}, {Manager: "b", Value: &object}})
		if err != nil || len(notesOf(result.Notes, merge.Ignored)) != 1 ||
			notesOf(result.Notes, merge.Ignored)[0].Path.String() != want {
			t.Errorf("Apply(%s) ignores %v, %v, want %s", patch, result, err, want)
		}
	}
}

// TestApply_TypedNull checks which values of a Go patch encode as null: an empty time, not an empty
// quantity.
func TestApply_TypedNull(t *testing.T) {
	type values struct {
		Time     metav1.Time            `json:"time"`
		Quantity resource.Quantity      `json:"quantity"`
		Times    map[string]metav1.Time `json:"times,omitempty"`
		Part     kindsPart              `json:"part"`
	}
	plan := must(planFor[values](schema.Rules{}))
	day := metav1.Unix(1_700_000_000, 0)
	base := values{Time: day, Quantity: resource.MustParse("1"),
		Times: map[string]metav1.Time{"a": day, "b": day}, Part: kindsPart{Name: "a"}}
	patch := values{Times: map[string]metav1.Time{"a": {}, "c": day}}
	result := applied(t, plan, &base, []merge.Patch{{Manager: "a", Value: &patch}})
	want := []string{
		`.part.name base="a"`,
		`.quantity base="1" a="0"`,
		`.time base="2023-11-14T22:13:20Z" a=null`,
		`.times["a"] base="2023-11-14T22:13:20Z" a=null`,
		`.times["b"] base="2023-11-14T22:13:20Z"`,
		`.times["c"] a="2023-11-14T22:13:20Z"`,
	}
	if diff := cmp.Diff(want, claimsOf(result.History)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if value := `{"time":null,"quantity":"0","times":{"b":"2023-11-14T22:13:20Z","c":"2023-11-14T22:13:20Z"},"part":{"name":"a"}}`; asJSON(result.Value) != value {
		t.Errorf("Apply makes %s, want %s", asJSON(result.Value), value)
	}
}

// TestApply_RawClaims checks that a claim keeps JSON of any shape that a later patch replaces in
// place.
func TestApply_RawClaims(t *testing.T) {
	plan := must(planFor[kinds](schema.Rules{}))
	base := &kinds{Raw: runtime.RawExtension{Raw: []byte(`{"base":1}`)}}
	one, other := merge.Object{"raw": "one"}, merge.Object{"raw": int64(2)}
	result := applied(t, plan, base,
		[]merge.Patch{{Manager: "one", Value: &one}, {Manager: "other", Value: &other}})
	if diff := cmp.Diff([]string{`.raw base={"base":1} one="one" other=2`},
		claimsOf(result.History)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

// failing is a type whose JSON does not exist.
type failing struct {
	Text string `json:"text,omitempty"`
}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("has no JSON") }

// TestApply_NoJSON checks that values without JSON are errors.
func TestApply_NoJSON(t *testing.T) {
	type holder struct {
		Failing failing `json:"failing,omitzero"`
	}
	byType := must(planForType(reflect.TypeFor[holder](), schema.Rules{}))
	base := merge.Object{"failing": map[string]any{"text": "a"}}
	if result, err := byType.Apply(&base, nil); err == nil ||
		!strings.Contains(err.Error(), "has no JSON") {
		t.Errorf("Apply = %v, %v, want an error", result, err)
	}
	plan := must(planFor[kinds](schema.Rules{}))
	for want, input := range map[string]struct {
		base  kinds
		patch merge.Object
	}{
		`patch of manager/a: .small: is no JSON: json: unsupported value: NaN`: {
			kinds{}, merge.Object{"small": math.NaN()}},
		`base: json: error calling MarshalJSON for type runtime.RawExtension: `: {
			kinds{Raw: runtime.RawExtension{Raw: []byte("x")}},
			merge.Object{"raw": map[string]any{}},
		},
		`patch of manager/a: .raw: is no JSON: json: unsupported value: NaN`: {
			kinds{}, merge.Object{"raw": math.NaN()}},
	} {
		_, err := plan.Apply(&input.base, []merge.Patch{{Manager: "a", Value: &input.patch}})
		var failed *merge.PatchError
		if !errors.As(err, &failed) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Apply returns %v, want %s", err, want)
		}
	}
}

// TestApply_Allocations checks that scalars of an object need no round trip through JSON: their
// number makes no allocations, but for the name of each element of a set in the history.
func TestApply_Allocations(t *testing.T) {
	plan := must(planFor[kinds](schema.Rules{}))
	for field, value := range map[string]any{"numbers": int64(7), "flags": true, "set": "a"} {
		limit := map[string]float64{"numbers": 50, "flags": 50, "set": 150}[field]
		count := func(n int) float64 {
			list := make([]any, n)
			for i := range list {
				list[i] = value
			}
			patch := merge.Object{field: list}
			return testing.AllocsPerRun(5, func() {
				if _, err := plan.Apply(
					nil, []merge.Patch{{Manager: "a", Value: &patch}}); err != nil {
					t.Fatal(err)
				}
			})
		}
		if few, many := count(10), count(110); many-few > limit {
			t.Errorf("%s: %v allocations for 10 elements, %v for 110", field, few, many)
		}
	}
}

// TestApply_QuantityAllocations checks that a merge of quantities encodes none of them to see
// whether it is null.
func TestApply_QuantityAllocations(t *testing.T) {
	type limits struct {
		Limits map[string]resource.Quantity `json:"limits,omitempty"`
	}
	plan := must(planFor[limits](schema.Rules{}))
	count := func(n int) float64 {
		patch := limits{Limits: map[string]resource.Quantity{}}
		for i := range n {
			patch.Limits[string(rune('a'+i))] = resource.MustParse("1")
		}
		return testing.AllocsPerRun(5, func() {
			if _, err := plan.Apply(
				&patch, []merge.Patch{{Manager: "a", Value: &patch}}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := count(8), count(24); many-few > 16*15 {
		t.Errorf("%v allocations for 8 quantities, %v for 24", few, many)
	}
}

// TestPatches_NoJSON shows that a Go value without JSON is an invalid patch, whatever the base has.
func TestPatches_NoJSON(t *testing.T) {
	plan := must(planForAny(reflect.TypeFor[thing](), schema.Rules{}))
	for _, base := range []any{&thing{}, &thing{Raws: []runtime.RawExtension{{Raw: []byte("1")}}}} {
		var patch any = &thing{Raws: []runtime.RawExtension{{Raw: []byte(`{`)}}}
		_, err := plan.Apply(&base, []merge.Patch{{Manager: "a", Value: &patch}})
		if err == nil || !strings.HasPrefix(err.Error(), "patch of manager/a: ") {
			t.Errorf("Apply returns %v, want an error", err)
		}
	}
}

// TestPatches_Foreign shows that an object may hold values of other Go types: their JSON counts. A
// value without JSON is an error in a field that the type has.
func TestPatches_Foreign(t *testing.T) {
	plan := must(planFor[corev1.PodSpec](schema.Rules{}))
	cyclic := merge.Object{}
	cyclic["nodeSelector"], cyclic["affinity"], cyclic["other"] = cyclic, cyclic, []any{cyclic}
	priority := int32(1)
	patch := merge.Object{
		"nodeSelector": map[string]string{"a": "b"},
		"containers":   []corev1.Container{{Name: "main", Image: "a"}},
		"volumes":      []merge.Object{{"name": "v"}},
		"priority":     &priority,
		"hostname":     nil,
		"other":        []any{make(chan int), math.NaN(), cyclic},
	}
	result, err := plan.Apply(&corev1.PodSpec{}, []merge.Patch{{Manager: "a", Value: &patch}})
	if err != nil {
		t.Fatal(err)
	}
	want := corev1.PodSpec{
		NodeSelector: map[string]string{"a": "b"},
		Containers:   []corev1.Container{{Name: "main", Image: "a"}},
		Volumes:      []corev1.Volume{{Name: "v"}}, Priority: &priority,
	}
	if diff := cmp.Diff(want, result.Value); diff != "" {
		t.Errorf("Apply makes (-want +got):\n%s", diff)
	}
	if len(notesOf(result.Notes, merge.Ignored)) != 1 ||
		notesOf(result.Notes, merge.Ignored)[0].Path.String() != ".other" {
		t.Errorf("Apply ignores %v, want .other", notesOf(result.Notes, merge.Ignored))
	}
	alone := merge.Object{"securityContext": corev1.PodSecurityContext{FSGroup: new(int64)}}
	if result, err = plan.Apply(nil, []merge.Patch{{Manager: "a", Value: &alone}}); err != nil {
		t.Fatal(err)
	}
	want = corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64)}}
	if diff := cmp.Diff(want, result.Value); diff != "" {
		t.Errorf("Apply makes (-want +got):\n%s", diff)
	}
	for want, patch := range map[string]merge.Object{
		"contains itself": {"nodeSelector": cyclic},
		`.containers[0].args[1]: json: unsupported type: chan int`: {
			"containers": []any{merge.Object{"name": "a", "args": []any{"a", make(chan int)}}}},
		`.overhead: json: unsupported value: NaN`: {
			"overhead": map[string]float64{"cpu": math.NaN()}},
		`.priority: is no JSON: json: unsupported value: NaN`: {"priority": math.NaN()},
		`.priority: is no JSON: json: unsupported value: +Inf`: {
			"priority": math.Inf(1), "nodeSelector": map[string]string{}},
		"$patch: unknown directive \"map[]\"": {"$patch": map[string]string{}},
	} {
		if _, err := plan.Apply(nil, []merge.Patch{{Manager: "a", Value: &patch}}); err == nil ||
			err.Error() != "patch of manager/a: "+want {
			t.Errorf("Apply returns %v, want %s", err, want)
		}
	}
}

// TestPatches_Cyclic shows that a Go value that contains itself is an error.
func TestPatches_Cyclic(t *testing.T) {
	type nested struct {
		Name string   `json:"name,omitempty"`
		Next *nested  `json:"next,omitempty"`
		List []nested `json:"list,omitempty"`
	}
	plan := must(planFor[nested](schema.Rules{}))
	next, list := nested{Name: "a"}, nested{List: make([]nested, 1)}
	next.Next, list.List[0].List = &next, list.List
	for name, patch := range map[string]*nested{"a pointer": &next, "a list": &list} {
		_, err := plan.Apply(nil, []merge.Patch{{Manager: "a", Value: patch}})
		if err == nil || err.Error() != "patch of manager/a: contains itself" {
			t.Errorf("%s: Apply returns %v", name, err)
		}
	}
}

// TestApply_Quantity holds that a quantity whose value would take hours to compute is an error in a
// patch.
func TestApply_Quantity(t *testing.T) {
	plan := must(planFor[corev1.PodSpec](schema.Rules{}))
	for _, text := range []string{"1e99999999", "1e-99999999"} {
		for _, patch := range []merge.Object{
			{"overhead": merge.Object{"cpu": text}},
			{"volumes": []any{
				merge.Object{"name": "a", "emptyDir": merge.Object{"sizeLimit": text}}}},
			{"volumes": []any{
				merge.Object{
					"name": "a", "ephemeral": merge.Object{
						"volumeClaimTemplate": merge.Object{
							"spec": merge.Object{
								"resources": merge.Object{
									"requests": merge.Object{"storage": text}}}}}}}},
		} {
			_, err := plan.Apply(&corev1.PodSpec{}, []merge.Patch{{Manager: "a", Value: &patch}})
			if err == nil || !strings.Contains(err.Error(), "must have an exponent") {
				t.Errorf("Apply(%v) = %v", patch, err)
			}
		}
	}
}
