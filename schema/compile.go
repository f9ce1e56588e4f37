package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// compile reads the merge schema of a template type off its struct tags, and pairs its fields with
// those of the patch type that mirrors it. Pairs of types are compiled once and shared, so that the
// result is small although the types are large.
func compile(template, patch reflect.Type) *Type {
	if template == nil {
		return nil
	}
	c := compiler{done: map[typePair]*Type{}, holds: map[reflect.Type]bool{}}
	t := c.compile(template, patch)
	c.finish()
	return t
}

type typePair struct{ template, patch reflect.Type }

type compiler struct {
	done    map[typePair]*Type
	holds   map[reflect.Type]bool // the types from which maps can be reached, or cannot
	structs []*Type
	keyed   []*Type // the list-maps
}

// finish fills in what needs the fields of all types: a type may contain itself.
func (c *compiler) finish() {
	for _, t := range c.keyed {
		t.key = t.Elem.Field(t.Key)
	}
	nested := map[*Type]bool{} // the structs that have a nested field or a union
	isNested := func(f *StructField) bool { return f.Type.Kind == ListMap || nested[f.Type] }
	for again := true; again; {
		again = false
		for _, t := range c.structs {
			if !nested[t] && (len(t.Unions) > 0 || slices.ContainsFunc(t.Fields, isNested)) {
				nested[t], again = true, true
			}
		}
	}
	for _, t := range c.structs {
		for _, f := range t.Fields {
			if isNested(f) {
				t.nested = append(t.nested, f)
			}
		}
	}
}

func (c *compiler) compile(template, patch reflect.Type) *Type {
	template, patch = indirect(template), indirect(patch)
	pair := typePair{template, patch}
	if t := c.done[pair]; t != nil {
		return t
	}
	t := &Type{}
	c.done[pair] = t
	switch {
	case encodesItself(template):
		t.Kind = Scalar
	case template.Kind() == reflect.Struct:
		t.Kind = Struct
		t.Unions = unionsOf(template)
		c.structs = append(c.structs, t)
		c.fields(t, template, patch)
	case template.Kind() == reflect.Map:
		t.Kind = Map
		t.Elem = c.compile(template.Elem(), elem(patch))
	case template.Kind() == reflect.Slice && template.Elem().Kind() != reflect.Uint8:
		t.Kind = Atomic
		t.maps = c.canHoldMaps(template.Elem())
		t.Elem = c.compile(template.Elem(), elem(patch))
	default:
		t.Kind = Scalar
	}
	return t
}

func (c *compiler) fields(t *Type, template, patch reflect.Type) {
	fields := goFields(template, nil)
	mirrored := fields // most types below a patch's own are the template's
	switch {
	case patch == nil || patch.Kind() != reflect.Struct:
		mirrored = nil
	case patch != template:
		mirrored = goFields(patch, nil)
	}
	compiled := make([]StructField, len(fields))
	t.Fields = make([]*StructField, 0, len(fields))
	for i := range fields {
		g, f := &fields[i], &compiled[i]
		f.Name, f.Template = g.name, g.slot
		var patchType reflect.Type
		if p := fieldNamed(mirrored, g.name); p != nil {
			f.Patch, patchType = &p.slot, p.typ
		}
		f.Type = c.compile(g.typ, patchType)
		if strategy := g.tag.Get("patchStrategy"); f.Type.Kind == Atomic && hasOption(strategy, "merge") {
			// A list's own tags decide how it merges, so its type is not shared with other lists.
			keyed := *f.Type
			keyed.Key = g.tag.Get("patchMergeKey")
			keyed.Kind = Set
			if keyed.Key != "" {
				keyed.Kind = ListMap
				c.keyed = append(c.keyed, &keyed)
			}
			f.Type = &keyed
		}
		t.Fields = append(t.Fields, f)
		if f.Patch != nil {
			t.patchable = append(t.patchable, f)
		}
	}
	t.scan = scanOf(t.patchable)
}

