package merge_test

import (
	"reflect"
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

// TestOwnership_Write shows the claims on fields that later layers write, or that a patch replaces
// with the whole value.
func TestOwnership_Write(t *testing.T) {
	five := 5
	for _, tc := range []struct {
		name    string
		base    string
		patches []string
		write   func(owners *merge.History, value *owned)
		history []string
	}{
		{"a replaced value", `{"name": "n", "zone": "z"}`,
			[]string{`a {"$patch": "replace", "name": "x"}`, `b {"zone": "y"}`}, nil, []string{
				`.count base=0 a=null`,
				`.name base="n" a=null a="x"`,
				`.zone base="z" a=null b="y"`,
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
			}},
		{"two writes", `{"name": "n"}`, []string{`a {"name": "x"}`},
			func(owners *merge.History, value *owned) {
				value.Name = "x"
				writes(owners, "d", anew, fieldpath.Fields("name"))("x", "y")
				writes(owners, "e", anew, fieldpath.Fields("name"))("y", "x")
			}, []string{
				`.count base=0`,
				`.name base="n" a="x" d="y" e="x"`,
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
		if disputes := owners.Disputes(); disputes != nil {
			t.Errorf("Disputes() = %v, want none", disputes)
		}
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
