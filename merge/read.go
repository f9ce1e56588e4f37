package merge

import (
	"reflect"
	"unicode/utf8"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file reads values that merge whole, and removes directives from those that the base lacks.

// read returns a value that merges whole in normal form. It ignores a field that the type lacks, as
// the cluster does.
func (m *merger) read(t *schema.Type, from any) (any, error) {
	if from == nil {
		return nil, nil
	}
	if t.Kind == schema.Scalar {
		return readScalar(t, from)
	}
	switch of := t.GoType(); of.Kind() {
	case reflect.Struct:
		patch, ok := from.(Object)
		if !ok {
			return nil, wrongType(from, "an object")
		}
		return m.readObject(t, patch)
	case reflect.Map:
		patch, ok := from.(Object)
		if !ok {
			return nil, wrongType(from, "an object")
		}
		return m.newEntries(nil, t, patch, true)
	default:
		items, ok := from.([]any)
		if !ok {
			return nil, wrongType(from, "a list")
		}
		return m.readList(t, items)
	}
}

func (m *merger) readObject(t *schema.Type, from Object) (Object, error) {
	into := make(Object, len(from))
	for name, value := range byName(from).all {
		f := t.Field(name)
		if f == nil {
			m.notes = append(
				m.notes, Note{
					Kind: Ignored, Owner: m.of, Path: m.path.Append(fieldpath.Field(name))})
			continue
		}
		m.enter(fieldpath.Field(name))
		made, err := m.read(f.Type, value)
		if err != nil {
			return nil, err
		}
		m.leave()
		m.put(f, into, made)
	}
	return m.normal(t, into)
}

func (m *merger) readList(t *schema.Type, items []any) ([]any, error) {
	made := make([]any, len(items))
	for i, item := range items {
		m.enter(fieldpath.Index(i))
		var err error
		if made[i], err = m.read(t.Elem, item); err != nil {
			return nil, err
		}
		if made[i] == nil {
			made[i] = t.EmptyItem()
		}
		m.leave()
	}
	return made, nil
}

// readScalar returns a value that has no fields, or that reads its own JSON, as its Go type encodes
// it.
func readScalar(t *schema.Type, from any) (any, error) {
	of := t.GoType()
	if of == nil {
		return from, nil
	}
	switch v := from.(type) {
	case string:
		if !t.Own && of.Kind() == reflect.String && utf8.ValidString(v) {
			return from, nil
		}
	case bool:
		if !t.Own && of.Kind() == reflect.Bool {
			return from, nil
		}
	case int64:
		if !t.Own && reflect.Int <= of.Kind() && of.Kind() <= reflect.Int64 && !of.OverflowInt(v) {
			return from, nil
		}
	}
	return reencode(of, from)
}

// newEntries returns the entries of a map that the base lacks.
func (m *merger) newEntries(at *node, t *schema.Type, patch Object,
	verbatim bool) (Object, error) {
	made := make(Object, len(patch))
	for name, value := range byName(patch).all {
		m.enter(fieldpath.Key(name))
		entry, keep := m.keyed(at, name), true
		if !verbatim {
			value, keep = withoutDirectives(value)
			keep = keep && value != nil
		}
		if !keep {
			m.claimNull(entry)
			m.leave()
			continue
		}
		read, err := m.read(t.Elem, value)
		if err != nil {
			return nil, err
		}
		if read == nil {
			read = t.EmptyItem()
		}
		made[name] = read
		m.claim(entry, read)
		m.leave()
	}
	return made, nil
}

// withoutDirectives returns a patch's value as upstream sets it if the base has none. It removes
// nulls from objects, and objects that hold a $patch directive. If the value itself is such an
// object, keep is false.
func withoutDirectives(value any) (stripped any, keep bool) { return strip(value, false) }

// strip removes objects with a $patch directive from a value. A list that $setElementOrder orders
// keeps its nulls. There, even a null $patch is a directive.
func strip(value any, keepsNulls bool) (stripped any, keep bool) {
	switch value := value.(type) {
	case Object:
		if directive, has := value[patchDirective]; directive != nil || has && keepsNulls {
			return nil, false
		}
		kept := make(Object, len(value))
		for name, v := range value {
			if v, keep := strip(v, keepsNulls); keep && (v != nil || keepsNulls) {
				kept[name] = v
			}
		}
		return kept, true
	case []any:
		kept := make([]any, 0, len(value))
		for _, v := range value {
			if v, keep := strip(v, keepsNulls); keep {
				kept = append(kept, v)
			}
		}
		return kept, true
	default:
		return value, true
	}
}