type goField struct {
	name string
	typ  reflect.Type
	tag  reflect.StructTag
	slot Slot
}

// goFields lists the fields that encoding/json would write for a struct, inlined structs in place. The struct stands
// at an index sequence within the outer types.
func goFields(t reflect.Type, outer []int, outerTypes ...reflect.Type) []goField {
	fields := make([]goField, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		index := f.Index
		if len(outer) > 0 {
			index = slices.Concat(outer, index)
		}
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case name == "" && f.Anonymous && indirect(f.Type).Kind() == reflect.Struct:
			if inner := indirect(f.Type); !slices.Contains(outerTypes, inner) && inner != t {
				fields = append(fields, goFields(inner, index, append(outerTypes[:len(outerTypes):len(outerTypes)], t)...)...)
			}
		default:
			fields = append(fields, goField{name: name, typ: f.Type, tag: f.Tag, slot: Slot{
				Index:     index,
				OmitEmpty: hasOption(options, "omitempty"),
				OmitZero:  hasOption(options, "omitzero"),
				kind:      f.Type.Kind(),
			}})
		}
	}
	return fields
}

// fieldNamed finds a field, or nil.
func fieldNamed(fields []goField, name string) *goField {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

func hasOption(options, name string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if option == name {
			return true
		}
	}
	return false
}

// mostPointers is how many pointers to pointers are followed. More has only a pointer type that points to itself.
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

// encodesItself reports whether the type writes its own JSON, as quantities and times do: to a
// merge it is then one value.
func encodesItself(t reflect.Type) bool {
	marshaler := reflect.TypeFor[json.Marshaler]()
	return t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)
}

// canHoldMaps reports whether a map can be reached from values of the type.
func (c *compiler) canHoldMaps(t reflect.Type) bool {
	seen := map[reflect.Type]bool{}
	holds := c.holdsMaps(t, seen)
	if !holds { // a type that was seen before a map was found may still hold one
		for of := range seen {
			c.holds[of] = false
		}
	}
	return holds
}

func (c *compiler) holdsMaps(t reflect.Type, seen map[reflect.Type]bool) bool {
	if holds, known := c.holds[t]; known || seen[t] {
		return holds
	}
	seen[t] = true
	holds := false
	switch t.Kind() {
	case reflect.Map:
		holds = true
	case reflect.Pointer, reflect.Slice:
		holds = c.holdsMaps(t.Elem(), seen)
	case reflect.Struct:
		if !encodesItself(t) {
			for i := 0; i < t.NumField() && !holds; i++ {
				holds = c.holdsMaps(t.Field(i).Type, seen)
			}
		}
	}
	if holds {
		c.holds[t] = true
	}
	return holds
}

// unionsOf lists the unions of the API types that a patch can reach. Struct tags do not tell them;
// the rules are those of the API server's validation of Pods (Kubernetes v1.36 pkg/apis/core/validation).
func unionsOf(t reflect.Type) []Union {
	switch t {
	case reflect.TypeFor[corev1.Volume]():
		return []Union{{Name: "source", Members: names(reflect.TypeFor[corev1.VolumeSource]())}}
	case reflect.TypeFor[corev1.EnvVar]():
		return []Union{{Name: "value", Members: []string{"value", "valueFrom"}}}
	case reflect.TypeFor[corev1.EnvVarSource]():
		return []Union{{Name: "source", Members: names(t)}}
	case reflect.TypeFor[corev1.VolumeMount]():
		return []Union{{Name: "sub-path", Members: []string{"subPath", "subPathExpr"}}}
	case reflect.TypeFor[corev1.SeccompProfile](), reflect.TypeFor[corev1.AppArmorProfile]():
		return []Union{{Name: "profile", Members: []string{"localhostProfile"}, Discriminator: "type", When: "Localhost"}}
	default:
		return nil
	}
}

func names(t reflect.Type) []string {
	var names []string
	for _, g := range goFields(t, nil) {
		names = append(names, g.name)
	}
	return names
}
