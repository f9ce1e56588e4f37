// Package engine answers what a list of patches makes of a value of any type, and who set what.
//
// A [Plan] is compiled once from the struct tags of a Go type, and lays patches over values of that type as a strategic
// merge patch does in the cluster:
//
//	plan, err := engine.For[appsv1.Deployment, engine.Object](schema.Rules{})
//	if err != nil {
//		return err
//	}
//	result, err := plan.Apply(&defaults, []engine.Layered[engine.Object]{
//		{Layer: Manager("web"), Patch: &engine.Object{"spec": map[string]any{"replicas": int64(3)}}},
//	}, engine.Options{Owners: true})
//
// A patch is a Go value, whose JSON says what it sets, or an [Object], which can also hold nulls and directives.
// Package conflict names the fields in which patches disagree.
package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// Object is a value as its JSON says it: maps by name, lists, strings, booleans, int64 or float64, and nil.
type Object = map[string]any

// Plan says how patches of type P merge into values of type T. It never changes, and many goroutines may use it.
type Plan[T, P any] struct{ plan *plan }

// plan is a Plan for any types.
type plan struct {
	root   *schema.Type
	shapes map[reflect.Type]shape
	// of is the Go type as which a base that is an Object merges, nil for a base of a Go type.
	of      reflect.Type
	objects bool                  // whether values are objects, and merge by a definition
	removes bool                  // whether a null of a patch to such objects removes its key
	raws    map[reflect.Type]bool // those that write JSON of any shape
	twins   bool                  // whether a patch may hold two items of one key
}

// For compiles the plan of a struct type T, and of patches P to it: T again, a type that mirrors it with fewer fields, or
// Object. The error says what of the types or of the rules cannot be compiled.
func For[T, P any](r schema.Rules) (*Plan[T, P], error) {
	base, patch := reflect.TypeFor[T](), reflect.TypeFor[P]()
	mirror := patch
	switch {
	case base.Kind() != reflect.Struct:
		return nil, fmt.Errorf("engine: %s is no struct", base)
	case patch == reflect.TypeFor[Object]():
		mirror = base
	case patch.Kind() != reflect.Struct:
		return nil, fmt.Errorf("engine: patches of type %s are neither structs nor objects", patch)
	}
	root, err := schema.Compile(base, mirror, r)
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", base, err)
	}
	return &Plan[T, P]{newPlan(root, r, base, patch)}, nil
}

// ForType is For with a type that is known when the program runs only: bases are objects that the type can hold, and merge
// as For's do.
func ForType(t reflect.Type, r schema.Rules) (*Plan[Object, Object], error) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("engine: %v is no struct", t)
	}
	root, err := schema.Compile(t, t, r)
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", t, err)
	}
	p := newPlan(root, r, t)
	p.of = t
	return &Plan[Object, Object]{p}, nil
}

// ForAny is ForType for values that are pointers to structs of the type. A patch is such a pointer, too, or an [Object].
func ForAny(t reflect.Type, r schema.Rules) (*Plan[any, any], error) {
	plan, err := ForType(t, r)
	if err != nil {
		return nil, err
	}
	return &Plan[any, any]{newPlan(plan.Type(), r, t)}, nil
}

func newPlan(root *schema.Type, r schema.Rules, types ...reflect.Type) *plan {
	p := &plan{root: root, shapes: map[reflect.Type]shape{}, raws: map[reflect.Type]bool{}, twins: r.Twins}
	p.noteRaws(root, map[*schema.Type]bool{})
	for _, t := range types {
		p.shapeOf(t)
	}
	return p
}

// Type is how values of the plan's type merge; nil for a nil plan.
func (p *Plan[T, P]) Type() *schema.Type {
	if p == nil || p.plan == nil {
		return nil
	}
	return p.plan.root
}

// CopyPatch returns a copy of a patch that shares no memory with it; nil for nil.
func (p *Plan[T, P]) CopyPatch(patch *P) *P {
	if p == nil || p.plan == nil || patch == nil {
		return nil
	}
	copied := new(P)
	p.plan.clone(reflect.ValueOf(copied).Elem(), reflect.ValueOf(patch).Elem())
	return copied
}

// Layered is one manager's patch.
type Layered[P any] struct {
	// Layer is whose patch it is. Two patches of one layer are one opinion: nobody disagrees with himself.
	Layer Layer
	// Patch is the patch; nil says nothing.
	Patch *P
	// Source is where the patch stands in its document: sources of claims begin with it.
	Source fieldpath.Path
}

// Options says what Apply does besides merging. The zero value merges only, which is cheapest.
type Options struct {
	// Owners asks for Result.Owners.
	Owners bool
	// Base is the layer of the base, "base" if empty, and Source is where the base stands in its document.
	Base   Layer
	Source fieldpath.Path
}

// Result is what Apply made. It aliases neither the base nor the patches.
type Result[T any] struct {
	// Value is the merged value.
	Value T
	// Owners says who set each field of Value; nil unless it was asked for.
	Owners *Ownership
	// Duplicates are the items that share their merge key with an earlier one, in lists of the base that patches reached. A patch
	// changes the first item of a key only. They are known only if Options ask for owners.
	Duplicates []fieldpath.Path
	// Ignored are the fields of objects that their type does not have. They say nothing, as in the cluster.
	Ignored []Ignored
}

// Ignored is a field of a base or a patch that is an object, which its type does not have.
type Ignored struct {
	// Layer is whose field it is, and Path where it stands in the value. Of a patch it is the whole path only if
	// Options ask for owners.
	Layer Layer
	Path  fieldpath.Path
}

// Base is the name of the layer of the base if Options name none.
const Base Layer = "base"

