package schema_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// TestTypeOf compiles the schema of a whole object that no patch reaches.
func TestTypeOf(t *testing.T) {
	pod := schema.TypeOf(reflect.TypeFor[*corev1.Pod]())
	for _, tc := range []struct{ path, want string }{
		{".metadata.labels", "map"},
		{".metadata.finalizers", "set"},
		{".metadata.ownerReferences", "list-map by uid"},
		{".spec.containers", "list-map by name"},
		{`.spec.containers[name="a"].ports`, "list-map by containerPort"},
		{`.spec.containers[name="a"].resources.limits["cpu"]`, "scalar"},
		{".spec.tolerations", "atomic"},
		{".status.conditions", "list-map by type"},
	} {
		path, err := fieldpath.ParsePath(tc.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := pod.Lookup(path); got == nil || got.String() != tc.want {
			t.Errorf("%s is %v, want %s", tc.path, got, tc.want)
		}
	}
	if n := len(pod.Patchable()); n != 0 {
		t.Errorf("%d fields of a Pod are patchable; patches are of JobSet templates", n)
	}
}

// step is a type that contains itself in every way in which a Go type can.
type step struct {
	*embedded
	Steps  []step           `json:"steps,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Next   *step            `json:"next,omitempty"`
	ByName map[string]*step `json:"byName,omitempty"`
	Others [][]other        `json:"others,omitempty"`
	Name   string           `json:"name"`
}

type other struct {
	Step step `json:"-"`
	Back *step
	Self *other
}

type embedded struct {
	*embedded
	Zone string `json:"zone"`
}

type (
	lists    []lists
	tree     map[string]tree
	pointers *pointers
)

// stepList reaches the type that contains itself by a list of it.
type stepList struct {
	All []step `json:"all" patchStrategy:"merge" patchMergeKey:"name"`
}

// TestTypeOf_RecursiveList wants the same list-map in the items as around them.
func TestTypeOf_RecursiveList(t *testing.T) {
	all := schema.TypeOf(reflect.TypeFor[stepList]()).Field("all").Type
	steps := all.Elem.Field("steps").Type
	if steps.Elem != all.Elem || steps.KeyField() == nil || steps.KeyField() != all.KeyField() {
		t.Errorf("a list in a list is %v by %+v, want a list-map by the field name", steps, steps.KeyField())
	}
}

func TestTypeOf_Recursive(t *testing.T) {
	compiled := schema.TypeOf(reflect.TypeFor[step]())
	steps := compiled.Field("steps")
	if steps == nil || steps.Type.String() != "list-map by name" || steps.Type.Elem != compiled {
		t.Fatalf("steps is %+v, want a list-map of the type itself", steps)
	}
	if key := steps.Type.KeyField(); key == nil || key.Name != "name" {
		t.Errorf("KeyField() = %+v, want the field name, which the type declares after the list", key)
	}
	if zone := compiled.Field("zone"); zone == nil || zone.Type.Kind != schema.Scalar {
		t.Errorf("Field(zone) = %+v, want the scalar of the embedded struct", zone)
	}
	deep := fieldpath.Fields("steps").Append(fieldpath.Item("name", "a")).Append(fieldpath.Fields("next", "next", "name")...)
	if name := compiled.Lookup(deep); name == nil || name.Kind != schema.Scalar {
		t.Errorf("Lookup(%s) = %v, want a scalar", deep, name)
	}
	for typ, want := range map[reflect.Type]schema.Kind{
		reflect.TypeFor[lists](): schema.Atomic, reflect.TypeFor[tree](): schema.Map, reflect.TypeFor[pointers](): schema.Scalar,
	} {
		if got := schema.TypeOf(typ); got.Kind != want {
			t.Errorf("TypeOf(%s) = %v, want %v", typ, got, want)
		}
	}
	if got := schema.TypeOf(nil); got != nil {
		t.Errorf("TypeOf(nil) = %v, want nil", got)
	}
	slot := compiled.Field("zone").Template
	if value, encoded := slot.Of(reflect.ValueOf(step{})); value.IsValid() || encoded {
		t.Errorf("Of(no embedded struct) = %v, %v, want no value", value, encoded)
	}
	if value, encoded := slot.Of(reflect.ValueOf(step{embedded: &embedded{embedded: nil, Zone: "z"}})); !encoded || value.String() != "z" {
		t.Errorf("Of(embedded struct) = %v, %v, want z", value, encoded)
	}
}

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
