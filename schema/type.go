// Package schema describes how each field of a type merges, and which paths lead to its fields.
//
//	deployment := schema.TypeOf(reflect.TypeFor[appsv1.Deployment]())
//	containers, err := deployment.Resolve(fieldpath.Fields("spec", "template", "spec", "containers"))
//	if err != nil {
//		return err
//	}
//	fmt.Println(deployment.Lookup(containers)) // list-map by name
//
// A [Type] is data, and never changes. [TypeOf] and [Compile] read it from the struct tags of a Go
// type, [ParseOpenAPI] from a CustomResourceDefinition or from the document of an API server, and
// [Open] knows no fields. [PodRules] has what the tags of Kubernetes' types lack. [Type.Resolve]
// reads the paths that people write.
//
// Package merge makes the normal form of a Go type's encoding by Put, Fill and EmptyItem, and asks a
// [StructField] when the encoding omits it. The packages check, runtimepatch,
// explain and policy of render walk the fields of a type. Package render reads the tags of images
// by [ParseImage]. The program removes defaults from live objects by [Defaults].
//
// Its first file to read is type.go.
package schema

import (
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/tree"
)

// Kind is the way in which the values of a type merge with a patch.
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
	// Atomic values are lists that a patch replaces whole, or objects with the same rule in a
	// definition.
	Atomic
	// Untyped values merge by their JSON: by Object or List, and otherwise as a Scalar.
	Untyped
)

// IntOrString is the Type.JSON of a field that takes an integer or a string.
const IntOrString = "integer or a string"

// String returns the name of the kind as in the documentation.
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

// Type describes how the values of one type merge. Types are shared and never change.
type Type struct {
	// Kind is the rule.
	Kind Kind
	// Key is the merge key of a ListMap: the field that identifies its items.
	Key string
	// Keys are the merge keys of a ListMap of a definition. If there are several, Key is empty.
	Keys []string
	// Elem is the type of the items of a ListMap, Set or Atomic, and of the values of a Map. In a
	// Struct it is the type of fields that Fields does not name. It is nil if such fields are
	// forbidden.
	Elem *Type
	// Object and List describe how objects and lists merge in an Untyped field. An Atomic with
	// Object replaces objects.
	Object, List *Type
	// JSON is the JSON type of a definition's Scalar: "string", "number", "integer", "boolean",
	// IntOrString, or "" for any of them.
	JSON string
	// NonNull states that an API server refuses a null that an apply leaves here, and has no
	// default for it. Only definitions set it.
	NonNull bool
	// Fields are the fields of a Struct in the order of the API type, inlined structs in place.
	Fields []*StructField
	// Unions are the groups of fields of a Struct of which an object may set only one.
	Unions []Union

	// Raw marks a Scalar that writes its own JSON, which may be an object of any shape. Two objects
	// merge name by name, unless Whole is set: then the patch's object replaces the other one.
	Raw, Whole bool
	// Own marks a Scalar whose Go type reads and writes its own JSON.
	Own bool
	// Plain marks a Struct that rules restrict, and its maps. There, a key with a $ is an ordinary
	// key.
	Plain bool

	goType    reflect.Type
	patchType reflect.Type
	patchable []*StructField
	sorted    []*StructField // Fields by name
	required  []*StructField // the fields that the encoding of a Go struct always has
	optional  bool           // whether a Go struct embeds a pointer
	key       *StructField
}

// StructField is one field of a Struct.
type StructField struct {
	// Name is the field's name in JSON.
	Name string
	// Type is the type of its values.
	Type *Type
	// Default is the merge key of an item that omits it; nil for none. Only definitions set it.
	Default any
	// Required states that an API server rejects an object without the field. Only OpenAPI
	// documents set it: a definition judges its own objects.
	Required bool

	empty    any         // the JSON of the field's zero value
	template tree.Field  // the field of the template's Go type
	patch    *tree.Field // of the patch's; nil if no manager may patch the field
}

// IsPatchable reports whether a manager may patch the field.
func (f *StructField) IsPatchable() bool { return f.patch != nil }

// IsPatchPointer reports whether the field of a patch's Go type is a pointer.
func (f *StructField) IsPatchPointer() bool { return f.patch != nil && f.patch.IsPointer() }