// Apply lays patches over a base in the order given. It changes neither; a nil base is an empty value.
//
// The error is a [*PatchError], which names the layer and the field where a patch cannot be merged. There is then no
// result. Where several patches cannot be merged, it is the first of them.
func (p *Plan[T, P]) Apply(base *T, patches []Layered[P], o Options) (*Result[T], error) {
	result := new(Result[T])
	m, err := p.apply(&result.Value, base, patches, o)
	if err != nil {
		return nil, err
	}
	result.Owners, result.Ignored, result.Duplicates = m.ownership, m.ignored, m.duplicates
	return result, nil
}

// ApplyInto is Apply that leaves the merged value in dst, which is zero before. It returns who set each field of dst, nil
// unless Options ask for it. After an error dst holds part of the merge.
func (p *Plan[T, P]) ApplyInto(dst, base *T, patches []Layered[P], o Options) (*Ownership, error) {
	if dst == nil {
		return nil, errors.New("engine: there is nothing to merge into")
	}
	m, err := p.apply(dst, base, patches, o)
	return m.ownership, err
}

func (p *Plan[T, P]) apply(dst, base *T, patches []Layered[P], o Options) (merger, error) {
	if p == nil || p.plan == nil {
		return merger{}, errors.New("engine: a plan that was not compiled merges nothing")
	}
	m := merger{plan: p.plan}
	if p.plan.objects {
		var err error
		m.ownership, err = p.plan.applyObjects(any(dst).(*Object), any(base).(*Object), any(patches).([]Layered[Object]), o)
		return m, err
	}
	if o.Owners {
		m.owners, m.log = true, logOf(p.plan.root, patches, o)
	}
	value := reflect.ValueOf(dst).Elem()
	isAny := value.Kind() == reflect.Interface // of ForAny
	switch {
	case isAny:
		made := reflect.New(p.plan.root.GoType())
		value.Set(made)
		value = made.Elem()
		if base != nil {
			from, err := p.plan.known(reflect.ValueOf(base).Elem(), false)
			if err != nil {
				return merger{}, fmt.Errorf("engine: the base %w", err)
			}
			p.plan.clone(value, from)
		}
	case p.plan.of != nil:
		value = reflect.New(p.plan.of).Elem()
		m.of = baseLayerOf(o)
		if base != nil {
			if err := m.read(p.plan.root, value, *base); err != nil {
				failed := asPatchError(err)
				failed.Layer, failed.Index = m.of, -1
				return merger{}, failed
			}
		}
	case base == nil:
	default:
		if c, ok := any(base).(interface{ DeepCopyInto(*T) }); ok {
			c.DeepCopyInto(dst)
		} else {
			p.plan.clone(value, reflect.ValueOf(base).Elem())
		}
	}
	for i := range patches {
		if patches[i].Patch == nil {
			continue
		}
		m.left, m.raw, m.of = len(patches)-i-1, m.raw[:0], patches[i].Layer
		if o.Owners {
			m.layer = m.log.ids[i]
		}
		from := reflect.ValueOf(patches[i].Patch).Elem()
		var err error
		if isAny {
			from, err = p.plan.known(from, true)
		}
		if err == nil {
			err = m.patch(value, from)
		}
		if err != nil {
			failed := asPatchError(err)
			failed.Layer, failed.Index = patches[i].Layer, i
			return merger{}, failed
		}
	}
	if p.plan.of != nil {
		object, err := jsonOf(value)
		if err != nil {
			return merger{}, err
		}
		reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(object))
	}
	if o.Owners {
		m.ownership = &Ownership{log: m.log, value: value}
	}
	return m, nil
}

func baseLayerOf(o Options) Layer {
	if o.Base == "" {
		return Base
	}
	return o.Base
}

// known is the struct or object that a plan of ForAny is given.
func (p *plan) known(v reflect.Value, isPatch bool) (reflect.Value, error) {
	if v = v.Elem(); !v.IsValid() {
		return v, fmt.Errorf("is nil, and must be a pointer to %s", p.root.GoType())
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Elem() == p.root.GoType() {
		return v.Elem(), nil
	}
	if _, ok := v.Interface().(Object); ok && isPatch {
		return v, nil
	}
	return v, fmt.Errorf("is %s, and must be a pointer to %s", v.Type(), p.root.GoType())
}

// PatchError is why a patch cannot be merged.
type PatchError struct {
	// Layer is whose patch it is, and Index its place in the list; -1 for the base.
	Layer Layer
	Index int
	// Path is the field at which the merge fails.
	Path fieldpath.Path
	// Err says what is wrong there.
	Err error
}

// Error names the layer and the field.
func (e *PatchError) Error() string {
	if e == nil {
		return "no error"
	}
	return fmt.Sprintf("patch of %s: %s: %s", e.Layer, e.Path, e.Err)
}

// Unwrap is what is wrong with the field.
func (e *PatchError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

func asPatchError(err error) *PatchError {
	if e, ok := err.(*PatchError); ok {
		return e
	}
	return &PatchError{Err: err}
}

// within lets an error's path grow on its way up.
func within(step fieldpath.Step, err error) error {
	e := asPatchError(err)
	e.Path = slices.Insert(e.Path, 0, step)
	return e
}

// decode sets dst, of a Go type, to what JSON says. The type of dst says what it has to be.
func decode(dst reflect.Value, from any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("is no JSON: %w", err)
	}
	if err := json.Unmarshal(text, dst.Addr().Interface()); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return fmt.Errorf("must be %s, and is %s", jsonType(dst.Type()), wrong.Value)
		}
		return err
	}
	return nil
}

// jsonType is what JSON has for a Go type.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		return "a list"
	default:
		return "a number"
	}
}
