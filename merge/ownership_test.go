package merge_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// owned has a field of each kind, so that a case needs few fields.
type owned struct {
	Name     string            `json:"name,omitempty"`
	Count    int               `json:"count"` // the encoding always has it
	Size     *int              `json:"size,omitempty"`
	Box      *ownedBox         `json:"box,omitempty"`
	Value    ownedBox          `json:"value,omitempty"` // the encoding always has it
	Labels   map[string]string `json:"labels,omitempty"`
	Tags     map[string]string `json:"tags"` // the encoding has an empty one
	Items    []ownedPart       `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Pointers []*ownedPart      `json:"pointers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Marks    []string          `json:"marks,omitempty" patchStrategy:"merge"`
	Args     []string          `json:"args,omitempty"`
	Zone     string            `json:"zone,omitempty"`
}

type ownedPart struct {
	Name string    `json:"name,omitempty"`
	Size int       `json:"size,omitempty"`
	Box  *ownedBox `json:"box,omitempty"`
}

type ownedBox struct {
	A     string            `json:"a,omitempty"`
	B     string            `json:"b,omitempty"`
	Inner *ownedBox         `json:"inner,omitempty"`
	Flat  ownedFlat         `json:"flat,omitempty"`
	Parts []ownedPart       `json:"parts" patchStrategy:"merge" patchMergeKey:"name"`
	Marks []string          `json:"marks" patchStrategy:"merge"`
	Notes map[string]string `json:"notes"`
	Args  []string          `json:"args,omitempty"`
}

type ownedFlat struct {
	C string `json:"c,omitempty"`
	D string `json:"d,omitempty"`
}

// ownedResult applies patches such as `a {"name": "x"}` to a base. The patch `a typed {"name":
// "x"}` is a value of the Go type.
func ownedResult(t *testing.T, base string, patches []string) *merge.Result[any] {
	t.Helper()
	from := any(fromJSON[*owned](base))
	return applied(
		t, must(planForAny(reflect.TypeFor[owned](), schema.Rules{AllowDuplicateKeys: true})),
		&from, patchesOf(func(text string) any {
			if typed, ok := strings.CutPrefix(text, "typed "); ok {
				return fromJSON[*owned](typed)
			}
			return exactJSON(text)
		}, patches...))
}

