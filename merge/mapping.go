package merge

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges maps that the base has, and values that are replaced whole.

// mapping merges two maps key by key, and obeys the directives in the patch.
func (m *merger) mapping(t *schema.Type, old, patch Object, at *node) (Object, error) {
	if t.Plain || !holdsDirectives(patch) {
		return m.entries(t, old, patch, at)
	}
	if directive, ok := patch[patchDirective]; ok {
		return m.replaceMap(t, directive, old, patch, at)
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
		m.retainEntries(old, at, kept)
	}
	for key, value := range sorted(patch) {
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
	return m.entries(t, old, entries, at)
}

// replaceMap obeys $patch in a map.
func (m *merger) replaceMap(t *schema.Type, directive any, old, patch Object,
	at *node) (Object, error) {
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
	m.recordRemoved(t, nil, at, old)
	m.claimNull(at)
	made := Object{}
	return made, m.freshEntries(t, made, entries, at, false)
}

// retainEntries obeys $retainKeys in a map: it removes every entry that the directive does not
// name.
func (m *merger) retainEntries(old Object, at *node, kept map[string]bool) {
	for key, value := range sorted(old) {
		if !kept[key] {
			m.removed(scalarType, value, m.keyed(at, key))
			delete(old, key)
		}
	}
}

// entries sets the keys of a map that the base has, or removes a key for a null.
func (m *merger) entries(t *schema.Type, into, patch Object, at *node) (Object, error) {
	first := len(m.names)
	m.names = appendSorted(m.names, patch)
	for i := first; i < len(m.names); i++ {
		name := m.names[i]
		m.enter(fieldpath.Key(name))
		entry, value := m.keyed(at, name), patch[name]
		was := into[name]
		if isComposite(value) && typeInJSON(value) == typeInJSON(was) {
			return nil, errors.New(
				"an entry that the base has cannot be merged: only scalars replace each other there")
		}
		m.recordBase(entry, scalarType, was)
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
	m.names = m.names[:first]
	return into, nil
}

// replace sets a scalar or an atomic value to the patch's.
func (m *merger) replace(f *schema.StructField, old, from any, at *node) (value any, err error) {
	m.recordBase(at, f.Type, old)
	if f.Type.Raw {
		value, err = m.overlay(f, old, from)
	} else {
		value, err = m.read(f.Type, from)
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
		entries := &schema.Type{Kind: schema.Map, Elem: scalarType}
		merged, err := m.mapping(entries, maps.Clone(base), patch, nil) // claims hold the base
		if err != nil {
			return nil, err
		}
		return m.read(f.Type, merged)
	case ok && both:
	case typeInJSON(old) != typeInJSON(from):
		from, _ = withoutDirectives(from)
	case isComposite(from) && !f.Template.IsPointer():
		return nil, errors.New(
			"a list that the base has cannot be merged: the type has no rules for it")
	}
	return m.read(f.Type, from)
}
