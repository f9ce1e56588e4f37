package schema_test

import (
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/schema"
)

type viewed struct {
	viewedInline    `json:",inline"`
	*viewedEmbedded `json:",inline"`

	Name     string            `json:"name"`
	Note     string            `json:"note,omitempty"`
	Pointer  *viewedPart       `json:"pointer,omitempty"`
	Twice    **viewedPart      `json:"twice,omitempty"`
	InPlace  viewedPart        `json:"inPlace"`
	Zero     viewedPart        `json:"zero,omitzero"`
	List     []viewedPart      `json:"list" patchStrategy:"merge" patchMergeKey:"name"`
	Pointers []*viewedPart     `json:"pointers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	ByNumber []viewedPart      `json:"byNumber,omitempty" patchStrategy:"merge" patchMergeKey:"number"`
	Map      map[string]string `json:"map,omitempty"`
}

type viewedInline struct {
	Flag bool `json:"flag,omitempty"`
}

type viewedEmbedded struct {
	Inner viewedPart `json:"inner"`
}

type viewedPart struct {
	Name   string `json:"name,omitempty"`
	Number *int   `json:"number,omitempty"`
}

func TestView(t *testing.T) {
	typ, err := schema.Compile(reflect.TypeFor[viewed](), reflect.TypeFor[viewed](), schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	of := func(v *viewed) schema.View { return typ.View(reflect.ValueOf(v).Elem(), false) }
	part := &viewedPart{Name: "p"}
	one, two := 1, 2
	full := of(&viewed{
		viewedInline: viewedInline{Flag: true}, viewedEmbedded: &viewedEmbedded{Inner: *part}, Note: "n", Pointer: part, Twice: &part, InPlace: *part,
		Zero: *part, List: []viewedPart{*part, {Name: "q"}}, Pointers: []*viewedPart{part, nil}, ByNumber: []viewedPart{{Number: &one}, {Number: &two}, {}},
		Map: map[string]string{"a": "b"},
	})
	bare := of(&viewed{List: []viewedPart{}, Map: map[string]string{}, Pointers: []*viewedPart{}})
	for _, f := range typ.Fields {
		// Without omitempty a field is there, unless it reads null.
		inBare := f.Name == "name" || f.Name == "inPlace" || f.Name == "list"
		if got := bare.Has(f); got != inBare {
			t.Errorf("%s of an empty struct: Has = %v, want %v", f.Name, got, inBare)
		}
		if !full.Has(f) || !full.Value(f).IsValid() {
			t.Errorf("%s of a full struct: Has = %v, Value = %v", f.Name, full.Has(f), full.Value(f))
		}
		if f.Type.Kind == schema.Struct {
			if name := full.Struct(f).Value(f.Type.Field("name")); name.String() != "p" {
				t.Errorf("%s: Struct has the name %v, want p", f.Name, name)
			}
		}
	}
	if list := of(&viewed{}).List(typ.Field("list")); list.Len() != 0 || of(&viewed{}).Has(typ.Field("list")) {
		t.Errorf("a nil list: Len = %d, want an absent one", list.Len())
	}
	for _, tc := range []struct {
		field string
		keys  []string
	}{
		{"list", []string{"p", "q"}}, {"pointers", []string{"p", ""}}, {"byNumber", []string{"1", "2", ""}},
	} {
		list := full.List(typ.Field(tc.field))
		if list.Len() != len(tc.keys) {
			t.Fatalf("%s: Len = %d, want %d", tc.field, list.Len(), len(tc.keys))
		}
		for i, key := range tc.keys {
			if got := list.Key(i); got != key || list.Find(key) != i {
				t.Errorf("%s: Key(%d) = %q, Find(%q) = %d, want %q", tc.field, i, got, key, list.Find(key), key)
			}
		}
		if list.Find("other") != -1 || list.At(len(tc.keys)).IsPresent() || list.Key(-1) != "" {
			t.Errorf("%s: finds items that it does not have", tc.field)
		}
	}
}

func TestView_OtherType(t *testing.T) {
	typ, err := schema.Compile(reflect.TypeFor[viewed](), nil, schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	v := viewed{Name: "n", Pointer: &viewedPart{Name: "p"}}
	name := typ.Field("pointer").Type.Field("name")
	for what, view := range map[string]schema.View{
		"a struct of another type": typ.View(reflect.ValueOf(&viewedPart{Name: "p"}).Elem(), false),
		"a patch, without patches": typ.View(reflect.ValueOf(&v).Elem(), true),
		"no variable":              typ.View(reflect.ValueOf(v), false),
		"no struct":                typ.View(reflect.ValueOf(&v), false),
	} {
		if view.IsPresent() {
			t.Errorf("%s: the View points to a struct", what)
		}
	}
	if view := typ.View(reflect.ValueOf(&v).Elem(), false); view.Has(name) || view.Value(name).IsValid() {
		t.Error("the View reads a field of another struct")
	}
}
