// Package merge merges a list of patches into a value of any type and records who set each field.
//
// A [Plan] is compiled once from the struct tags of a Go type. It merges patches into values of that type as a strategic merge
// patch does in the cluster:
//
//	plan, err := merge.For[appsv1.Deployment, merge.Object](schema.Rules{})
//	if err != nil {
//		return err
//	}
//	result, err := plan.Apply(&defaults, []merge.Layered[merge.Object]{
//		{Layer: Manager("web"), Patch: &merge.Object{"spec": map[string]any{"replicas": int64(3)}}},
//	}, merge.Options{Owners: true})
//
// A patch is a Go value or an [Object]. A Go value is encoded first: its JSON holds the fields that it sets. An Object can also
// hold nulls and directives. A base is copied, and the fields that patches reach are decoded into the copy. So each patch merges as
// JSON, as upstream's does, and the cost follows the patches. Package conflict reports the fields in which patches disagree.
package merge

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/quantity"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// Object is a JSON value: maps by name, lists, strings, booleans, int64 or float64, and nil.
type Object = map[string]any

// Plan merges patches of type P into values of type T. It never changes, and many goroutines may use it.
type Plan[T, P any] struct{ plan *plan }

// plan is a Plan for any types.
type plan struct {
	root   *schema.Type
	shapes map[reflect.Type]cloneShape
	// of is the Go type by which a base that is an Object merges. It is nil for a base of a Go type.
	of              reflect.Type
	objects         bool // whether values are objects that merge by a definition
	removes         bool // whether a null in a patch to such objects removes its key
	allowDuplicates bool // whether a patch may hold two items of one key
	defaults        *schema.Defaults
	problem         error // why values of a type cannot be copied
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

func newPlan(root *schema.Type, r schema.Rules, types ...reflect.Type) (*plan, error) {
	p := &plan{root: root, shapes: map[reflect.Type]cloneShape{}, allowDuplicates: r.AllowDuplicateKeys, defaults: r.Defaults}
	for _, t := range types {
		p.shapeOf(t)
	}
	if p.problem != nil {
		return nil, fmt.Errorf("merge: %w", p.problem)
	}
	return p, nil
}

// Type returns how values of the plan's type merge; nil for a nil plan.
func (p *Plan[T, P]) Type() *schema.Type {
	if p == nil || p.plan == nil {
		return nil
	}
	return p.plan.root
}

// CopyPatch returns a copy of a patch that shares no memory with it. It returns nil for nil, and for a patch that contains itself.
func (p *Plan[T, P]) CopyPatch(patch *P) *P {
	if p == nil || p.plan == nil || patch == nil {
		return nil
	}
	copied := new(P)
	if p.plan.clone(reflect.ValueOf(copied).Elem(), reflect.ValueOf(patch).Elem()) != nil {
		return nil
	}
	return copied
}

// Layered is one manager's patch.
type Layered[P any] struct {
	// Layer owns the patch. Two patches of one layer never disagree.
	Layer Layer
	// Patch is the patch; a nil patch sets nothing.
	Patch *P
	// JSON is a JSON patch to an object, instead of Patch: an update by the manager. It owns what it adds and changes.
	JSON []Operation
	// Source locates the patch in its document: sources of claims begin with it.
	Source fieldpath.Path
}

// Options extend Apply. The zero value only merges, which is cheapest.
type Options struct {
	// Owners requests Result.Owners.
	Owners bool
	// Base names the layer of the base, "base" if empty. Source locates the base in its document.
	Base   Layer
	Source fieldpath.Path

	// Managed states that the base is a live object of a definition. The owners in its metadata.managedFields claim their fields. A patch
	// replaces what its manager has applied before: fields that nobody owns then are removed. The result has the new managedFields. The
	// entries of the patches have no time. Managed permits no policy but Order.
	Managed bool

	// The policies of the merge. Their zero values merge as the cluster.
	Order      OrderPolicy
	Unions     UnionPolicy
	Empty      EmptyPolicy
	Precedence PrecedencePolicy
	Defaults   DefaultPolicy
	// Managers win over all others. The first one named wins over the next. No other Precedence may be set.
	Managers []string
	// Protected are patterns of fields that keep the base's values: see fieldpath.Path.Matches. The name of a field within a list stands
	// for that field of each item. Result.Protected lists who sets such a field; with ProtectedError that is an error.
	Protected      []fieldpath.Path
	ProtectedError bool
}

// Result is the result of Apply. It aliases neither the base nor the patches.
type Result[T any] struct {
	// Value is the merged value.
	Value T
	// Owners records the layers that set each field of Value; nil unless Options request it.
	Owners *Ownership
	// Duplicates are the items that share their merge key with an earlier one. They are found in lists of the base that patches
	// reached, and only if Options request owners. A patch changes the first item of a key only.
	Duplicates []fieldpath.Path
	// Ignored are the fields of objects that their Go type lacks. They have no effect, as in a strategic merge patch. A field
	// that a definition lacks is an error instead, as in a server-side apply: see ForObject.
	Ignored []Ignored
	// Decisions holds the decisions of the policies, in no particular order of the policies. Order decides nothing.
	Decisions []Decision
	// Protected are the protected fields that patches set, or emptied with a field around them.
	Protected []Ignored
}

// Ignored is a field that a layer sets without effect, or removes without meaning to.
type Ignored struct {
	// Layer set the field. Path leads to it in the value. For a patch the path is complete only if Options request owners.
	Layer Layer
	Path  fieldpath.Path
}

// Base names the layer of the base if Options do not.
const Base Layer = "base"

// Apply merges patches into a base in the given order. It changes neither; a nil base is an empty value.
//
// The error is a [*PatchError], which names the layer and the field at which a patch cannot be merged. There is then no result.
// If several patches cannot be merged, the error names the first.
func (p *Plan[T, P]) Apply(base *T, patches []Layered[P], o Options) (*Result[T], error) {
	result := new(Result[T])
	m, err := p.apply(&result.Value, base, patches, o)
	if err != nil {
		return nil, err
	}
	result.Ignored, result.Duplicates, result.Protected = m.ignored, m.duplicates, m.protected
	if m.log != nil {
		result.Decisions = m.log.decisions
	}
	if o.Owners {
		result.Owners = m.ownership
	}
	return result, nil
}

// ApplyInto merges as Apply does and stores the value in dst, which must be zero. It returns the ownership of dst, nil unless
// Options request it. After an error dst holds part of the merge.
func (p *Plan[T, P]) ApplyInto(dst, base *T, patches []Layered[P], o Options) (*Ownership, error) {
	if dst == nil {
		return nil, errors.New("merge: there is nothing to merge into")
	}
	m, err := p.apply(dst, base, patches, o)
	if !o.Owners {
		return nil, err
	}
	return m.ownership, err
}

func (p *Plan[T, P]) apply(dst, base *T, patches []Layered[P], o Options) (merger, error) {
	if p == nil || p.plan == nil {
		return merger{}, errors.New("merge: a plan that was not compiled merges nothing")
	}
	if err := o.check(p.plan); err != nil {
		return merger{}, err
	}
	m := merger{plan: p.plan, follows: o.Order == BaseOrder, skips: o.Empty == SkipEmpty}
	if p.plan.objects {
		var err error
		m.log, m.ownership, m.protected, err = p.plan.applyObjects(any(dst).(*Object), any(base).(*Object), any(patches).([]Layered[Object]), o)
		return m, err
	}
	trees, order := make([]Object, len(patches)), mergeOrder(patches, o)
	if o.Owners || o.decides() {
		m.owners, m.log = true, logOf(p.plan.root, patches, o)
		m.log.reordered = !slices.IsSorted(order)
		m.log.patches = trees
		defer func() { m.log.patches, m.log.parts = nil, nil }()
	}
	value := reflect.ValueOf(dst).Elem()
	isAny := value.Kind() == reflect.Interface // made by ForAny
	switch {
	case isAny:
		made := reflect.New(p.plan.root.GoType())
		value.Set(made)
		value = made.Elem()
		if base != nil {
			from, err := p.plan.structOf(reflect.ValueOf(base).Elem())
			if err != nil {
				return merger{}, fmt.Errorf("merge: the base %w", err)
			}
			if err := p.plan.clone(value, from); err != nil {
				return merger{}, baseError(o, err)
			}
		}
	case p.plan.of != nil:
		value = reflect.New(p.plan.of).Elem()
		m.of = baseLayerOf(o)
		if base != nil {
			if err := m.read(p.plan.root, value, *base); err != nil {
				return merger{}, baseError(o, err)
			}
		}
	case base == nil:
	default:
		if c, ok := any(base).(interface{ DeepCopyInto(*T) }); ok {
			c.DeepCopyInto(dst)
		} else if err := p.plan.clone(value, reflect.ValueOf(base).Elem()); err != nil {
			return merger{}, baseError(o, err)
		}
	}
	for place, i := range order {
		if patches[i].JSON != nil {
			return merger{}, &PatchError{Layer: patches[i].Layer, Index: i, Err: errors.New("a JSON patch changes objects only: use ForObject or ForJSON")}
		}
		if patches[i].Patch == nil {
			continue
		}
		m.remaining, m.jsonOnly, m.of = len(patches)-place-1, m.jsonOnly[:0], patches[i].Layer
		if m.owners {
			m.layer = m.log.ids[i]
		}
		tree, ofValue, err := p.plan.treeOf(reflect.ValueOf(patches[i].Patch).Elem())
		if err == nil {
			m.ofValue, trees[i] = ofValue, tree
			err = m.patch(value, tree)
		}
		if err != nil {
			failed := asPatchError(err)
			failed.Layer, failed.Index = patches[i].Layer, i
			return merger{}, failed
		}
	}
	if m.owners {
		m.log.contestRepeats()
		m.log.contestLiterals()
		if m.log.emptied {
			m.log.findAlike()
		}
		if err := m.decide(value, o); err != nil {
			return merger{}, err
		}
		m.ownership = &Ownership{log: m.log, value: value}
	}
	if o.Defaults == RuleDefaults {
		if o.Owners { // the owners are those of the value without defaults
			m.ownership.value = reflect.New(value.Type()).Elem()
			_ = p.plan.clone(m.ownership.value, value) // a result does not contain itself
		}
		p.plan.defaults.Fill(value.Addr().Interface())
	}
	if p.plan.of != nil {
		object, err := jsonOf(value)
		if err != nil {
			return merger{}, err
		}
		reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(object))
	}
	return m, nil
}

