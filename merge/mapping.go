package merge

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges maps, and values that are replaced whole.

// mapping merges two maps key by key.
func (m *merger) mapping(t *schema.Type, dst reflect.Value, present bool, from any, at node) error {
	patch, ok := from.(Object)
	if !ok {
		return wrongType(from, "an object")
	}
	claimed, absent := m.claimed, dst.IsNil()
	defer func() {
		if m.claimed == claimed || absent && !dst.IsNil() && dst.Len() == 0 { // nulls alone leave an empty map
			m.empty(at)
		}
	}()
	return m.directives(t, dst, present, patch, at)
}

// directives merges a map, and obeys the directives in it.
func (m *merger) directives(t *schema.Type, dst reflect.Value, present bool, patch Object, at node) error {
	absent := dst.IsNil() || !present && !m.isJSONOnly(dst)
	m.noteLiterals(t, absent, patch, at)
	if absent || t.Plain || m.ignoresDirectives {
		if hasDirective(patch) && !m.ignoresDirectives && !t.Plain {
			m.null(t, dst, false, at) // the base lacks the map, so upstream drops it with all its keys
			return nil
		}
		return m.entries(t, dst, patch, at)
	}
	if directive, ok := patch[patchDirective]; ok {
		entries := maps.Clone(patch)
		delete(entries, patchDirective)
		switch directive {
		case "delete":
			clear(entries)
		case "replace":
		default:
			return fmt.Errorf("%s: unknown directive %q; no label, annotation or selector may be called %s", patchDirective, scalarText(reflect.ValueOf(directive)), patchDirective)
		}
		m.recordRemoved(t, nil, at, dst)
		m.claimNull(at)
		dst.Clear()
		m.jsonOnly = append(m.jsonOnly, dst.Pointer())
		ignoresDirectives := m.ignoresDirectives
		m.ignoresDirectives = true
		err := m.entries(t, dst, entries, at)
		m.ignoresDirectives = ignoresDirectives
		return err
	}
	if !holdsDirectives(patch) {
		return m.entries(t, dst, patch, at)
	}
	entries := make(Object, len(patch))
	if keys, ok := patch[retainDirective]; ok {
		if _, isList := keys.([]any); !isList {
			return fmt.Errorf("%q is a directive whose value must be a list; no label, annotation or selector may be called so", retainDirective)
		}
		kept, err := retained(patch)
		if err != nil {
			return err
		}
		m.retainEntries(dst, at, kept)
	}
	for key, value := range sorted(patch) {
		switch {
		case key == retainDirective:
		case strings.HasPrefix(key, orderDirective):
			return fmt.Errorf("%q is a directive whose value must be a list; no label, annotation or selector may be called so", key)
		case strings.HasPrefix(key, deleteDirective):
			name, ok := strings.CutPrefix(key, deleteDirective+"/")
			if !ok {
				return fmt.Errorf("%q is a directive that names no list; no label, annotation or selector may be called so", key)
			}
			old := dst.MapIndex(reflect.ValueOf(name).Convert(dst.Type().Key()))
			if is := jsonKind(reflect.ValueOf(value)); is == reflect.Invalid || is == jsonKind(old) {
				entries[name] = value
			}
		default:
			if _, isDeleted := entries[key]; !isDeleted {
				entries[key] = value
			}
		}
	}
	return m.entries(t, dst, entries, at)
}

// noteLiterals records the directives of a patch's map. A directive that a key's type cannot hold fails in any order.
func (m *merger) noteLiterals(t *schema.Type, absent bool, patch Object, at node) {
	if !m.owners || t.Plain || t.Elem == nil || t.Elem.Kind == schema.Scalar && !t.Elem.Raw {
		return
	}
	if n := &m.log.nodes[at]; n.first < 0 && n.child == noNode {
		n.lacks = absent
	}
	if !m.log.nodes[at].lacks {
		return
	}
	for name, value := range sorted(patch) {
		if value != nil && strings.HasPrefix(name, "$") && name != patchDirective {
			if m.log.literals == nil {
				m.log.literals = map[node][]literal{}
			}
			if copied, err := jsonOf(reflect.ValueOf(value)); err == nil {
				m.log.literals[at] = append(m.log.literals[at], literal{m.layer, name, copied, absent || m.ignoresDirectives})
			}
		}
	}
}

