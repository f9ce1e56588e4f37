package merge

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges maps that the base has or lacks, and values that are replaced whole.

// mapping merges two maps key by key, and obeys the directives in the patch. The base's is nil for
// none. A patch that sets no key claims the presence of an empty map.
func (m *merger) mapping(at *node, old, patch Object, verbatim bool) (value any, err error) {
	claimed := m.claimed
	switch {
	case old == nil && !verbatim && !at.typ.Plain && hasDirective(patch):
		m.claimNull(at) // upstream drops the map with all its keys
		return nil, nil
	case old == nil:
		made, err := m.newEntries(at, at.typ, patch, verbatim)
		if err == nil && len(made) == 0 {
			m.empty(at) // nulls alone leave an empty map
		}
		return made, err
	case at.typ.Plain:
		value, err = m.entries(at, at.typ, old, patch)
	default:
		value, err = m.directedEntries(at, at.typ, old, patch)
	}
	if err == nil && m.claimed == claimed {
		m.empty(at)
	}
	return value, err
}

// directedEntries merges the entries of a patch into a map that the base has, and obeys directives.
// A map within a value that merges whole has no node.
func (m *merger) directedEntries(at *node, t *schema.Type, old, patch Object) (Object, error) {
	if !holdsDirectives(patch) {
		return m.entries(at, t, old, patch)
	}
	if directive, ok := patch[patchDirective]; ok {
		return m.replaceMap(at, t, directive, old, patch)
	}
	entries := make(Object, len(patch))
	if keys, ok := patch[retainDirective]; ok {
		if _, isList := keys.([]any); !isList {
			return nil, fmt.Errorf(
				"%q is a directive whose value must be a list; no label, annotation or selector "+
					"may be called so", retainDirective)
		}
		kept, err := m.retained(patch)
		if err != nil {
			return nil, err
		}
		m.retainEntries(at, old, kept)
	}
	for key, value := range byName(patch).all {
		switch {
		case key == retainDirective:
		case strings.HasPrefix(key, orderDirective):
			return nil, fmt.Errorf(
				"%q is a directive whose value must be a list; no label, annotation or selector "+
					"may be called so", key)
		case strings.HasPrefix(key, deleteDirective):
			name, ok := strings.CutPrefix(key, deleteDirective+"/")
			if !ok {
				return nil, fmt.Errorf(
					"%q is a directive that names no list; no label, annotation or selector may "+
						"be called so", key)
			}
			if is := typeInJSON(value); value == nil || is == typeInJSON(old[name]) {
				entries[name] = value
			}
		default:
			if _, isDeleted := entries[key]; !isDeleted {
				entries[key] = value
			}
		}
	}
	return m.entries(at, t, old, entries)
}

// replaceMap obeys $patch in a map.
func (m *merger) replaceMap(at *node, t *schema.Type, directive any,
	old, patch Object) (Object, error) {
	entries := maps.Clone(patch)
	delete(entries, patchDirective)
	switch directive {
	case "delete":
		clear(entries)
	case "replace":
	default:
		return nil, fmt.Errorf(
			"%s: unknown directive %q; no label, annotation or selector may be called %s",
			patchDirective, scalarText(directive), patchDirective)
	}
	m.recordRemoved(at, old)
	m.claimNull(at)
	return m.newEntries(at, t, entries, true)
}

// retainEntries obeys $retainKeys in a map: it removes every entry that the directive does not
// name.
func (m *merger) retainEntries(at *node, old Object, kept map[string]bool) {
	for key, value := range byName(old).all {
		if !kept[key] {
			m.removed(m.keyed(at, key), value)
			delete(old, key)
		}
	}
}

// entries sets the keys of a map that the base has, or removes a key for a null.
func (m *merger) entries(at *node, t *schema.Type, into, patch Object) (Object, error) {
	for name, value := range byName(patch).all {
		m.enter(fieldpath.Key(name))
		entry, was := m.keyed(at, name), into[name]
		if isComposite(value) && typeInJSON(value) == typeInJSON(was) {
			return nil, errors.New(
				"an entry that the base has cannot be merged: only scalars replace each other there")
		}
		m.recordBase(entry, was)
		stripped, keep := withoutDirectives(value)
		if value == nil || !keep {
			delete(into, name)
			m.claimNull(entry)
			m.leave()
			continue
		}
		made, err := m.read(t.Elem, stripped)
		if err != nil {
			return nil, err
		}
		into[name] = made
		m.claim(entry, made)
		m.leave()
	}
	return into, nil
}

// replace sets a scalar or an atomic value to the patch's.
func (m *merger) replace(at *node, old, from any, verbatim bool) (value any, err error) {
	m.recordBase(at, old)
	if old == nil && !verbatim {
		from, _ = withoutDirectives(from)
	}
	if old != nil && at.typ.Raw {
		value, err = m.overlay(at.field, old, from)
	} else {
		value, err = m.read(at.typ, from)
	}
	if err == nil {
		m.claim(at, value)
	}
	return value, err
}

// overlay merges two values of a type that writes its own JSON. Two objects merge name by name, as
// upstream merges maps, because upstream has no rules for their contents.
func (m *merger) overlay(f *schema.StructField, old, from any) (any, error) {
	base, ok := old.(Object)
	patch, both := from.(Object)
	switch {
	case ok && both && !f.Type.Whole:
		of := &schema.Type{Kind: schema.Map, Elem: scalarType}
		merged, err := m.directedEntries(nil, of, maps.Clone(base), patch) // claims hold the base
		if err != nil {
			return nil, err
		}
		return m.read(f.Type, merged)
	case ok && both:
	case typeInJSON(old) != typeInJSON(from):
		from, _ = withoutDirectives(from)
	case isComposite(from) && !f.IsPointer():
		return nil, errors.New(
			"a list that the base has cannot be merged: the type has no rules for it")
	}
	return m.read(f.Type, from)
}