// flagsOf returns a line for each patched field about which there is more to say than its claims.
func flagsOf(owners *merge.History) []string {
	var lines []string
	for f := range owners.Patched() {
		line := f.Path().String() + ":"
		for _, flag := range []struct {
			name string
			is   bool
		}{
			{"contested", f.Contested()}, {"made", f.IsMade()}, {"null", f.HasNull()},
			{"several", f.HasSeveral()}, {"overrides", f.Overrides()},
			{"replaced", f.Replaced()}, {"by value", f.IsByValue()},
		} {
			if flag.is {
				line += " " + flag.name
			}
		}
		if !strings.HasSuffix(line, ":") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestOwnership shows the claims on each field, and the properties of the patched fields.
func TestOwnership(t *testing.T) {
	five := 5
	for _, tc := range []struct {
		name    string
		base    string
		patches []string
		write   func(owners *merge.History, value *owned)
		history []string
		flags   []string
	}{
		{"a base", `{"name": "n", "count": 1, "size": 2, "labels": {"x": "1"}, "items": [{"name": "x", "size": 1}], "pointers": [{"name": "y", "size": 2}, null], "marks": ["p"], "args": [], "zone": "z"}`, nil, nil, []string{
			`.count base=1`,
			`.items[name="x"] base=present`,
			`.items[name="x"].size base=1`,
			`.labels["x"] base="1"`,
			`.marks[="p"] base=present`,
			`.name base="n"`,
			`.pointers[name="y"] base=present`,
			`.pointers[name="y"].size base=2`,
			`.pointers[name=""] base=present`,
			`.size base=2`,
			`.zone base="z"`,
		}, []string{`: by value`}},
		{"twins of a base",
			`{"items": [{"name": "x", "size": 1}, {"name": "x", "size": 2}, {"size": 3}], "marks": ["p", "q", "p"], "zone": "z"}`, nil, nil, []string{
				`.count base=0`,
				`.items[name="x"] base=present`,
				`.items[name="x"].size base=1`,
				`.items[1] base=present`,
				`.items[1].name base="x"`,
				`.items[1].size base=2`,
				`.items[name=""] base=present`,
				`.items[name=""].size base=3`,
				`.marks[="p"] base=present`,
				`.marks[="q"] base=present`,
				`.zone base="z"`,
			}, []string{`: by value`}},
		{"empty structs", `{"items": [
			{"name": "1", "box": {}}, {"name": "2", "box": {"parts": [], "marks": [], "notes": {}, "flat": {}}}, {"name": "3", "box": {"flat": {"c": "x"}}}, {"name": "4", "box": {"parts": [{}]}},
			{"name": "5", "box": {"marks": ["x"]}}, {"name": "6", "box": {"notes": {"x": "y"}}}, {"name": "7", "box": {"inner": {}}}, {"name": "8", "box": {"args": ["x"]}}, {"name": "9", "box": {"a": "x"}}]}`, nil, nil, []string{
			`.count base=0`,
			`.items[name="1"] base=present`,
			`.items[name="1"].box base=present`,
			`.items[name="2"] base=present`,
			`.items[name="2"].box base=present`,
			`.items[name="3"] base=present`,
			`.items[name="3"].box.flat.c base="x"`,
			`.items[name="4"] base=present`,
			`.items[name="4"].box.parts[name=""] base=present`,
			`.items[name="5"] base=present`,
			`.items[name="5"].box.marks[="x"] base=present`,
			`.items[name="6"] base=present`,
			`.items[name="6"].box.notes["x"] base="y"`,
			`.items[name="7"] base=present`,
			`.items[name="7"].box.inner base=present`,
			`.items[name="8"] base=present`,
			`.items[name="8"].box.args base=["x"]`,
			`.items[name="9"] base=present`,
			`.items[name="9"].box.a base="x"`,
		}, []string{`: by value`}},
		{"a scalar", `{"name": "n"}`,
			[]string{`a {"name": "x", "size": 1, "count": 0}`,
				`b {"name": "y", "size": 1, "count": null}`}, nil, []string{
				`.count base=0 a=0 b=null`,
				`.name base="n" a="x" b="y"`,
				`.size a=1 b=1`,
			}, []string{
				`: several by value`,
				`.count: null overrides by value`,
				`.name: contested overrides by value`,
			}},
		{"equal values", `{"name": "n", "size": 1}`,
			[]string{`a {"name": "n", "size": 1}`, `b {"name": "x"}`, `a {"name": "n"}`}, nil,
			[]string{
				`.count base=0`,
				`.name base="n" a="n" b="x" a="n"`,
				`.size base=1 a=1`,
			}, []string{
				`: several by value`,
				`.name: contested by value`,
			}},
		{"an entry", `{"labels": {"x": "1", "y": "1"}}`,
			[]string{`a {"labels": {"x": "2", "z": "2"}}`, `b {"labels": {"y": null, "v": null}}`},
			nil, []string{
				`.count base=0`,
				`.labels["v"] b=null`,
				`.labels["x"] base="1" a="2"`,
				`.labels["y"] base="1" b=null`,
				`.labels["z"] a="2"`,
			}, []string{
				`: by value`,
				`.labels: several by value`,
				`.labels["x"]: overrides`,
				`.labels["v"]: null`,
				`.labels["y"]: null overrides`,
			}},
		{"a removed map", `{"labels": {"x": "1"}, "tags": {"y": "1"}, "zone": "z"}`,
			[]string{`a {"labels": null, "tags": null}`, `b {"labels": {"x": "2"}}`}, nil, []string{
				`.count base=0`,
				`.labels a=null b=present`,
				`.labels["x"] base="1" a=null b="2"`,
				`.tags a=null`,
				`.tags["y"] base="1" a=null`,
				`.zone base="z"`,
			}, []string{
				`: several by value`,
				`.labels: null by value`,
				`.labels["x"]: overrides`,
				`.tags: null by value`,
			}},
		{"an empty map", `{"zone": "z"}`, []string{`a {"tags": {}, "labels": {}}`}, nil, []string{
			`.count base=0`,
			`.tags a=present`,
			`.zone base="z"`,
		}, []string{
			`: several by value`,
			`.labels: by value`,
			`.tags: by value`,
		}},
		{"a struct that a patch makes", `{}`,
			[]string{`a {"box": {"a": "x", "flat": {"c": "y"}}}`, `b {"box": {"b": "x"}}`}, nil,
			[]string{
				`.box.a a="x"`,
				`.box.b b="x"`,
				`.box.flat.c a="y"`,
				`.count base=0`,
			}, []string{
				`: by value`,
				`.box: made several`,
				`.box.a: made by value`,
				`.box.flat: made by value`,
				`.box.flat.c: made by value`,
				`.box.b: made by value`,
			}},
		{"an empty struct that a patch makes", `{}`,
			[]string{`a {"box": {}}`, `a typed {"pointers": [{"name": "x", "box": {}}]}`}, nil,
			[]string{
				`.box a=present`,
				`.count base=0 a=0`,
				`.pointers[name="x"] a=present`,
				`.pointers[name="x"].box a=present`,
				`.pointers[name="x"].box.marks a=null`,
				`.pointers[name="x"].box.notes a=null`,
				`.pointers[name="x"].box.parts a=null`,
				`.tags a=null`,
				`.value.marks a=null`,
				`.value.notes a=null`,
				`.value.parts a=null`,
			}, []string{
				`: several by value`,
				`.box: made`,
				`.count: by value`,
				`.value: several by value`,
				`.value.flat: by value`,
				`.value.parts: null by value`,
				`.value.marks: null by value`,
				`.value.notes: null by value`,
				`.tags: null by value`,
				`.pointers: by value`,
				`.pointers[name="x"]: made`,
				`.pointers[name="x"].box: made several`,
				`.pointers[name="x"].box.flat: made by value`,
				`.pointers[name="x"].box.parts: made null by value`,
				`.pointers[name="x"].box.marks: made null by value`,
				`.pointers[name="x"].box.notes: made null by value`,
			}},
		{"a removed struct", `{"box": {"a": "x", "inner": {"b": "y"}}, "zone": "z"}`,
			[]string{`a {"box": {"a": "y"}}`, `b {"box": null}`,
				`c {"box": {"inner": {"a": "z"}}}`}, nil, []string{
				`.box b=null c=present`,
				`.box.a base="x" a="y" b=null`,
				`.box.inner.a c="z"`,
				`.box.inner.b base="y" b=null`,
				`.count base=0`,
				`.zone base="z"`,
			}, []string{
				`: by value`,
				`.box: made null several`,
				`.box.a: made overrides by value`,
				`.box.inner: made several`,
				`.box.inner.b: made by value`,
				`.box.inner.flat: made by value`,
				`.box.flat: made by value`,
				`.box.inner.a: made by value`,
			}},
		{"a removed struct that is empty", `{"box": {}}`, []string{`a {"box": null}`}, nil,
			[]string{
				`.box base=present a=null`,
				`.count base=0`,
			}, []string{
				`: by value`,
				`.box: null overrides`,
				`.box.flat: by value`,
			}},
		{"a deleted item", `{"items": [{"name": "x", "size": 1}, {"name": "y"}], "zone": "z"}`,
			[]string{`a {"items": [{"name": "x", "$patch": "delete"}]}`,
				`b {"items": [{"name": "z", "$patch": "delete"}]}`}, nil, []string{
				`.count base=0`,
				`.items[name="y"] base=present`,
				`.items[name="x"] base=present a=null`,
				`.items[name="x"].size base=1 a=null`,
				`.items[name="z"] b=null`,
				`.zone base="z"`,
			}, []string{
				`: by value`,
				`.items: several by value`,
				`.items[name="x"]: null overrides`,
				`.items[name="x"].size: by value`,
				`.items[name="z"]: null`,
			}},
		{"a replaced list", `{"items": [{"name": "x", "size": 1}], "args": ["p"], "zone": "z"}`,
			[]string{`a {"items": [{"$patch": "replace"}, {"name": "y"}], "args": ["q"]}`}, nil,
			[]string{
				`.args base=["p"] a=["q"]`,
				`.count base=0`,
				`.items a=null a=present`,
				`.items[name="y"] a=present`,
				`.items[name="x"] base=present a=null`,
				`.items[name="x"].size base=1 a=null`,
				`.zone base="z"`,
			}, []string{
				`: several by value`,
				`.args: overrides by value`,
				`.items: null several by value`,
				`.items[name="x"].size: by value`,
				`.items[name="y"]: made`,
			}},
		{"deleted elements", `{"marks": ["p", "q"], "zone": "z"}`,
			[]string{`a {"$deleteFromPrimitiveList/marks": ["p", "r"]}`, `b {"marks": ["q", "s"]}`},
			nil, []string{
				`.count base=0`,
				`.marks[="q"] base=present b=present`,
				`.marks[="s"] b=present`,
				`.marks[="p"] base=present a=null`,
				`.marks[="r"] a=null`,
				`.zone base="z"`,
			}, []string{
				`: by value`,
				`.marks: several by value`,
				`.marks[="p"]: null overrides`,
				`.marks[="r"]: null`,
			}},
		{"items that a patch adds", `{"items": [{"name": "x", "size": 1}]}`,
			[]string{`a typed {"items": [{"name": "y", "size": 1, "box": {"a": "x"}}], "pointers": [{"name": "z", "size": 1}]}`, `b {"items": [{"name": "y", "size": 2}]}`}, nil, []string{
				`.count base=0 a=0`,
				`.items[name="y"] a=present b=present`,
				`.items[name="y"].box.a a="x"`,
				`.items[name="y"].box.marks a=null`,
				`.items[name="y"].box.notes a=null`,
				`.items[name="y"].box.parts a=null`,
				`.items[name="y"].size a=1 b=2`,
				`.items[name="x"] base=present`,
				`.items[name="x"].size base=1`,
				`.pointers[name="z"] a=present`,
				`.pointers[name="z"].size a=1`,
				`.tags a=null`,
				`.value.marks a=null`,
				`.value.notes a=null`,
				`.value.parts a=null`,
			}, []string{
				`: several by value`,
				`.count: by value`,
				`.value: several by value`,
				`.value.flat: by value`,
				`.value.parts: null by value`,
				`.value.marks: null by value`,
				`.value.notes: null by value`,
				`.tags: null by value`,
				`.items: by value`,
				`.items[name="y"]: made several`,
				`.items[name="y"].size: contested made by value`,
				`.items[name="y"].box: made several`,
				`.items[name="y"].box.a: made by value`,
				`.items[name="y"].box.flat: made by value`,
				`.items[name="y"].box.parts: made null by value`,
				`.items[name="y"].box.marks: made null by value`,
				`.items[name="y"].box.notes: made null by value`,
				`.pointers: by value`,
				`.pointers[name="z"]: made`,
				`.pointers[name="z"].size: made by value`,
			}},
		{"twins that a patch adds", `{}`,
			[]string{`a typed {"items": [{"name": "x", "size": 1}, {"name": "x", "size": 2}], "zone": "z"}`}, nil, []string{
				`.count base=0 a=0`,
				`.items[name="x"] a=present a=present`,
				`.items[name="x"].size a=1 a=2`,
				`.items[1] a=present`,
				`.items[1].name a="x"`,
				`.items[1].size a=2`,
				`.tags a=null`,
				`.value.marks a=null`,
				`.value.notes a=null`,
				`.value.parts a=null`,
				`.zone a="z"`,
			}, []string{
				`: several by value`,
				`.count: by value`,
				`.value: several by value`,
				`.value.flat: by value`,
				`.value.parts: null by value`,
				`.value.marks: null by value`,
				`.value.notes: null by value`,
				`.tags: null by value`,
				`.items: by value`,
				`.items[name="x"]: made`,
				`.items[name="x"].size: made by value`,
				`.zone: by value`,
			}},
		{"a replaced value", `{"name": "n", "zone": "z"}`,
			[]string{`a {"$patch": "replace", "name": "x"}`, `b {"zone": "y"}`}, nil, []string{
				`.count base=0 a=null`,
				`.name base="n" a=null a="x"`,
				`.zone base="z" a=null b="y"`,
			}, []string{
				`: null several by value`,
				`.name: overrides by value`,
				`.count: by value`,
				`.value: by value`,
				`.value.flat: by value`,
				`.zone: overrides by value`,
			}},
		{"kept fields", `{"name": "n", "zone": "z", "box": {"a": "x"}}`,
			[]string{`a {"$retainKeys": ["name", "box"], "name": "x", "box": {"$retainKeys": ["b"], "b": "y"}}`, `b {"zone": "y"}`}, nil, []string{
				`.box.a base="x" a=null`,
				`.box.b a="y"`,
				`.count base=0`,
				`.name base="n" a="x"`,
				`.zone base="z" a=null b="y"`,
			}, []string{
				`: several by value`,
				`.zone: contested null overrides by value`,
				`.box: several`,
				`.box.a: null overrides by value`,
				`.box.b: by value`,
				`.name: overrides by value`,
			}},
		{"a write", `{"name": "n", "zone": "z", "size": 5}`,
			[]string{`a {"name": "x", "size": 5}`, `b {"zone": "z"}`},
			func(owners *merge.History, value *owned) {
				value.Name, value.Zone = "y", "z"
				writes(owners, "d", anew, fieldpath.Fields("name"))("x", "y")
				writes(owners, "d", anew, fieldpath.Fields("zone"))("z", "z")
				writes(owners, "d", anew, fieldpath.Fields("size"))(&five, 5)
			}, []string{
				`.count base=0`,
				`.name base="n" a="x" d="y"`,
				`.size base=5 a=5 d=5`,
				`.zone base="z" b="z" d="z"`,
			}, []string{
				`: several by value`,
				`.name: overrides replaced by value`,
				`.zone: by value`,
			}},
		{"a write of what no patch sets", `{"name": "n"}`, nil,
			func(owners *merge.History, value *owned) {
				value.Name, value.Zone = "y", "z"
				writes(owners, "d", anew, fieldpath.Fields("name"))("n", "y")
				writes(owners, "d", anew, fieldpath.Fields("zone"))(nil, "z")
			}, []string{
				`.count base=0`,
				`.name base="n" d="y"`,
				`.zone d="z"`,
			}, []string{
				`: several by value`,
				`.name: overrides replaced by value`,
				`.zone: by value`,
			}},
		{"a write of nothing", `{"zone": "z", "items": [{"name": "x"}]}`, nil,
			func(owners *merge.History, value *owned) {
				writes(owners, "d", anew, fieldpath.Fields("name"))(nil, nil)
				writes(owners, "d", anew, fieldpath.Fields("items").Append(
					fieldpath.Item("name", "y"), fieldpath.Field("size")))(nil, nil)
				writes(owners, "d", anew, fieldpath.Fields("box"))(nil, nil)
			}, []string{
				`.count base=0`,
				`.items[name="x"] base=present`,
				`.zone base="z"`,
			}, []string{
				`: several by value`,
				`.name: by value`,
				`.items: by value`,
				`.items[name="y"].size: by value`,
			}},
		{"two writes", `{"name": "n"}`, []string{`a {"name": "x"}`},
			func(owners *merge.History, value *owned) {
				value.Name = "x"
				writes(owners, "d", anew, fieldpath.Fields("name"))("x", "y")
				writes(owners, "e", anew, fieldpath.Fields("name"))("y", "x")
			}, []string{
				`.count base=0`,
				`.name base="n" a="x" d="y" e="x"`,
			}, []string{
				`: by value`,
				`.name: overrides replaced by value`,
			}},
		{"fields of the base after twins of a patch", `{"zone": "z"}`,
			[]string{`a {"items": [{"name": "x"}, {"name": "x"}]}`}, nil, []string{
				`.count base=0`,
				`.items[name="x"] a=present a=present`,
				`.items[1] a=present`,
				`.items[1].name a="x"`,
				`.zone base="z"`,
			}, []string{
				`: by value`,
				`.items: by value`,
				`.items[name="x"]: made`,
			}},
		{"fields of the base after an item of a patch",
			`{"items": [{"name": "x", "size": 1}], "zone": "z"}`,
			[]string{`a typed {"items": [{"name": "y", "size": 2}]}`}, nil, []string{
				`.count base=0 a=0`,
				`.items[name="y"] a=present`,
				`.items[name="y"].size a=2`,
				`.items[name="x"] base=present`,
				`.items[name="x"].size base=1`,
				`.tags a=null`,
				`.value.marks a=null`,
				`.value.notes a=null`,
				`.value.parts a=null`,
				`.zone base="z"`,
			}, []string{
				`: several by value`,
				`.count: by value`,
				`.value: several by value`,
				`.value.flat: by value`,
				`.value.parts: null by value`,
				`.value.marks: null by value`,
				`.value.notes: null by value`,
				`.tags: null by value`,
				`.items: by value`,
				`.items[name="y"]: made`,
				`.items[name="y"].size: made by value`,
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result := ownedResult(t, tc.base, tc.patches)
			if tc.write != nil {
				tc.write(result.History, result.Value.(*owned))
			}
			history := claimsOf(result.History)
			if diff := cmp.Diff(tc.history, history); diff != "" {
				t.Errorf("All() (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.flags, flagsOf(result.History)); diff != "" {
				t.Errorf("Patched() (-want +got):\n%s", diff)
			}
			stopAnywhere(result.History, len(history))
		})
	}
}

// TestOwnership_Zero checks that the zero values and nil have no fields.
func TestOwnership_Zero(t *testing.T) {
	for _, owners := range []*merge.History{nil, {}} {
		owners.Rename(nil)
		writes(owners, "d", anew, fieldpath.Fields("a"))(nil, 1)
		writes(owners, "d", merge.Origin{}, fieldpath.Fields("a"))(nil, 1)
		if history := claimsOf(owners); history != nil {
			t.Errorf("All() = %v, want none", history)
		}
		if layers := owners.Owners(); len(layers) != 1 || layers[0] != merge.BaseLayer {
			t.Errorf("Layers() = %v, want the base", layers)
		}
		if flags := flagsOf(owners); len(flags) != 1 || flags[0] != ": by value" {
			t.Errorf("Patched() = %v, want the root", flags)
		}
	}
	var field merge.PatchedField
	for range field.Children() {
		t.Error("Children() of the zero field has fields")
	}
	if field.Name() != "" || field.Type().Kind != schema.Struct || len(field.Path()) > 0 ||
		field.Claims() != nil || field.IsEmptied(merge.BaseLayer) {
		t.Errorf("the zero field has %q, %v and %v", field.Name(), field.Path(), field.Claims())
	}
}

// TestOwnership_Rename checks the layers and sources after a renaming, which sees the whole claim.
func TestOwnership_Rename(t *testing.T) {
	owners := ownedResult(t, `{"zone": "z"}`,
		[]string{`a {"zone": "y", "box": {"$patch": "delete"}, "value": {"$retainKeys": ["a"], "a": "x"}}`}).History
	writes(owners, "d", merge.Origin{Path: fieldpath.Fields("policy")},
		fieldpath.Fields("zone"))("y", "x")
	owners.Rename(func(c merge.Claim) merge.Claim {
		c.Owner += "'"
		if c.At != nil {
			c.At = fieldpath.Fields("in").Append(c.At...)
		}
		return c
	})
	if diff := cmp.Diff([]merge.Owner{"base'", "manager/a'", "d'"}, owners.Owners()); diff != "" {
		t.Errorf("Layers() (-want +got):\n%s", diff)
	}
	for f := range owners.Patched() {
		if f.Path().String() == ".box" && (!f.IsEmptied("manager/a'") || f.IsEmptied("manager/a") ||
			f.IsEmptied("d'")) {
			t.Error("IsEmptied() does not know the new name")
		}
		if f.Path().String() == ".value" && f.IsEmptied("manager/a'") {
			t.Error("IsEmptied() of a field that the directive does not empty")
		}
	}
	got := linesOf(owners, func(c merge.Claim) string {
		return string(c.Owner) + " " + c.At.String()
	})
	if diff := cmp.Diff(
		[]string{".count base' .in.count", ".value.a manager/a' .in.value.a",
			".zone base' .in.zone manager/a' .in.zone d' .policy"}, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

// TestOwnership_Sources checks the sources of a base and of patches, also of fields without claims
// of their own.
func TestOwnership_Sources(t *testing.T) {
	plan := must(planFor[owned](schema.Rules{}))
	base, patch := fromJSON[*owned](`{"name": "n", "tags": {"x": "1"}}`),
		&owned{Count: 1, Tags: map[string]string{"y": "1"}, Value: ownedBox{Marks: []string{"m"}}}
	patch.Items = []ownedPart{{Name: "i", Size: 1}}
	result, err := plan.Apply(
		base, []merge.Patch{{Manager: "a", Value: patch, At: fieldpath.Fields("patches")}},
		merge.Base(merge.BaseLayer, fieldpath.Fields("template")))
	if err != nil {
		t.Fatal(err)
	}
	got := sourcesOf(result.History)
	want := []string{
		`.count .template.count .patches.count`,
		`.items[name="i"] .patches.items[name="i"]`,
		`.items[name="i"].size .patches.items[name="i"].size`,
		`.name .template.name`,
		`.tags["x"] .template.tags["x"]`,
		`.tags["y"] .patches.tags["y"]`,
		`.value.marks[="m"] .patches.value.marks[="m"]`,
		`.value.notes .patches.value.notes`,
		`.value.parts .patches.value.parts`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

// TestSources shows that the source of a claim begins with the place of its base or its patch. The
// path of the field follows.
func TestSources(t *testing.T) {
	plan := must(planFor[document](schema.Rules{}))
	first, second := fieldpath.Fields("patches", "first"), fieldpath.Fields("patches", "second")
	for _, place := range []fieldpath.Path{nil, fieldpath.Fields("spec")} {
		result, err := plan.Apply(&document{Name: "x", Mode: "m"}, []merge.Patch{
			{Manager: "a", Value: &merge.Object{"name": "y"}, At: first},
			{Manager: "b", Value: &merge.Object{"name": "z"}, At: second},
			{Manager: "c", Value: &merge.Object{"name": "z"}},
		}, merge.Base(merge.BaseLayer, place))
		if err != nil {
			t.Fatal(err)
		}
		in := place.String()
		want := []string{
			".mode " + in + ".mode",
			".name " + in + ".name .patches.first.name .patches.second.name .name"}
		if d := cmp.Diff(want, sourcesOf(result.History)); d != "" {
			t.Errorf("sources (-want +got):\n%s", d)
		}
	}
}

// TestOwnership_Reached omits the fields and the items that no patch names.
func TestOwnership_Reached(t *testing.T) {
	base := fromJSON[thing](`{"parts": [{"name": "a", "image": "x"}, {"name": "b"}], "count": 1}`)
	plan := must(planFor[thing](schema.Rules{}))
	var got []string
	for path := range applied(t, plan, &base,
		patchesOf(fromJSON[merge.Object], `m {"parts": [{"name": "b"}]}`)).History.Reached() {
		got = append(got, path.String())
	}
	if want := []string{`.parts[name="b"]`}; !slices.Equal(got, want) {
		t.Errorf("Reached yields %v, want %v", got, want)
	}
}

// TestPatchedField_Overrides reports no field for which a policy kept the base's value.
func TestPatchedField_Overrides(t *testing.T) {
	base := fromJSON[thing](`{"count": 1}`)
	plan := must(planFor[thing](schema.Rules{}))
	for options, want := range map[string]bool{"": true, "protected=count": false} {
		o := readOptions(options)
		result := must(
			plan.Apply(&base, patchesOf(fromJSON[merge.Object], `m {"count": 2}`), o.list()...))
		for f := range result.History.Patched() {
			if f.Path().String() == ".count" && f.Overrides() != want {
				t.Errorf("with %q, Overrides() = %v, want %v", options, !want, want)
			}
		}
	}
}
