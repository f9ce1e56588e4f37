// Package schema answers how each field of a type merges, and which of them a patch may set.
//
// A schema is data, compiled once from the struct tags of a Go type or from a CustomResourceDefinition:
//
//	jobs := merge.JobSetTemplate().Lookup(fieldpath.Fields("spec", "replicatedJobs"))
//	fmt.Println(jobs) // list-map by name
package schema

import (
	"reflect"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
)

// Kind is how the values of a type merge when a patch meets them.
type Kind uint8

const (
	// Scalar values replace each other: strings, numbers, booleans, quantities, times.
	Scalar Kind = iota + 1
	// Struct values merge field by field.
	Struct
	// Map values merge key by key.
	Map
	// ListMap values are lists whose items merge by the value of one field, their merge key.
	ListMap
	// Set values are lists of strings that merge by union.
	Set
	// Atomic values are lists that a patch replaces whole, or objects where a definition says so.
	Atomic
	// Untyped values are of no type: each merges as its JSON says, by Object or List, and else as a Scalar.
	Untyped
)

// String is the name of the kind as the documentation has it.
func (k Kind) String() string {
	switch k {
	case Scalar:
		return "scalar"
	case Struct:
		return "struct"
	case Map:
		return "map"
	case ListMap:
		return "list-map"
	case Set:
		return "set"
	case Atomic:
		return "atomic"
	case Untyped:
		return "untyped"
	default:
		return "invalid"
	}
}

// Type says how the values of one type merge. Types are shared and never change.
type Type struct {
	// Kind is the rule.
	Kind Kind
	// Key is the merge key of a ListMap: the field of its items that tells them apart.
	Key string
	// Keys are the merge keys of a ListMap of a definition, which may have several; Key is empty then.
	Keys []string
	// Elem is the type of the items of a ListMap, Set or Atomic, and of the values of a Map. In a Struct it is that of
	// fields that Fields do not name, nil where there may be none.
	Elem *Type
	// Object and List say how objects and lists merge in a field that is Untyped. An Atomic with Object replaces objects.
	Object, List *Type
	// JSON is what a Scalar of a definition holds: "string", "number", "boolean", or "" for any of them.
	JSON string
	// Fields are the fields of a Struct in the order of the API type, inlined structs in place.
	Fields []*StructField
	// Unions are the groups of fields of a Struct of which an object may set only one.
	Unions []Union

	// Raw marks a Scalar that writes its own JSON, which may be an object of any shape.
	Raw bool
	// Plain marks a Struct that rules restrict, and its maps: a key with a $ is a key like any other there.
	Plain bool

	goType    reflect.Type
	patchType reflect.Type
	layout    *layout // of a Struct of the template's Go type
	patched   *layout // of one of the patch's
	patchable []*StructField
	key       *StructField
	scan      []scanStep
	members   []Fields                // of each union
	nested    Fields                  // the fields that are list-maps, have a union or hold such a field
	inside    Fields                  // nested, and the fields that are maps or hold some
	maps      bool                    // whether an Atomic's items can hold maps
	byName    map[string]*StructField // of a struct with many fields, nil for others
}

// StructField is one field of a Struct.
type StructField struct {
	// Name is the field's name in JSON.
	Name string
	// Type is how its values merge.
	Type *Type
	// Template is where the field stands in the template's Go type.
	Template Slot
	// Patch is where it stands in the patch's Go type, nil where no manager may patch it.
	Patch *Slot
	// Default is what an item's merge key is where the item leaves it out; nil for none. Only definitions have it.
	Default any
}

// Union is a group of fields of which an object may set only one: the cluster keeps what every
// patch sets, and then refuses an object that sets two.
type Union struct {
	// Name is what the group is called in messages: "source".
	Name string
	// Members are the names of the fields. In a union with a discriminator they belong to one of its
	// values, named by When.
	Members []string
	// Discriminator is the field that says which member is in use, or "".
	Discriminator string
	// When is the discriminator's value that allows Members.
	When string
}

// Has reports whether the field is a member of the union.
func (u Union) Has(field string) bool {
	for _, member := range u.Members {
		if member == field {
			return true
		}
	}
	return false
}

// Slot is where a field stands in a Go struct, and when its encoding leaves it out.
type Slot struct {
	// Index is the field's index sequence, as reflect.Value.FieldByIndex takes it.
	Index []int
	// OmitEmpty and OmitZero are the options of the field's json tag.
	OmitEmpty, OmitZero bool

	kind   reflect.Kind
	in     *layout   // the struct that Index is within
	offset uintptr   // of the field in it, if direct
	direct bool      // no embedded pointer is on the way
	rule   emptiness // of what is at offset
	shape  shape     // of the field
}

// IsPointer reports whether the field is a pointer, in which null and an empty value are two.
func (s *Slot) IsPointer() bool { return s != nil && s.kind == reflect.Pointer }

// Of returns the slot's value in a struct, and whether JSON would hold the field at all. A field
// without omitempty is encoded also when it is empty, and a nil pointer or list there reads null. There is no value
// in what is no struct, or in an embedded pointer that is nil.
func (s *Slot) Of(parent reflect.Value) (value reflect.Value, encoded bool) {
	if s == nil || len(s.Index) == 0 || parent.Kind() != reflect.Struct {
		return reflect.Value{}, false
	}
	value = s.value(parent)
	return value, value.IsValid() && s.encodes(value)
}

// value is the slot's value in a struct, invalid within an embedded pointer that is nil.
func (s *Slot) value(parent reflect.Value) reflect.Value {
	value := parent.Field(s.Index[0])
	for _, i := range s.Index[1:] {
		if value.Kind() == reflect.Pointer {
			if value.IsNil() {
				return reflect.Value{}
			}
			value = value.Elem()
		}
		value = value.Field(i)
	}
	return value
}