// baseError returns the error of a base.
func baseError(o Options, err error) error {
	failed := asPatchError(err)
	failed.Layer, failed.Index = baseLayerOf(o), -1
	return failed
}

func baseLayerOf(o Options) Layer {
	if o.Base == "" {
		return Base
	}
	return o.Base
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
		if object, ok := tree.Encode(patch.Addr().Interface()); ok {
			return object, ofValue, nil
		}
		value, err = jsonOf(patch)
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

// PatchError reports that a patch cannot be merged.
type PatchError struct {
	// Layer owns the patch, and Index is its place in the list; -1 for the base.
	Layer Layer
	Index int
	// Path is the field at which the merge fails.
	Path fieldpath.Path
	// Err states the problem.
	Err error
}

// Error names the layer and the field.
func (e *PatchError) Error() string {
	if e == nil {
		return "no error"
	}
	of := "patch of " + string(e.Layer)
	if e.Index < 0 {
		of = string(e.Layer)
	}
	if len(e.Path) == 0 {
		return fmt.Sprintf("%s: %s", of, e.Err)
	}
	return fmt.Sprintf("%s: %s: %s", of, e.Path, e.Err)
}

// Unwrap returns the problem.
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

// within prepends a step to an error's path.
func within(step fieldpath.Step, err error) error {
	e := asPatchError(err)
	e.Path = slices.Insert(e.Path, 0, step)
	return e
}

// decode sets dst, a Go value, from JSON as API machinery does. An integer in a value of any type stays an integer. An error
// names the type that dst requires.
func decode(dst reflect.Value, from any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("is no JSON: %w", err)
	}
	if err := quantity.Unmarshal(text, dst.Addr().Interface(), kjson.UnmarshalCaseSensitivePreserveInts); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			want, is := jsonType(dst.Type()), withArticle(typeInJSON(from))
			if want == is {
				is = wrong.Value // of a field within, or a number out of range
			}
			return fmt.Errorf("must be %s, and is %s", want, is)
		}
		return err
	}
	return nil
}

// jsonType returns the JSON type of a Go type, with its article.
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
