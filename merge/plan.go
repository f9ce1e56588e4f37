// Package merge merges a list of patches into a value of any type and records who set each field.
//
// A [Plan] is compiled once from the struct tags of a Go type. It merges patches into values of that type as a strategic merge
// patch does in the cluster:
//
//	plan, err := merge.For[appsv1.Deployment, merge.Object](schema.Rules{})
//	if err != nil {
//		return err
//	}
//	result, err := plan.Apply(&defaults, []merge.Patch[merge.Object]{
//		{Owner: Manager("web"), Value: &merge.Object{"spec": map[string]any{"replicas": int64(3)}}},
//	}, merge.Options{Owners: true})
//
// A patch is a Go value or an [Object]. A Go value is encoded first: its JSON holds the fields that it sets. An Object can also
// hold nulls and directives. A base is encoded once, merged as a tree of JSON, and the result is decoded once. A patch copies only
// what it reaches. Package conflict reports the fields in which patches disagree.
package merge

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// Plan merges patches of type P into values of type T. It never changes, and many goroutines may use it.
type Plan[T, P any] struct{ plan *plan }

// plan is a Plan for any types.
type plan struct {
	root *schema.Type
	// of is the Go type by which a base that is an Object merges. It is nil for a base of a Go type.
	of              reflect.Type
	objects         bool // whether values are objects that merge by a definition
	removes         bool // whether a null in a patch to such objects removes its key
	allowDuplicates bool // whether a patch may hold two items of one key
	defaults        *schema.Defaults
}

// For compiles the plan for a struct type T and patches P to it. P is T, a type that mirrors T with fewer fields, or Object.
// The error names the part of the types or rules that cannot be compiled.
func For[T, P any](r schema.Rules) (*Plan[T, P], error) {
	base, patch := reflect.TypeFor[T](), reflect.TypeFor[P]()
	mirror := patch
	switch {
	case base.Kind() != reflect.Struct:
		return nil, fmt.Errorf("merge: %s is not a struct", base)
	case patch == reflect.TypeFor[Object]():
		mirror = base
	case patch.Kind() != reflect.Struct:
		return nil, fmt.Errorf("merge: patches of type %s are neither structs nor objects", patch)
	}
	root, err := schema.Compile(base, mirror, r)
	if err != nil {
		return nil, fmt.Errorf("merge: %s: %w", base, err)
	}
	p, err := newPlan(root, r, base, patch)
	if err != nil {
		return nil, err
	}
	return &Plan[T, P]{p}, nil
}

// ForType compiles a plan for a type that is known only at run time. Bases are objects that the type can hold, and merge as
// For's do.
func ForType(t reflect.Type, r schema.Rules) (*Plan[Object, Object], error) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("merge: %v is not a struct", t)
	}
	root, err := schema.Compile(t, t, r)
	if err != nil {
		return nil, fmt.Errorf("merge: %s: %w", t, err)
	}
	p, err := newPlan(root, r, t)
	if err != nil {
		return nil, err
	}
	p.of = t
	return &Plan[Object, Object]{p}, nil
}

// ForAny compiles a plan as ForType does, for values that are pointers to structs of the type. A patch is such a pointer or an
// [Object].
func ForAny(t reflect.Type, r schema.Rules) (*Plan[any, any], error) {
	p, err := ForType(t, r)
	if err != nil {
		return nil, err
	}
	p.plan.of = nil
	return &Plan[any, any]{p.plan}, nil
}

// ForObject returns the plan for objects of a definition that schema.ParseOpenAPI has read. A field that the definition lacks is an
// error in a base or a patch, as in a server-side apply. So Result.Ignored is empty.
func ForObject(t *schema.Type) *Plan[Object, Object] {
	if t == nil || t.GoType() != nil {
		return &Plan[Object, Object]{}
	}
	return &Plan[Object, Object]{&plan{root: t, objects: true}}
}

// ForJSON returns the plan for objects without a schema. A patch merges as a JSON merge patch does (RFC 7386). Objects merge by
// key, a null removes its key, and every other value replaces the old one, lists included. An apply without a schema merges the
// same way, except for nulls. A patch of another apiVersion or kind than its base is an error.
func ForJSON() *Plan[Object, Object] {
	return &Plan[Object, Object]{&plan{root: schema.Open(), objects: true, removes: true}}
}

