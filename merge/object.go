package merge

import (
	"fmt"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges objects along the schema of a definition, as an API server does for server-side
// apply with force. The source is structured-merge-diff v6.4.2: typed.Merge, and the set of fields
// that a patch names. The log, ownership and FieldsV1 are shared with the merge of Go values.
//
// A patch adds and replaces, and never removes. A null or an empty value replaces only an empty
// value or a single one. Only without a schema does a null remove its key.

// patch merges a whole patch into an object. The patch cannot change the object's kind.
func (m *objects) patch(t *schema.Type, live, patch Object) error {
	if err := sameKind(live, patch); err != nil {
		return err
	}
	return m.fields(t, live, patch, m.log.top)
}

// sameKind returns an error for a patch to an object of another kind.
func sameKind(live, patch Object) error {
	for _, name := range []string{"apiVersion", "kind"} {
		is, _ := live[name].(string)
		if claimed, ok := patch[name].(string); ok && is != "" && is != claimed {
			return inside(fieldpath.Field(name),
				fmt.Errorf("must be %q, as in the base, and is %q", is, claimed))
		}
	}
	return nil
}

// sameName returns an error for a JSON patch that renames its object.
func sameName(live, now Object) error {
	was, is := identityOf(live).name, identityOf(now).name
	if was == "" || is == "" || was == is {
		return nil
	}
	return inside(fieldpath.Field("metadata"),
		inside(fieldpath.Field("name"),
			fmt.Errorf("must be %q, as in the base, and is %q", was, is)))
}

// value merges a patch's value into a field and returns the new value. The old one is missing{}
// for a field that the object lacks. The flag named states that a set of fields names the field
// whatever its value. Such a field is an item, or an entry of a map.
func (m *objects) value(t *schema.Type, old, patch any, at *node, named bool) (any, error) {
	if m.depth++; m.depth > deepest {
		return nil, errTooDeep
	}
	defer func() { m.depth-- }()
	to, err := as(t, patch)
	if err != nil {
		return nil, err
	}
	filled := filledOf(t, old)
	switch {
	case patch == nil && filled != nil, isEmpty(patch) && filled != nil && filled == to:
		// The old value stays. An empty list claims nothing then; a null or an empty object claims
		// the field's presence.
		m.recordBase(at, t, old, named)
		if _, list := patch.([]any); !list || named {
			m.claimValue(at, presenceValue, nil)
		}
		return old, nil
	case patch == nil || to.Kind == schema.Scalar || to.Kind == schema.Atomic:
		value, err := m.copy(to, patch)
		if err == nil {
			m.replace(t, old, value, at, named)
		}
		return value, err
	case isEmpty(patch):
		return m.empty(t, old, patch, at, named), nil
	}
	m.recordBase(at, t, old, named)
	m.added(at, old)
	if is, err := as(t, old); old != nil && err == nil && is != to { // a value of another kind goes
		m.revokeEarlier(at)
		if !named {
			m.claimValue(at, unlistedPresence, nil)
		}
	}
	if named {
		m.claimValue(at, presenceValue, nil)
	}
	if fields, ok := patch.(map[string]any); ok {
		into, ok := old.(map[string]any)
		if !ok {
			into = make(map[string]any, len(fields))
		}
		return into, m.fields(to, into, fields, at)
	}
	before, _ := old.([]any)
	return m.list(to, before, patch.([]any), at)
}

// replace records that a patch sets a scalar, an atomic value or a null.
func (m *objects) replace(t *schema.Type, old, value any, at *node, named bool) {
	m.recordBase(at, t, old, named)
	if filledOf(t, old) != nil {
		m.revokeWithin(at)
	}
	m.added(at, old)
	if changes(old, value) {
		m.revokeEarlier(at)
	}
	if value == nil {
		m.claimValue(at, ineffectiveNull, nil)
	} else {
		m.claimValue(at, plainValue, value)
	}
}

// empty sets an empty object or list, unless the field holds a filled one. No set of fields names
// an empty list.
func (m *objects) empty(t *schema.Type, old, patch any, at *node, named bool) any {
	value := any([]any{})
	_, list := patch.([]any)
	if !list {
		value = map[string]any{}
	}
	m.recordBase(at, t, old, named)
	m.added(at, old)
	if changes(old, value) {
		m.revokeEarlier(at)
	}
	if list && !named {
		m.claimValue(at, unlistedPresence, nil)
	} else {
		m.claimValue(at, presenceValue, nil)
	}
	return value
}

// fields merges the fields of a struct, or the entries of a map, one by one.
func (m *objects) fields(t *schema.Type, into, patch map[string]any, at *node) error {
	for name, from := range byName(patch).all {
		f, of, err := fieldOf(t, name)
		if err != nil {
			return inside(fieldpath.Field(name), err)
		}
		child := m.log.child(at, f, name)
		old := valueIn(into, name)
		if m.removes && from == nil {
			m.remove(of, old, child)
			delete(into, name)
			continue
		}
		if m.removes && old == any(missing{}) {
			m.revokeEarlier(child) // another manager may have removed it
		}
		value, err := m.value(of, old, from, child, f == nil)
		if err != nil {
			return inside(t.Step(name), err)
		}
		into[name] = value
	}
	return nil
}

// remove records that a patch removes a key.
func (m *objects) remove(t *schema.Type, old any, at *node) {
	if old != any(missing{}) {
		m.recordBase(at, t, old, false)
		m.revokeWithin(at)
		m.revokeEarlier(at)
	}
	m.claimValue(at, nullValue, nil)
}

// list merges a list-map or a set item by item. Items that the patch names follow its order. The
// other items keep their places among them.
func (m *objects) list(t *schema.Type, old, patch []any, at *node) ([]any, error) {
	patched, err := m.itemsOf(t, patch)
	if err != nil {
		return nil, err
	}
	named := make([]int32, len(old)) // the patch's item for each old item, -1 for none
	for i, item := range old {
		key, _ := itemKeyOf(t, item)
		named[i] = patched.find(key)
		if j := named[i]; j >= 0 {
			if patched.items[j].old >= 0 {
				patched.items[j].hasDuplicates = true
			} else {
				patched.items[j].old = int32(i)
			}
		}
	}
	out := make([]any, 0, len(old)+len(patch))
	shared := patched.shared(-1)
	merge := func(j int32) error {
		item := &patched.items[j]
		item.merged = true
		value, err := m.item(t, old, item, patch[j], at)
		if err != nil {
			return inside(itemStepOf(t, item.key), err)
		}
		out = append(out, value)
		return nil
	}
	if m.follows {
		for i, of := range named {
			if of < 0 {
				out = append(out, old[i])
			} else if !patched.items[of].merged { // otherwise it has the place of its duplicate
				if err := merge(of); err != nil {
					return nil, err
				}
			}
		}
		for j := range patched.items {
			if !patched.items[j].merged {
				if err := merge(int32(j)); err != nil {
					return nil, err
				}
			}
		}
		return out, nil
	}
	for i, j := 0, int32(0); i < len(old) || int(j) < len(patch); {
		if i < len(old) && int(j) < len(patch) {
			of := named[i]
			if of == j {
				if err := merge(j); err != nil {
					return nil, err
				}
				i, j, shared = i+1, j+1, patched.shared(shared)
				continue
			}
			if of >= 0 && shared >= 0 && of != shared {
				i++ // it comes at its place in the patch
				continue
			}
		}
		if i < len(old) {
			of := named[i]
			if of < 0 {
				out = append(out, old[i])
				i++
				continue
			}
			if patched.items[of].merged {
				i++
			}
		}
		if int(j) < len(patch) {
			if err := merge(j); err != nil {
				return nil, err
			}
			j++
		}
	}
	return out, nil
}

// item merges one item of a patch's list. If the base holds duplicates of the item, the patch's
// item replaces them all.
func (m *objects) item(t *schema.Type, list []any, patched *patchItem, patch any,
	at *node) (any, error) {
	child := m.log.child(at, nil, patched.key)
	var old any = missing{}
	if patched.old >= 0 {
		if old = list[patched.old]; patched.hasDuplicates || t.Kind == schema.Set {
			m.recordBasePresence(child)
		}
	}
	if patched.hasDuplicates {
		m.revokeEarlier(child)
		old = missing{}
	}
	if t.Kind == schema.Set {
		m.added(child, old)
		m.claimValue(child, presenceValue, nil)
		return m.copy(t.Elem, patch)
	}
	return m.value(t.Elem, old, patch, child, true)
}