// In is Of for a struct that is to be written to: where the field stands in an embedded pointer that is nil, the pointer is
// set to an empty struct first, and the field was not encoded.
func (s *Slot) In(parent reflect.Value) (value reflect.Value, encoded bool) {
	if s == nil || len(s.Index) == 0 || parent.Kind() != reflect.Struct || !parent.CanSet() {
		return s.Of(parent)
	}
	value = parent.Field(s.Index[0])
	made := false
	for _, i := range s.Index[1:] {
		if value.Kind() == reflect.Pointer {
			if value.IsNil() {
				value.Set(reflect.New(value.Type().Elem()))
				made = true
			}
			value = value.Elem()
		}
		value = value.Field(i)
	}
	return value, !made && s.encodes(value)
}

// encodes reports whether JSON would hold the field that has the value.
func (s *Slot) encodes(value reflect.Value) bool {
	if s.OmitZero && isZero(value) {
		return false
	}
	if !s.OmitEmpty {
		return true
	}
	switch value.Kind() {
	case reflect.Pointer:
		return !value.IsNil()
	case reflect.String, reflect.Slice, reflect.Map:
		return value.Len() > 0
	case reflect.Struct:
		return true
	default:
		return !value.IsZero()
	}
}

// isZero follows encoding/json: a type's own IsZero method decides for omitzero.
func isZero(value reflect.Value) bool {
	if value.CanAddr() {
		if z, ok := value.Addr().Interface().(interface{ IsZero() bool }); ok {
			return z.IsZero()
		}
	}
	return value.IsZero()
}

// String is the kind, with the merge key of a list-map: "list-map by name".
func (t *Type) String() string {
	if t == nil {
		return Kind(0).String()
	}
	if t.Kind == ListMap && len(t.Keys) > 1 {
		return "list-map by " + strings.Join(t.Keys, ", ")
	}
	if t.Kind == ListMap {
		return "list-map by " + t.Key
	}
	return t.Kind.String()
}

// Field returns the field of a Struct by its JSON name, or nil.
func (t *Type) Field(name string) *StructField {
	if t == nil {
		return nil
	}
	if t.byName != nil {
		return t.byName[name]
	}
	for _, f := range t.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Step returns the step to the field of a Struct or the entry of a Map by its name. An object without a schema, as one of a
// nil type, does not distinguish the two: a name of letters, digits, "-", "_" and "$" is a Field, any other a Key.
func (t *Type) Step(name string) fieldpath.Step {
	if t != nil && t.Object != nil {
		t = t.Object
	}
	isOpen := t == nil || t.Kind == Struct || t.Elem != nil && t.Elem.Object == t
	if t.Field(name) != nil || isOpen && !strings.ContainsFunc(name, isNotInName) && name != "" {
		return fieldpath.Field(name)
	}
	return fieldpath.Key(name)
}

// isNotInName reports whether a character occurs in no name of a field.
func isNotInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '$'
}

// KeyField returns the field of a ListMap's items that holds their merge key.
func (t *Type) KeyField() *StructField {
	if t == nil {
		return nil
	}
	return t.key
}

// GoType is the Go type that t was compiled from, nil for a type that was compiled from something else.
func (t *Type) GoType() reflect.Type {
	if t == nil {
		return nil
	}
	return t.goType
}

// Patchable returns the fields of a Struct that a manager may patch, in the order of Fields. The
// slice is shared: it is to be read only.
func (t *Type) Patchable() []*StructField {
	if t == nil {
		return nil
	}
	return t.patchable
}

// Nested returns the fields of a Struct that are list-maps, have a union, or hold such a field.
func (t *Type) Nested() *Fields {
	if t == nil {
		return nil
	}
	return &t.nested
}

// Inside returns the fields of a Struct that are list-maps or maps, have a union, or hold such a field.
func (t *Type) Inside() *Fields {
	if t == nil {
		return nil
	}
	return &t.inside
}

// Members returns the fields of a Struct that are members of one of its Unions, by its index.
func (t *Type) Members(union int) *Fields {
	if t == nil || union < 0 || union >= len(t.members) {
		return nil
	}
	return &t.members[union]
}

// HoldsMaps reports whether a map can be reached from the items of an Atomic.
func (t *Type) HoldsMaps() bool { return t != nil && t.maps }

// FieldNames are the names that JSON has for the fields of a Go struct type, inlined structs in place: a union may be all of
// them.
func FieldNames(t reflect.Type) []string {
	var names []string
	if t = indirect(t); t != nil && t.Kind() == reflect.Struct {
		for _, g := range goFields(t, nil) {
			names = append(names, g.name)
		}
	}
	return names
}

// Lookup returns the type of the field that a path leads to from t, or nil where there is none.
// Positions within atomic lists lead to the type of their items.
func (t *Type) Lookup(path fieldpath.Path) *Type {
	for _, step := range path {
		if t == nil {
			return nil
		}
		t = t.child(step)
	}
	return t
}

// child is the type of what a step leads to, nil where it leads nowhere.
func (t *Type) child(step fieldpath.Step) *Type {
	if _, ok := step.Index(); ok && t.List != nil {
		t = t.List
	} else if t.Object != nil {
		t = t.Object.whole()
	}
	if name, ok := step.Field(); ok {
		if f := t.Field(name); f != nil {
			return f.Type
		}
		return nil
	}
	return t.Elem
}

// whole is the type of an object that is replaced, or t itself.
func (t *Type) whole() *Type {
	if t.Kind == Atomic && t.Object != nil {
		return t.Object
	}
	return t
}