// IsAlways reports whether the encoding of a patch's Go type always has the field.
func (f *StructField) IsAlways() bool { return f.patch != nil && f.patch.IsAlways() }

// IsPointer reports whether the field of the template's Go type is a pointer, for which null and an
// empty value differ.
func (f *StructField) IsPointer() bool { return f.template.IsPointer() }

// OmitsZero reports whether the template's Go type omits a field that is zero.
func (f *StructField) OmitsZero() bool { return f.template.OmitZero }

// A Union is a group of fields of which an object may set only one. The cluster keeps the fields
// that all patches set, and then rejects an object with two of them.
type Union struct {
	// Name names the group in messages, such as "source".
	Name string
	// Members are the names of the fields. In a union with a discriminator they belong to its value
	// in When.
	Members []string
	// Discriminator is the field that names the member in use, or "".
	Discriminator string
	// When is the discriminator's value that allows Members.
	When string
}

// Has reports whether the field is a member of the union.
func (u Union) Has(field string) bool {
	return slices.Contains(u.Members, field)
}

// String returns the kind, and the merge key of a list-map: "list-map by name".
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
	if len(t.Fields) <= fewFields {
		for _, f := range t.Fields {
			if f.Name == name {
				return f
			}
		}
		return nil
	}
	i, has := slices.BinarySearchFunc(t.sorted, name, func(f *StructField, name string) int {
		return strings.Compare(f.Name, name)
	})
	if !has {
		return nil
	}
	return t.sorted[i]
}

// fewFields is the number up to which a linear search is faster.
const fewFields = 64

// Inner returns the type of the field or the entry with a name, or nil.
func (t *Type) Inner(name string) *Type {
	if f := t.Field(name); f != nil {
		return f.Type
	}
	if t == nil {
		return nil
	}
	return t.Elem
}

// Step returns the step to the field of a Struct or the entry of a Map by its name. An object
// without a schema, or of a nil type, does not distinguish the two. Then a name of letters, digits,
// "-", "_" and "$" is a Field, any other a Key.
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

// isNotInName reports whether no field name contains a character.
func isNotInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' &&
		r != '-' && r != '$'
}

// KeyField returns the field of a ListMap's items that holds their merge key.
func (t *Type) KeyField() *StructField {
	if t == nil {
		return nil
	}
	return t.key
}

// GoType returns the Go type from which t was compiled, or nil.
func (t *Type) GoType() reflect.Type {
	if t == nil {
		return nil
	}
	return t.goType
}

// Patchable returns the fields of a Struct that a manager may patch, in the order of Fields. The
// slice is shared: do not change it.
func (t *Type) Patchable() []*StructField {
	if t == nil {
		return nil
	}
	return t.patchable
}

// EmbedsPointer reports whether the Go struct embeds a pointer. Its encoding has the fields of that
// only if one of them is set.
func (t *Type) EmbedsPointer() bool { return t.optional }

// Sorted returns the fields of a Struct by name. The slice is shared: do not change it.
func (t *Type) Sorted() []*StructField {
	if t == nil {
		return nil
	}
	return t.sorted
}

// Lookup returns the type of the field at a path from t, or nil. Positions within atomic lists lead
// to the type of their items.
func (t *Type) Lookup(path fieldpath.Path) *Type {
	for _, step := range path {
		if t == nil {
			return nil
		}
		t = t.child(step)
	}
	return t
}

// child returns the type of a step's target, or nil.
func (t *Type) child(step fieldpath.Step) *Type {
	if t == nil {
		return nil
	}
	if _, ok := step.Index(); ok && t.List != nil {
		t = t.List
	} else if t.Object != nil {
		t = t.Object.granular()
	}
	if name, ok := step.Name(); ok && (t.Kind == Struct || t.Kind == Map) {
		return t.Inner(name)
	}
	if _, ok := step.Field(); ok {
		return nil
	}
	return t.Elem
}

// granular returns the type of an object that is replaced, or t itself.
func (t *Type) granular() *Type {
	if t != nil && t.Kind == Atomic && t.Object != nil {
		return t.Object
	}
	return t
}
