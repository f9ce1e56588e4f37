package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/merge/tree"
)

// Rules hold merge rules that the struct tags of a type lack.
type Rules struct {
	// Unions are the unions of a struct type. See PodRules for the unions of Kubernetes' own types.
	Unions map[reflect.Type][]Union
	// Defaults are the values of fields that nobody sets: see PodRules.
	Defaults *Defaults
	// Only restricts the fields of structs that a patch may set. Its keys are the names of fields
	// of the root, such as "metadata".
	Only map[string][]string
	// AllowDuplicateKeys allows a patch to hold two items of one merge key. A strategic merge
	// combines the two, or keeps both if the base lacks the list. Without AllowDuplicateKeys they
	// are an error.
	AllowDuplicateKeys bool
}

// Compile reads from struct tags and rules how the values of a Go type merge. It pairs the type's
// fields with the fields of patch, the mirroring type of patches. If patches have the same type,
// patch is template; without patches it is nil. Compile reads the tags of Kubernetes: json,
// patchStrategy, patchMergeKey. A type may contain itself. The error names a rule or a merge key
// that leads to no field.
func Compile(template, patch reflect.Type, r Rules) (*Type, error) {
	if template == nil {
		return nil, errors.New("there is no type to compile")
	}
	c := compiler{rules: r, done: map[typePair]*Type{}}
	t := c.compile(template, patch)
	for _, name := range slices.Sorted(maps.Keys(r.Only)) {
		if err := c.restrict(t, name, r.Only[name]); err != nil {
			return nil, fmt.Errorf("rule for %q: %w", name, err)
		}
	}
	if err := c.misnamed(); err != nil {
		return nil, err
	}
	if err := c.finish(); err != nil {
		return nil, err
	}
	return t, nil
}

// TypeOf compiles the merge schema of any API type from its struct tags. It serves comparisons and
// merges of whole objects, such as Jobs and Pods. None of its fields is patchable. A pointer stands
// for its target. The Type of a nil type is nil. Every call compiles again: keep the result.
func TypeOf(t reflect.Type) *Type {
	compiled, _ := Compile(t, nil, Rules{}) // only rules can fail
	return compiled
}

