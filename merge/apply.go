package merge

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges patches into an object of a definition one after the other, and applies the policies that decide.

// applyObjects implements ApplyInto for a plan of objects.
func (p *plan) applyObjects(dst, base *Object, patches []Layered[Object], o Options) (*log, *Ownership, []Ignored, error) {
	m := objects{owners: o.Owners || o.Managed || o.decides(), at: noNode, removes: p.removes, follows: o.Order == BaseOrder}
	var owners []Layer
	if o.Managed {
		var from Object
		if base != nil {
			from = *base
		}
		var err error
		if m.live, from, err = liveOf(from); err != nil {
			return nil, nil, nil, failed(baseLayerOf(o), -1, err)
		}
		base, owners = &from, m.live.layers
	}
	order := mergeOrder(patches, o)
	if m.owners {
		m.log = logOf(p.root, patches, o, owners...)
		m.log.live = m.live != nil
		m.log.reordered = !slices.IsSorted(order)
		m.at = rootNode
	}
	live := Object{}
	if base != nil && *base != nil {
		m.allowDuplicates = true
		copied, err := m.copy(p.root, *base)
		if err != nil {
			return nil, nil, nil, failed(baseLayerOf(o), -1, err)
		}
		live, m.allowDuplicates = copied.(map[string]any), false
	}
	if m.live != nil {
		if err := m.claimOwners(p.root, live); err != nil {
			return nil, nil, nil, failed(baseLayerOf(o), -1, err)
		}
	}
	for _, i := range order {
		if m.owners {
			m.layer = m.log.ids[i]
		}
		var err error
		switch patch := patches[i]; {
		case patch.JSON != nil && o.decides():
			err = errors.New("a JSON patch permits no policy but Order")
		case patch.JSON != nil:
			live, err = m.operations(p.root, live, patch.JSON)
		case patch.Patch != nil && *patch.Patch != nil && m.live != nil:
			err = m.apply(p.root, live, *patch.Patch)
		case patch.Patch != nil && *patch.Patch != nil:
			err = m.patch(p.root, live, *patch.Patch)
		}
		if err != nil {
			return nil, nil, nil, failed(patches[i].Layer, i, err)
		}
	}
	*dst = live
	if !m.owners {
		return nil, nil, nil, nil
	}
	if o.precedes() {
		m.log.precedence(o.precedence())
	}
	var before any
	if base != nil && *base != nil {
		before = *base
	}
	had := func(path fieldpath.Path) bool { return partAt(before, path) != nil }
	ignored, err := m.log.restore(o, had, func(r restoring, pattern fieldpath.Path) {
		m.allowDuplicates = true
		m.object(r, p.root, live, before, pattern) // a pattern names a field of the object
	})
	owned := &Ownership{log: m.log, value: reflect.ValueOf(live)}
	if m.live != nil {
		version, _ := live["apiVersion"].(string)
		if version == "" {
			return nil, nil, nil, failed(baseLayerOf(o), -1, inside(fieldpath.Field("apiVersion"), errors.New("required in an object with owners")))
		}
		entries, err := m.managedFields(owned, patches, version)
		if err != nil {
			return nil, nil, nil, err
		}
		metadata, _ := live["metadata"].(Object)
		if metadata == nil {
			metadata = Object{}
		}
		if metadata["managedFields"] = any(entries); len(entries) == 0 {
			delete(metadata, "managedFields")
		}
		live["metadata"] = metadata
	}
	return m.log, owned, ignored, err
}

// apply merges a manager's patch, which replaces its earlier one.
func (m *objects) apply(t *schema.Type, live, patch Object) error {
	if metadata, _ := patch["metadata"].(Object); metadata["managedFields"] != nil {
		return &PatchError{Path: fieldpath.Fields("managedFields", "metadata"), Err: errManaged}
	}
	if layer := m.layer; !m.live.owned {
		m.layer, m.live.owned = baseLayer, true
		m.update(t, nil, false, live, true, m.at, false)
		m.layer = layer
	}
	last := m.lastOf()
	if err := m.patch(t, live, patch); err != nil {
		return err
	}
	m.replaceLast(t, live, last)
	return nil
}

// object returns a part of an object with the base's values where a pattern names it. An empty pattern names the whole part. An
// object that is absent is nil.
func (m *objects) object(r restoring, t *schema.Type, live, base any, within fieldpath.Path) any {
	if len(within) == 0 && r.removes {
		restored, _ := m.copy(t, base) // the base was copied before
		return restored
	}
	if base == nil && (live == nil || !r.removes) {
		return live
	}
	known := base
	if known == nil {
		known = live
	}
	to, err := as(t, known)
	if err != nil {
		return live // the base was checked before
	}
	fields, isObject := live.(map[string]any)
	old, wasObject := base.(map[string]any)
	items, isList := live.([]any)
	before, wasList := base.([]any)
	switch {
	case (to.Kind == schema.Struct || to.Kind == schema.Map) && (isObject || live == nil) && (wasObject || base == nil):
		if fields == nil {
			fields = map[string]any{}
		}
		names := maps.Clone(fields)
		maps.Copy(names, old)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			_, of, err := fieldOf(to, name)
			rest, ok := leadsTo(within, to.Step(name))
			if err != nil || !ok {
				continue
			}
			if value := m.object(r, of, fields[name], old[name], rest); value != nil {
				fields[name] = value
			} else {
				delete(fields, name)
			}
		}
		if live == nil && len(fields) == 0 && !wasObject {
			return nil
		}
		return fields
	case to.Kind == schema.ListMap && (isList || live == nil) && (wasList || base == nil):
		return m.objectItems(r, to, items, before, within)
	case to.Kind == schema.Set && isList && wasList && len(within) == 0:
		for _, element := range before {
			if !slices.ContainsFunc(items, func(is any) bool { return sameObject(is, element) }) {
				items = append(items, element)
			}
		}
		return items
	case len(within) > 0 || base == nil || isComposite(base) && isEmpty(base):
		return live
	}
	restored, _ := m.copy(t, base)
	return restored
}

// objectItems returns a list-map with the base's values in its items.
func (m *objects) objectItems(r restoring, t *schema.Type, items, before []any, within fieldpath.Path) any {
	old, there := map[string]any{}, map[string]bool{}
	for _, item := range before {
		if key, err := itemKeyOf(t, item); err == nil && old[key] == nil {
			old[key] = item
		}
	}
	var out []any
	add := func(live any, key string) {
		rest, ok := leadsTo(within, itemStepOf(t, key))
		if len(within) > 0 {
			if _, isField := within[0].Field(); isField {
				rest, ok = within, true
			}
		}
		if ok {
			live = m.object(r, t.Elem, live, old[key], rest)
		}
		if live != nil {
			out = append(out, live)
		}
	}
	for _, item := range items {
		if key, err := itemKeyOf(t, item); err == nil {
			there[key] = true
			add(item, key)
		}
	}
	for _, item := range before {
		if key, err := itemKeyOf(t, item); err == nil && !there[key] {
			there[key] = true
			add(nil, key)
		}
	}
	if out == nil {
		return nil
	}
	return out
}
