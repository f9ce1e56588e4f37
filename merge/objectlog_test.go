package merge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/merge"
)

// TestOwnership_Write_Object shows what later layers write into an object.
func TestOwnership_Write_Object(t *testing.T) {
	const base = `{"count": 1, "labels": {"x": "1"}, "inner": {"a": "x"}, "tags": ["x"], "selector": {"app": "x"}, "values": {"x": {"y": 1}, "z": [1]},
		"boxes": [{"name": "x", "size": 1}], "hosts": [{"name": "x", "zone": "p"}], "ports": [{"port": 80}, {"port": "80"}, {"port": "\u0001"}], "numbers": [1]}`
	patches := []string{
		`a {"count": 2, "labels": {"x": "2"}, "boxes": [{"name": "x", "size": 2}], "hosts": [{"name": "x", "zone": "p"}], "ports": [{"port": 80}, {"port": "\u0001"}], "tags": ["x"], "numbers": [1]}`}
	all := claimsOf(shapesResult(t, base, patches...).History)
	type write struct {
		Layer, Path, Before, Now string
		Changes                  bool
	}
	for _, tc := range casefile.Table[struct {
		Name   string
		Writes []write
		Value  string   // the fields of the object after the writes
		Less   []string // the lines that the history loses
		More   []string // the lines that it gets
		Fields []string // a line for each of the layers that write
	}](t, "testdata/writes.yaml") {
		t.Run(tc.Name, func(t *testing.T) {
			result := shapesResult(t, base, patches...)
			for _, w := range tc.Writes {
				path, err := fieldpath.ParsePath(w.Path)
				if err != nil {
					t.Fatal(err)
				}
				before, now := fromJSON[any](w.Before), fromJSON[any](w.Now)
				writes(result.History, merge.Owner(w.Layer), merge.Origin{Always: !w.Changes}, path)(
					before, now)
			}
			value, _ := fromJSON[any](tc.Value).(merge.Object)
			for name, field := range value {
				if result.Value[name] = field; field == nil {
					delete(result.Value, name)
				}
			}
			history := claimsOf(result.History)
			without := func(lines, others []string) []string {
				return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
					return slices.Contains(others, line)
				})
			}
			if diff := cmp.Diff(tc.Less, without(all, history), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the history loses (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.More, without(history, all), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the history gets (-want +got):\n%s", diff)
			}
			stopAnywhere(result.History, len(history))
			fields := slices.DeleteFunc(fieldsOf(result.History), func(line string) bool {
				return line[0] != 'd' && line[0] != 'e' || strings.HasSuffix(line, " owns {}")
			})
			if diff := cmp.Diff(tc.Fields, fields, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("FieldsV1() (-want +got):\n%s", diff)
			}
		})
	}
}

// shapesResult applies patches such as `a {"on": true}` to a base.
func shapesResult(t testing.TB, base string, patches ...string) *merge.Result[merge.Object] {
	t.Helper()
	object := exactObject(base)
	return applied(t, objectPlan(shapesSchema), &object, patchesOf(exactObject, patches...))
}

// TestOwnership_Write_NoElement checks that a path to an object in a set of strings leads nowhere.
func TestOwnership_Write_NoElement(t *testing.T) {
	result := shapesResult(t, `{"tags": ["x"]}`)
	tag := fieldpath.Fields("tags").Append(fieldpath.ElementOf(merge.Object{}))
	writes(result.History, "d", anew, tag)(nil, merge.Object{})
	if diff := cmp.Diff([]string{`.tags[="x"] base=present`},
		claimsOf(result.History)); diff != "" {
		t.Errorf("All() (-want +got):\n%s", diff)
	}
}

// TestObject_Sources checks the source of each claim. It is a place in the document of the base, of
// a patch or of a later layer.
func TestObject_Sources(t *testing.T) {
	base, patch := merge.Object{"inner": merge.Object{"a": "x"}, "count": int64(1)},
		merge.Object{"count": int64(2)}
	result, err := objectPlan(shapesSchema).Apply(&base, []merge.Patch{
		{Manager: "a", Value: &patch, At: fieldpath.Fields("patches").Append(fieldpath.Index(0))},
	}, merge.Base(merge.BaseLayer, fieldpath.Fields("base")))
	if err != nil {
		t.Fatal(err)
	}
	inner := merge.Object{"a": "y", "b": "z"}
	writes(result.History, "d", merge.Origin{Path: fieldpath.Fields("policy")},
		fieldpath.Fields("inner"))(result.Value["inner"], inner)
	writes(result.History, "e",
		merge.Origin{Path: fieldpath.Fields("policy", "count"), Computed: true},
		fieldpath.Fields("count"))(int64(2), int64(3))
	result.Value["inner"], result.Value["count"] = inner, int64(3)
	got := sourcesOf(result.History)
	if diff := cmp.Diff(
		[]string{`.count .base.count .patches[0].count .policy.count`,
			`.inner.a .base.inner.a .policy.a`, `.inner.b .policy.b`}, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

// TestObject_Ignored checks that FieldsV1 omits the ignored fields of an object.
func TestObject_Ignored(t *testing.T) {
	owners := shapesResult(t, `{"on": true, "labels": {"z": "1"}}`,
		`a {"count": 2, "labels": {"x": "2", "y": "2"}}`).History
	got := map[merge.Owner]string{}
	for layer, fields := range owners.FieldsV1(func(path fieldpath.Path) bool {
		return slices.Contains([]string{".on", `.labels["y"]`}, path.String())
	}) {
		got[layer] = string(fields)
	}
	want := map[merge.Owner]string{merge.BaseLayer: `{"f:labels":{"f:z":{}}}`,
		merge.Manager("a"): `{"f:count":{},"f:labels":{"f:x":{}}}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("FieldsV1() (-want +got):\n%s", diff)
	}
}
