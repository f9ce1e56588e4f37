package merge

import (
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file takes from a patch what the base lacks. Upstream strips such a value of its nulls and
// of the objects with a directive. A new item of a list that the base has, and what replaces a
// value, it takes verbatim. Directives remove nothing there, and claim nothing.

// fresh returns a patch's value in normal form, nil for one that is dropped. The flag strip states
// that it loses nulls and directives.
func (m *merger) fresh(t *schema.Type, from any, at *node, strip bool) (any, error) {
	if strip && hasDirective(from) && t.Kind != schema.Struct && t.Kind != schema.Map && !t.Raw {
		m.claimNull(at) // upstream drops the value with its directive
		return nil, nil
	}
	switch t.Kind {
	case schema.Struct:
		return m.freshStruct(t, from, at, strip)
	case schema.Map:
		return m.freshMap(t, from, at, strip)
	case schema.ListMap, schema.Set:
		items, ok := from.([]any)
		switch {
		case !ok:
			return nil, wrongType(from, "a list")
		case t.Kind == schema.Set:
			return m.freshSet(t, items, at, strip)
		}
		return m.freshList(t, items, at, strip)
	}
	if strip {
		from, _ = withoutDirectives(from)
	}
	value, err := m.read(t, from)
	if err == nil {
		m.claim(at, value)
	}
	return value, err
}

func (m *merger) freshStruct(t *schema.Type, from any, at *node, strip bool) (any, error) {
	patch, ok := from.(Object)
	switch {
	case !ok:
		return nil, wrongType(from, "an object")
	case strip && hasDirective(patch):
		return nil, nil
	}
	if at.isOptional() {
		m.markCreated(at)
	}
	claimed := m.claimed
	value, err := m.freshObject(t, nil, patch, at, strip)
	if err != nil {
		return nil, err
	}
	if m.claimed == claimed && !t.Plain && at != nil && at.isPointer() {
		m.presence(at, false)
	}
	return value, nil
}

// freshObject returns the fields of a patch's object, without the merge key of a list item.
func (m *merger) freshObject(t *schema.Type, key *schema.StructField, patch Object, at *node,
	strip bool) (Object, error) {
	into := make(Object, len(patch))
	first := len(m.names)
	m.names = m.appendNames(t, patch)
	for i := first; i < len(m.names); i++ {
		f := m.fieldNamed(t, m.names[i])
		if f == nil || f == key {
			continue
		}
		m.enter(fieldpath.Field(f.Name))
		child, from := m.child(at, f), patch[f.Name]
		var value any
		if from == nil {
			m.claimNull(child)
		} else {
			var err error
			if value, err = m.fresh(f.Type, from, child, strip); err != nil {
				return nil, err
			}
		}
		m.put(f, into, value)
		m.leave()
	}
	m.names = m.names[:first]
	return m.normal(t, into)
}

func (m *merger) freshMap(t *schema.Type, from any, at *node, strip bool) (any, error) {
	patch, ok := from.(Object)
	if !ok {
		return nil, wrongType(from, "an object")
	}
	if strip && !t.Plain && hasDirective(patch) {
		m.claimNull(at) // upstream drops the map with all its keys
		return nil, nil
	}
	made := make(Object, len(patch))
	if err := m.freshEntries(t, made, patch, at, strip); err != nil {
		return nil, err
	}
	if len(made) == 0 {
		m.empty(at) // nulls alone leave an empty map
	}
	return made, nil
}

// freshEntries sets the entries of a new map.
func (m *merger) freshEntries(t *schema.Type, into, patch Object, at *node, strip bool) error {
	first := len(m.names)
	m.names = appendSorted(m.names, patch)
	for i := first; i < len(m.names); i++ {
		name := m.names[i]
		m.enter(fieldpath.Key(name))
		entry, value := m.keyed(at, name), patch[name]
		keep := true
		if strip {
			keep = value != nil
			if keep {
				value, keep = withoutDirectives(value)
			}
		}
		if !keep {
			m.claimNull(entry)
			m.leave()
			continue
		}
		made, err := m.read(t.Elem, value)
		if err != nil {
			return err
		}
		if made == nil {
			made = t.EmptyItem()
		}
		into[name] = made
		m.claim(entry, made)
		m.leave()
	}
	m.names = m.names[:first]
	return nil
}

// freshList returns the items of a list-map. Two of them may share a key, and one may have none.
func (m *merger) freshList(t *schema.Type, items []any, at *node, strip bool) (any, error) {
	if strip && slices.ContainsFunc(items, hasDirective) {
		items = slices.DeleteFunc(slices.Clone(items), hasDirective)
	}
	if len(items) == 0 {
		m.empty(at)
	}
	names := keysOfPatch(t, items)
	if err := m.distinct(t, names); err != nil {
		return nil, err
	}
	made := make([]any, len(items))
	for i, item := range items {
		name := names[i].text
		if item == nil {
			child := m.keyed(at, name)
			m.markCreated(child)
			m.presence(child, false)
			if !m.isRaw {
				made[i] = t.EmptyItem()
			}
			continue
		}
		from, ok := item.(Object)
		if !ok {
			m.enter(fieldpath.Index(i))
			return nil, wrongType(item, "an object")
		}
		m.enter(itemStep(t, name))
		var err error
		if made[i], err = m.newItem(t, m.keyed(at, name), from, strip); err != nil {
			return nil, err
		}
		m.leave()
	}
	return made, nil
}

// newItem returns an item of a list-map that the base lacks.
func (m *merger) newItem(t *schema.Type, at *node, from Object, strip bool) (any, error) {
	m.markCreated(at)
	m.presence(at, false)
	item, err := m.freshObject(t.Elem, t.KeyField(), from, at, strip)
	if key := from[t.Key]; err == nil && key != nil {
		m.enter(fieldpath.Field(t.Key))
		if key, err = m.read(t.KeyField().Type, key); err != nil {
			return nil, err
		}
		m.leave()
		m.put(t.KeyField(), item, key)
	}
	return item, err
}

func (m *merger) freshSet(t *schema.Type, items []any, at *node, strip bool) (any, error) {
	if strip {
		kept, _ := withoutDirectives(items)
		items = kept.([]any)
	}
	made, err := m.readList(t, items)
	if err != nil {
		return nil, err
	}
	names := elementTexts(t, made)
	if len(names) == 0 {
		m.empty(at)
	}
	for _, element := range names {
		m.presence(m.keyed(at, element), false)
	}
	return made, nil
}

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
		made := make(Object, len(patch))
		return made, m.freshEntries(t, made, patch, nil, false)
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
	first := len(m.names)
	m.names = appendSorted(m.names, from)
	for i := first; i < len(m.names); i++ {
		name := m.names[i]
		f := t.Field(name)
		if f == nil {
			m.notes = append(
				m.notes, Note{
					Kind: Ignored, Owner: m.of, Path: m.path.Append(fieldpath.Field(name))})
			continue
		}
		m.enter(fieldpath.Field(name))
		made, err := m.read(f.Type, from[name])
		if err != nil {
			return nil, err
		}
		m.leave()
		m.put(f, into, made)
	}
	m.names = m.names[:first]
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