// retainEntries obeys $retainKeys in a map: it removes every entry that the directive does not name.
func (m *merger) retainEntries(dst reflect.Value, at node, kept map[string]bool) {
	for _, key := range sortedKeys(dst) {
		if !kept[key] {
			k := reflect.ValueOf(key).Convert(dst.Type().Key())
			entry := m.keyed(at, key)
			m.recordBase(entry, scalarType, dst.MapIndex(k), true)
			dst.SetMapIndex(k, reflect.Value{})
			m.claimNull(entry)
		}
	}
	m.retain(at, kept)
}

func (m *merger) entries(t *schema.Type, dst reflect.Value, patch Object, at node) error {
	if dst.IsNil() {
		dst.Set(reflect.MakeMapWithSize(dst.Type(), len(patch)))
	}
	first := len(m.names)
	m.names = appendSorted(m.names, patch)
	for i := first; i < len(m.names); i++ {
		if err := m.entry(t, dst, m.names[i], patch[m.names[i]], at); err != nil {
			return err
		}
	}
	m.names = m.names[:first]
	return nil
}

// entry sets one key of a map, or removes the key for a null.
func (m *merger) entry(t *schema.Type, dst reflect.Value, name string, value any, at node) error {
	entry, key := m.keyed(at, name), reflect.ValueOf(name).Convert(dst.Type().Key())
	old := dst.MapIndex(key)
	if !m.ignoresDirectives && value == nil {
		if old.IsValid() {
			m.recordBase(entry, scalarType, old, true)
			dst.SetMapIndex(key, reflect.Value{})
		}
		m.claimNull(entry)
		return nil
	}
	if old.IsValid() {
		if !m.ignoresDirectives && clashes(t, old, value) {
			return within(fieldpath.Key(name), errors.New("an entry that the base has cannot be merged: only scalars replace each other there"))
		}
		m.recordBase(entry, scalarType, old, true)
	}
	copied, keep := reflect.New(dst.Type().Elem()).Elem(), true
	if !m.ignoresDirectives {
		value, keep = withoutDirectives(value)
	}
	if !keep {
		dst.SetMapIndex(key, reflect.Value{})
		m.claimNull(entry)
		return nil
	}
	m.reading = entry
	if err := m.read(t.Elem, copied, value); err != nil {
		return within(fieldpath.Key(name), err)
	}
	dst.SetMapIndex(key, copied)
	m.claim(entry, copied)
	return nil
}

// replace sets a scalar or an atomic list to the patch's value.
func (m *merger) replace(t *schema.Type, dst reflect.Value, present bool, from any, at node) error {
	m.recordBase(at, t, dst, present)
	absent := !present || m.inNew || dst.Kind() == reflect.Slice && dst.IsNil()
	if t.Raw && present && !m.inNew {
		if err := m.overlay(t, dst, from); err != nil {
			return err
		}
	} else {
		m.reading = at
		if absent && !m.ignoresDirectives {
			from, _ = withoutDirectives(from)
		}
		if err := m.read(t, dst, from); err != nil {
			return err
		}
	}
	m.claim(at, dst)
	return nil
}

// overlay merges two values of a type that writes its own JSON. Two objects merge name by name, as upstream merges maps,
// because upstream has no rules for their contents.
func (m *merger) overlay(t *schema.Type, dst reflect.Value, from any) error {
	was, err := jsonOf(dst)
	if err != nil {
		return err
	}
	base, ok := was.(Object)
	patch, both := from.(Object)
	if !ok || !both {
		if jsonKind(reflect.ValueOf(was)) != jsonKind(reflect.ValueOf(from)) {
			from, _ = withoutDirectives(from)
		} else if isComposite(from) && dst.Kind() != reflect.Pointer {
			return errors.New("a list that the base has cannot be merged: the type has no rules for it")
		}
		return m.read(t, dst, from)
	}
	if t.Whole {
		return m.read(t, dst, from)
	}
	merged := reflect.ValueOf(&base).Elem()
	owners := m.owners
	m.owners = false
	err = m.directives(&schema.Type{Kind: schema.Map, Elem: scalarType}, merged, true, patch, noNode)
	m.owners = owners
	if err != nil {
		return err
	}
	return m.read(t, dst, base)
}
