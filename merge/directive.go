package merge

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A strategic merge patch may carry directives, and upstream looks for them in every map, also in
// one of plain strings. So a label called "$patch" is obeyed, and can empty the runtime's labels.
// Apply does the same, to the letter. schema.Check refuses all such keys, which is what users see.
const (
	patchDirective  = "$patch"
	retainDirective = "$retainKeys"
	orderDirective  = "$setElementOrder"
	deleteDirective = "$deleteFromPrimitiveList"
)

func hasDirective(m reflect.Value) bool {
	for entries := m.MapRange(); entries.Next(); {
		if strings.HasPrefix(entries.Key().String(), "$") {
			return true
		}
	}
	return false
}

func sortedKeys(m reflect.Value) []string {
	keys := make([]string, 0, m.Len())
	for entries := m.MapRange(); entries.Next(); {
		keys = append(keys, entries.Key().String())
	}
	slices.Sort(keys)
	return keys
}

// directives merges a map that holds directives.
func (m *merger) directives(dst, src reflect.Value, at node) error {
	patch := map[string]reflect.Value{}
	for entries := src.MapRange(); entries.Next(); {
		patch[entries.Key().String()] = entries.Value()
	}
	directive, hasPatch := patch[patchDirective]
	if dst.Len() == 0 && !m.isRaw(dst) {
		if hasPatch && !m.verbatim {
			return nil // the template lacks the map: it is lost with all its keys
		}
		return m.entries(dst, patch, at)
	}
	if hasPatch {
		delete(patch, patchDirective)
		switch fmt.Sprint(directive.Interface()) {
		case "delete":
			clear(patch)
		case "replace":
		default:
			return fmt.Errorf("%s: unknown directive %q; no label, annotation or selector may be called %s", patchDirective, fmt.Sprint(directive.Interface()), patchDirective)
		}
		m.unseen = true
		for _, key := range sortedKeys(dst) {
			if _, kept := patch[key]; !kept {
				k := reflect.ValueOf(key).Convert(dst.Type().Key())
				entry := m.keyed(at, key)
				m.keepOld(entry, scalarType, dst.MapIndex(k), true)
				dst.SetMapIndex(k, reflect.Value{})
				m.claimNull(entry)
			}
		}
		m.raw = append(m.raw, dst.Pointer())
		return m.entries(dst, patch, at)
	}
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		value := patch[key]
		switch {
		case key == retainDirective, strings.HasPrefix(key, orderDirective):
			return fmt.Errorf("%q is a directive whose value must be a list; no label, annotation or selector may be called so", key)
		case strings.HasPrefix(key, deleteDirective):
			name, ok := strings.CutPrefix(key, deleteDirective+"/")
			if !ok {
				return fmt.Errorf("%q is a directive that names no list; no label, annotation or selector may be called so", key)
			}
			delete(patch, key)
			if dst.MapIndex(reflect.ValueOf(name).Convert(dst.Type().Key())).IsValid() {
				patch[name] = value
			}
		}
	}
	return m.entries(dst, patch, at)
}

func (m *merger) entries(dst reflect.Value, patch map[string]reflect.Value, at node) error {
	if dst.IsNil() {
		dst.Set(reflect.MakeMap(dst.Type()))
	}
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		m.entry(dst, reflect.ValueOf(key).Convert(dst.Type().Key()), patch[key], at)
	}
	return nil
}

// stripDirectives drops the maps within a value that hold a $patch directive, as upstream does with
// a value that the template lacks.
func stripDirectives(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			stripDirectives(v.Elem())
		}
	case reflect.Slice:
		if t := v.Type().Elem(); t.Kind() == reflect.Struct && !shapes()[t].maps {
			return
		}
		for i := range v.Len() {
			stripDirectives(v.Index(i))
		}
	case reflect.Struct:
		for _, i := range shapes()[v.Type()].deep {
			stripDirectives(v.Field(i))
		}
	case reflect.Map:
		if v.MapIndex(reflect.ValueOf(patchDirective).Convert(v.Type().Key())).IsValid() {
			v.SetZero()
		}
	}
}
