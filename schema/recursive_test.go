package schema_test

import (
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

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
