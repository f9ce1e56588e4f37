package schema_test

import (
	"encoding/json"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	mergetree "github.com/trainweld/trainweld/merge/tree"
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
		t.Errorf("a list in a list is %v by %+v, want a list-map by the field name", steps,
			steps.KeyField())
	}
}

func TestTypeOf_Recursive(t *testing.T) {
	compiled := schema.TypeOf(reflect.TypeFor[step]())
	steps := compiled.Field("steps")
	if steps == nil || steps.Type.String() != "list-map by name" || steps.Type.Elem != compiled {
		t.Fatalf("steps is %+v, want a list-map of the type itself", steps)
	}
	if key := steps.Type.KeyField(); key == nil || key.Name != "name" {
		t.Errorf("KeyField() = %+v, want the field name, which the type declares after the list",
			key)
	}
	if zone := compiled.Field("zone"); zone == nil || zone.Type.Kind != schema.Scalar {
		t.Errorf("Field(zone) = %+v, want the scalar of the embedded struct", zone)
	}
	deep := fieldpath.Fields("steps").Append(fieldpath.Item("name", "a")).Append(
		fieldpath.Fields("next", "next", "name")...)
	if name := compiled.Lookup(deep); name == nil || name.Kind != schema.Scalar {
		t.Errorf("Lookup(%s) = %v, want a scalar", deep, name)
	}
	for typ, want := range map[reflect.Type]schema.Kind{
		reflect.TypeFor[lists](): schema.Atomic, reflect.TypeFor[tree](): schema.Map,
		reflect.TypeFor[pointers](): schema.Scalar,
	} {
		if got := schema.TypeOf(typ); got.Kind != want {
			t.Errorf("TypeOf(%s) = %v, want %v", typ, got, want)
		}
	}
	if got := schema.TypeOf(nil); got != nil {
		t.Errorf("TypeOf(nil) = %v, want nil", got)
	}
	fields, err := mergetree.Fields(&step{embedded: &embedded{embedded: nil, Zone: "z"}})
	if err != nil || fields["zone"] != "z" {
		t.Errorf("the encoding is %v, %v", fields, err)
	}
	for name := range fields {
		if compiled.Field(name) == nil {
			t.Errorf("Field(%s) = nil, and the encoding has it", name)
		}
	}
}

type slotted struct {
	slottedInline    `json:",inline"`
	*SlottedEmbedded `json:",inline"`

	Name     string            `json:"name"`
	Note     string            `json:"note,omitempty"`
	Pointer  *slottedPart      `json:"pointer,omitempty"`
	Twice    **slottedPart     `json:"twice,omitempty"`
	InPlace  slottedPart       `json:"inPlace"`
	Zero     slottedPart       `json:"zero,omitzero"`
	List     []slottedPart     `json:"list" patchStrategy:"merge" patchMergeKey:"name"`
	Pointers []*slottedPart    `json:"pointers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	ByNumber []slottedPart     `json:"byNumber,omitempty" patchStrategy:"merge" patchMergeKey:"number"`
	Map      map[string]string `json:"map,omitempty"`
}

type slottedInline struct {
	Flag bool `json:"flag,omitempty"`
}

type SlottedEmbedded struct {
	Inner slottedPart `json:"inner"`
}

type slottedPart struct {
	Name   string `json:"name,omitempty"`
	Number *int   `json:"number,omitempty"`
}

func TestStructField(t *testing.T) {
	of := reflect.TypeFor[slotted]()
	typ, err := schema.Compile(of, of, schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range typ.Fields {
		// Without omitempty a field is there.
		always := f.Name == "name" || f.Name == "inPlace" || f.Name == "list" || f.Name == "inner"
		if got := f.IsAlways(); got != always {
			t.Errorf("%s: IsAlways() = %v, want %v", f.Name, got, always)
		}
		if got := f.IsPointer(); got != (f.Name == "pointer" || f.Name == "twice") {
			t.Errorf("%s: IsPointer() = %v", f.Name, got)
		}
	}
}

// TestStructField_Put shows that an object has the fields that the encoding of a Go value has, and
// no other ones.
func TestStructField_Put(t *testing.T) {
	typ := schema.TypeOf(reflect.TypeFor[slotted]())
	encoded := func(value any) (object map[string]any) {
		text, err := json.Marshal(value)
		if err == nil {
			err = json.Unmarshal(text, &object)
		}
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	zero := encoded(slotted{})
	made := map[string]any{}
	typ.Fill(made)
	if !reflect.DeepEqual(made, zero) {
		t.Errorf("Fill makes %v, want %v", made, zero)
	}
	full := encoded(slotted{Note: "n", InPlace: slottedPart{Name: "p"}, List: []slottedPart{{}}})
	for _, f := range typ.Fields {
		f.Put(made, full[f.Name])
	}
	if !reflect.DeepEqual(made, full) {
		t.Errorf("Put makes %v, want %v", made, full)
	}
	for _, f := range typ.Fields {
		if f.Put(made, nil); f.Name == "list" {
			f.Put(made, []any{})
			if !reflect.DeepEqual(made[f.Name], []any{}) {
				t.Errorf("Put of an empty list without omitempty makes %v", made)
			}
			f.Put(made, nil)
		}
	}
	if !reflect.DeepEqual(made, zero) {
		t.Errorf("Put of nulls makes %v, want %v", made, zero)
	}
}
