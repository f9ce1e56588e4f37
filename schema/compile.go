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
	c := compiler{done: map[typePair]*Type{}, holds: map[reflect.Type]bool{}}
	return c.compile(template, patch)
}

type typePair struct{ template, patch reflect.Type }

type compiler struct {
	done  map[typePair]*Type
	holds map[reflect.Type]bool // the structs from which maps can be reached
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
		c.fields(t, template, patch)
	case template.Kind() == reflect.Map:
		t.Kind = Map
		t.Elem = c.compile(template.Elem(), elem(patch))
	case template.Kind() == reflect.Slice && template.Elem().Kind() != reflect.Uint8:
		t.Kind = Atomic
		t.maps = c.holdsMaps(template.Elem())
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
				keyed.Kind, keyed.key = ListMap, keyed.Elem.Field(keyed.Key)
			}
			f.Type = &keyed
		}
		t.Fields = append(t.Fields, f)
		// No type of a template contains itself, so that a field's own is complete here.
		if f.Type.Kind == ListMap || f.Type.Kind == Struct && len(f.Type.Unions)+len(f.Type.nested) > 0 {
			t.nested = append(t.nested, f)
		}
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

// goFields lists the fields that encoding/json would write for a struct, inlined structs in place.
func goFields(t reflect.Type, outer []int) []goField {
	fields := make([]goField, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		index := f.Index
		if len(outer) > 0 {
			index = slices.Concat(outer, index)
		}
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			fields = append(fields, goFields(f.Type, index)...)
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

func indirect(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
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

// holdsMaps reports whether a map can be reached from values of the type.
func (c *compiler) holdsMaps(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Map:
		return true
	case reflect.Pointer, reflect.Slice:
		return c.holdsMaps(t.Elem())
	case reflect.Struct:
		holds, known := c.holds[t]
		if !known && !encodesItself(t) {
			for i := 0; i < t.NumField() && !holds; i++ {
				holds = c.holdsMaps(t.Field(i).Type)
			}
		}
		c.holds[t] = holds
		return holds
	}
	return false
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