func newPlan(root *schema.Type, r schema.Rules, types ...reflect.Type) (*plan, error) {
	seen := map[reflect.Type]bool{}
	for _, t := range types {
		if err := checkFields(t, seen); err != nil {
			return nil, fmt.Errorf("merge: %w", err)
		}
	}
	return &plan{root: root, allowDuplicates: r.AllowDuplicateKeys, defaults: r.Defaults}, nil
}

// Fields returns a copy of a patch's JSON, and whether the patch is a Go value. It returns no fields for a patch without JSON.
func (p *Plan[T, P]) Fields(patch *P) (fields Object, ofValue bool, err error) {
	if p == nil || p.plan == nil || patch == nil {
		return nil, false, nil
	}
	fields, ofValue, err = p.plan.treeOf(reflect.ValueOf(patch).Elem())
	return tree.Copy(fields), ofValue, err
}

// Patch returns the patch with the JSON, of the same kind as another one: an object, or a Go value.
func (p *Plan[T, P]) Patch(fields Object, like *P) *P {
	made := new(P)
	into := reflect.ValueOf(made).Elem()
	switch from := reflect.ValueOf(like).Elem(); {
	case from.Kind() == reflect.Map:
		into.Set(reflect.ValueOf(fields))
	case from.Kind() == reflect.Interface && from.Elem().Kind() == reflect.Map:
		into.Set(reflect.ValueOf(fields))
	case from.Kind() == reflect.Interface:
		value := reflect.New(from.Elem().Type().Elem())
		if tree.Read(fields, value.Interface()) != nil {
			return nil
		}
		into.Set(value)
	default:
		if tree.Read(fields, made) != nil {
			return nil
		}
	}
	return made
}

// Type returns how values of the plan's type merge; nil for a nil plan.
func (p *Plan[T, P]) Type() *schema.Type {
	if p == nil || p.plan == nil {
		return nil
	}
	return p.plan.root
}

// structOf returns the struct in a value for a plan of ForAny.
func (p *plan) structOf(v reflect.Value) (reflect.Value, error) {
	if v = v.Elem(); !v.IsValid() {
		return v, fmt.Errorf("is nil, and must be a pointer to %s", p.root.GoType())
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Elem() == p.root.GoType() {
		return v.Elem(), nil
	}
	return v, fmt.Errorf("is %s, and must be a pointer to %s", v.Type(), p.root.GoType())
}

// treeOf returns the JSON of a patch, which is an Object or a Go value.
func (p *plan) treeOf(patch reflect.Value) (object Object, ofValue bool, err error) {
	if patch.Kind() == reflect.Interface {
		if _, isObject := patch.Interface().(Object); !isObject {
			if patch, err = p.structOf(patch); err != nil {
				return nil, false, err
			}
		}
	}
	var value any
	if object, ok := patch.Interface().(Object); ok {
		if is, err := holdsJSON(p.root, object, new(tree.Nesting)); is || err != nil {
			return object, false, err
		}
		value, err = toJSON(p.root, object)
	} else {
		ofValue = true
		value, err = encoded(patch.Addr().Interface())
	}
	if err != nil {
		return nil, ofValue, err
	}
	object, ok := value.(Object)
	if !ok {
		return nil, ofValue, wrongType(value, "an object")
	}
	return object, ofValue, nil
}

// checkFields returns an error for a type within a type, or itself, that has a field which JSON has and Go code cannot set.
func checkFields(t reflect.Type, seen map[reflect.Type]bool) error {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		return checkFields(t.Elem(), seen)
	case reflect.Struct:
		if seen[t] || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
			return nil
		}
		seen[t] = true
		for i := range t.NumField() {
			f := t.Field(i)
			if isFixed(f) {
				return fmt.Errorf("%s embeds %s, which is not exported, so that no patch can set it: export it", t, f.Type)
			}
			if err := checkFields(f.Type, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// isFixed reports whether JSON has the value of a field that Go code cannot set. Such a field embeds a struct of an unexported type, with
// a name or by a pointer.
func isFixed(f reflect.StructField) bool {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	isPointer := f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct
	return f.Anonymous && !f.IsExported() && name != "-" && (isPointer || name != "" && f.Type.Kind() == reflect.Struct)
}
