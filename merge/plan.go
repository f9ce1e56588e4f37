package merge

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// plan says how the values of a type merge. It never changes.
type plan struct {
	root *schema.Type
	// patch is the Go type of patches that are no objects.
	patch reflect.Type
	// of is the Go type by which a base that is an Object merges. It is nil for a base of a Go
	// type.
	of              reflect.Type
	objects         bool // whether values are objects that merge by a definition
	removes         bool // whether a null in a patch to such objects removes its key
	allowDuplicates bool // whether a patch may hold two items of one key
	defaults        *schema.Defaults
}

// ruleSet compiles each plan of its rules once.
type ruleSet struct {
	of    func(reflect.Type) schema.Rules
	plans sync.Map // a func() (*plan, error) for each planKey
}

// planKey is a Go type, with the type of its patches. For the rules of objects, the latter is nil.
type planKey struct{ base, patch reflect.Type }

// ofKubernetes are the rules of a merge that names none.
var ofKubernetes = &ruleSet{of: schema.PodRules}

// plan returns the plan for a struct and patches that mirror it.
func (s *ruleSet) plan(base, patch reflect.Type) (*plan, error) {
	known, ok := s.plans.Load(planKey{base, patch})
	if !ok {
		known, _ = s.plans.LoadOrStore(planKey{base, patch}, sync.OnceValues(func() (*plan, error) {
			return s.compile(base, patch)
		}))
	}
	return known.(func() (*plan, error))()
}

func (s *ruleSet) compile(base, patch reflect.Type) (*plan, error) {
	r := s.of(base)
	p := &plan{patch: patch, allowDuplicates: r.AllowDuplicateKeys, defaults: r.Defaults}
	seen := map[reflect.Type]bool{}
	for _, t := range []reflect.Type{base, patch} {
		if t == nil {
			continue
		}
		if err := checkFields(t, seen); err != nil {
			return nil, fmt.Errorf("merge: %w", err)
		}
	}
	if patch == nil {
		return p, nil
	}
	var err error
	if p.root, err = schema.Compile(base, patch, r); err != nil {
		return nil, fmt.Errorf("merge: %s: %w", base, err)
	}
	return p, nil
}

// planOf returns the plan for a base of a Go type. The Go values among the patches have one type.
func (s *ruleSet) planOf(base reflect.Type, patches []layered) (*plan, error) {
	if base == nil || base.Kind() != reflect.Struct {
		return nil, fmt.Errorf("merge: %v is not a struct", base)
	}
	p, err := s.plan(base, base)
	if err != nil {
		return nil, err
	}
	for i := range patches {
		of := structOf(patches[i].Value)
		if of == nil || of == base {
			continue
		}
		if p, err = s.plan(base, of); err != nil {
			return nil, &PatchError{Owner: patches[i].Owner, Index: i, Err: err}
		}
		break
	}
	return p, nil
}

// structOf returns the struct type of a patch that is a Go value, or a pointer to one.
func structOf(value any) reflect.Type {
	t := reflect.TypeOf(value)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// objectPlan returns the plan for objects of a type: see StrategicObject.
func (s *ruleSet) objectPlan(t *schema.Type) (*plan, error) {
	switch {
	case t == nil:
		return &plan{root: schema.Open(), objects: true, removes: true}, nil
	case t.GoType() == nil || t.GoType().Kind() != reflect.Struct:
		return nil, errors.New("merge: a definition has no rules of a strategic merge: use Apply")
	}
	rules, err := s.plan(t.GoType(), nil)
	if err != nil {
		return nil, err
	}
	p := *rules
	p.root, p.of, p.patch = t, t.GoType(), t.GoType()
	return &p, nil
}

// treeOf returns the JSON of a patch, and whether it is a Go value, of which the JSON may be known.
func (p *plan) treeOf(patch any, known Object) (object Object, ofValue bool, err error) {
	var made any
	if object, ok := patch.(Object); ok {
		if is, err := holdsJSON(p.root, object, new(tree.Nesting)); is || err != nil {
			return object, false, err
		}
		made, err = toJSON(p.root, object)
	} else {
		ofValue = true
		if of := structOf(patch); of == nil || of != p.patch {
			return nil, true, fmt.Errorf("is %T, and must be %s or an object", patch, p.patch)
		}
		if known != nil {
			return known, true, nil
		}
		made, err = encoded(addressed(patch))
	}
	if err != nil {
		return nil, ofValue, err
	}
	object, ok := made.(Object)
	if !ok {
		return nil, ofValue, wrongType(made, "an object")
	}
	return object, ofValue, nil
}

// addressed returns a pointer to a Go value, since a type may encode itself by its pointer alone.
func addressed(value any) any {
	from := reflect.ValueOf(value)
	if from.Kind() == reflect.Pointer {
		return value
	}
	to := reflect.New(from.Type())
	to.Elem().Set(from)
	return to.Interface()
}

// checkFields returns an error for a type within a type, or itself, that has a field which JSON has
// and Go code cannot set.
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
				return fmt.Errorf(
					"%s embeds %s, which is not exported, so that no patch can set it: export it",
					t, f.Type)
			}
			if err := checkFields(f.Type, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// isFixed reports whether JSON has the value of a field that Go code cannot set. Such a field
// embeds a struct of an unexported type, with a name or by a pointer.
func isFixed(f reflect.StructField) bool {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	isPointer := f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct
	return f.Anonymous && !f.IsExported() && name != "-" &&
		(isPointer || name != "" && f.Type.Kind() == reflect.Struct)
}