// misnamed returns an error for the first wrong rule. Its type is not within the compiled type, or
// lacks a field of the rule.
func (c *compiler) misnamed() error {
	var problems []string
	for of, unions := range c.rules.Unions {
		if !slices.ContainsFunc(c.structs, func(t *Type) bool { return t.goType == of }) {
			problems = append(
				problems, fmt.Sprintf("rule for %v: unions: there is no field of this type", of))
		}
		names := append(goNames(of), "") // of no discriminator
		for _, u := range unions {
			for _, name := range append(slices.Clone(u.Members), u.Discriminator) {
				if !slices.Contains(names, name) {
					problems = append(
						problems, fmt.Sprintf("rule for %v: union %q: there is no field %q", of,
							u.Name, name))
				}
			}
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(slices.Min(problems)) // maps have no order
}

// restrict allows patches only the named fields of a struct in a field of t. Fields share types, so
// restrict copies the type.
func (c *compiler) restrict(t *Type, name string, only []string) error {
	i := slices.IndexFunc(t.Fields, func(f *StructField) bool { return f.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no field %q", name)
	}
	restricted := *t.Fields[i].Type
	t.Fields[i].Type = &restricted
	c.structs = append(c.structs, &restricted)
	all := restricted.Fields
	restricted.Plain, restricted.patchable, restricted.Fields = true, nil, nil
	for _, f := range all {
		kept := *f
		if slices.Contains(only, f.Name) {
			plain := *f.Type
			plain.Plain, kept.Type = true, &plain
			restricted.patchable = append(restricted.patchable, &kept)
		} else {
			kept.patch = nil
		}
		restricted.Fields = append(restricted.Fields, &kept)
	}
	return nil
}

type typePair struct{ template, patch reflect.Type }

type compiler struct {
	rules   Rules
	done    map[typePair]*Type
	structs []*Type
	keyed   []*Type // the list-maps
}

// finish sets the parts of types that need the fields of all types: a type may contain itself. It
// returns an error for a merge key that the items lack.
func (c *compiler) finish() error {
	for _, t := range c.structs {
		t.sorted = slices.SortedStableFunc(slices.Values(t.Fields), func(a, b *StructField) int {
			return strings.Compare(a.Name, b.Name)
		})
	}
	for _, t := range c.keyed {
		if t.key = t.Elem.Field(t.Key); t.key == nil {
			return fmt.Errorf("%v: patchMergeKey: there is no field %q", t.goType.Elem(), t.Key)
		}
	}
	for _, t := range c.structs {
		for _, f := range t.Fields {
			t.optional = t.optional || f.template.InPointer
			if !f.template.InPointer && !f.Omits(f.empty) {
				t.required = append(t.required, f)
			}
		}
	}
	return nil
}

func (c *compiler) compile(template, patch reflect.Type) *Type {
	template, patch = indirect(template), indirect(patch)
	pair := typePair{template, patch}
	if t := c.done[pair]; t != nil {
		return t
	}
	t := &Type{goType: template, patchType: patch}
	c.done[pair] = t
	switch {
	case encodesItself(template):
		t.Kind, t.Own, t.Raw = Scalar, true, !declaresScalar(template)
	case template.Kind() == reflect.Struct:
		t.Kind = Struct
		t.Unions = c.rules.Unions[template]
		c.structs = append(c.structs, t)
		c.fields(t, template, patch)
	case template.Kind() == reflect.Map && template.Key().Kind() != reflect.String:
		t.Kind, t.Raw = Scalar, true // its JSON is an object by the texts of its keys
	case template.Kind() == reflect.Interface:
		t.Kind, t.Raw = Scalar, true
	case template.Kind() == reflect.Map:
		t.Kind = Map
		t.Elem = c.compile(template.Elem(), elem(patch))
	case template.Kind() == reflect.Slice && template.Elem().Kind() != reflect.Uint8:
		t.Kind = Atomic
		t.Elem = c.compile(template.Elem(), elem(patch))
	default:
		t.Kind = Scalar
	}
	return t
}

func (c *compiler) fields(t *Type, template, patch reflect.Type) {
	fields := fieldsOf(template)
	mirrored := fields // most types below a patch's own are the template's
	switch {
	case patch == nil || patch.Kind() != reflect.Struct:
		mirrored = nil
	case patch != template:
		mirrored = fieldsOf(patch)
	}
	compiled := make([]StructField, len(fields))
	t.Fields = make([]*StructField, 0, len(fields))
	for i := range fields {
		g, f := &fields[i], &compiled[i]
		f.Name, f.template, f.empty = g.Name, *g, emptyOf(g.Type)
		var patchType reflect.Type
		if p := fieldNamed(mirrored, g.Name); p != nil {
			f.patch, patchType = p, p.Type
		}
		f.Type = c.tagged(c.compile(g.Type, patchType), g.Tag)
		t.Fields = append(t.Fields, f)
		if f.IsPatchable() {
			t.patchable = append(t.patchable, f)
		}
	}
}

// tagged returns the type of a field whose own tags decide how its values merge. Other fields do
// not share this type.
func (c *compiler) tagged(t *Type, tag reflect.StructTag) *Type {
	strategy, key := tag.Get("patchStrategy"), tag.Get("patchMergeKey")
	list := t.Kind == Atomic
	switch {
	case list && hasOption(strategy, "merge"):
	case t.Raw && hasOption(strategy, "replace"):
		replaced := *t
		replaced.Whole = true
		return &replaced
	case (t.Kind == Struct || t.Kind == Map) && hasOption(strategy, "replace"):
		replaced := *t
		replaced.Kind = Atomic
		c.structs = append(c.structs, &replaced)
		return &replaced
	default:
		return t
	}
	keyed := *t
	keyed.Key, keyed.Kind = key, Set
	// t lacks it while its items are compiled, which may hold such a list
	keyed.Elem = c.compile(t.goType.Elem(), elem(t.patchType))
	if key != "" {
		keyed.Kind = ListMap
		c.keyed = append(c.keyed, &keyed)
	}
	return &keyed
}

// fieldsOf lists the fields that encoding/json would write for a struct, in the order of the type.
func fieldsOf(t reflect.Type) []tree.Field {
	fields := tree.Structs{}.Of(t)
	slices.SortFunc(fields, func(a, b tree.Field) int { return slices.Compare(a.Index, b.Index) })
	return fields
}

// fieldNamed returns the field with a name, or nil.
func fieldNamed(fields []tree.Field, name string) *tree.Field {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

func hasOption(options, name string) bool {
	return slices.Contains(strings.Split(options, ","), name)
}

// mostPointers limits chains of pointers. Only a pointer type that points to itself is longer.
const mostPointers = 64

func indirect(t reflect.Type) reflect.Type {
	for i := 0; t != nil && t.Kind() == reflect.Pointer && i < mostPointers; i++ {
		t = t.Elem()
	}
	return t
}

func elem(t reflect.Type) reflect.Type {
	if t == nil || t.Kind() != reflect.Slice && t.Kind() != reflect.Map {
		return nil
	}
	return t.Elem()
}

// encodesItself reports whether the type writes its own JSON, as quantities and times do. A merge
// treats it as one value.
func encodesItself(t reflect.Type) bool {
	marshaler := reflect.TypeFor[json.Marshaler]()
	return t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)
}

// declaresScalar reports whether a type with its own JSON declares a JSON type other than object.
// Quantities and times do.
func declaresScalar(t reflect.Type) bool {
	declared, ok := reflect.New(t).Interface().(interface{ OpenAPISchemaType() []string })
	return ok && len(declared.OpenAPISchemaType()) > 0 &&
		!slices.Contains(declared.OpenAPISchemaType(), "object")
}
