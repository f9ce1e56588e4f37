package merge

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges objects along the schema of a definition, as an API server does for server-side apply with force. The source
// is structured-merge-diff v6.4.2: typed.Merge, and the set of fields that a patch names. The log, ownership and FieldsV1 are
// shared with the merge of Go values.
//
// A patch adds and replaces, and never removes. A null or an empty value replaces only an empty value or a single one. Only
// without a schema does a null remove its key.

// ForObject returns the plan for objects of a definition that schema.ParseOpenAPI has read. A field that the definition lacks is an
// error in a base or a patch, as in a server-side apply. So Result.Ignored is empty.
func ForObject(t *schema.Type) *Plan[Object, Object] {
	if t == nil || t.GoType() != nil {
		return &Plan[Object, Object]{}
	}
	return &Plan[Object, Object]{&plan{root: t, objects: true}}
}

// ForJSON returns the plan for objects without a schema. A patch merges as a JSON merge patch does (RFC 7386). Objects merge by
// key, a null removes its key, and every other value replaces the old one, lists included. An apply without a schema merges the
// same way, except for nulls. A patch of another apiVersion or kind than its base is an error.
func ForJSON() *Plan[Object, Object] {
	return &Plan[Object, Object]{&plan{root: schema.Open(), objects: true, removes: true}}
}

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

// objects merges one patch after the other into an object that it may change.
type objects struct {
	log             *log
	live            *live // the owners of a live object, otherwise nil
	owners          bool
	layer           int32
	at              node // the node of the root
	depth           int
	allowDuplicates bool     // whether a list may hold two items of one name; only the base's may
	removes         bool     // whether a null removes its key
	follows         bool     // whether new items follow those of the base
	names           []string // the field names of the objects that are being merged, outer objects first
}

// patch merges a whole patch into an object. The patch cannot change the object's kind.
func (m *objects) patch(t *schema.Type, live, patch Object) error {
	if err := sameKind(live, patch); err != nil {
		return err
	}
	return m.fields(t, live, patch, m.at)
}

// sameKind returns an error for a patch to an object of another kind.
func sameKind(live, patch Object) error {
	for _, name := range []string{"apiVersion", "kind"} {
		is, _ := live[name].(string)
		if claimed, ok := patch[name].(string); ok && is != "" && is != claimed {
			return inside(fieldpath.Field(name), fmt.Errorf("must be %q, as in the base, and is %q", is, claimed))
		}
	}
	return nil
}

// value merges a patch's value into a field and returns the new value. The flag had states that the field has an old value. The
// flag named states that a set of fields names the field whatever its value. Such a field is an item, or an entry of a map.
func (m *objects) value(t *schema.Type, old any, had bool, patch any, at node, named bool) (any, error) {
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
		// The old value stays. An empty list claims nothing then; a null or an empty object claims the field's presence.
		m.recordBase(at, t, old, had, named)
		if _, list := patch.([]any); !list || named {
			m.claimValue(at, presenceValue, nil)
		}
		return old, nil
	case patch == nil || to.Kind == schema.Scalar || to.Kind == schema.Atomic:
		return m.replace(t, to, old, had, patch, at, named)
	case isEmpty(patch):
		return m.empty(t, old, had, patch, at, named)
	}
	m.recordBase(at, t, old, had, named)
	if is, _ := as(t, old); old != nil && is != to { // a value of another kind goes
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

// replace sets a scalar, an atomic value or a null.
func (m *objects) replace(t, to *schema.Type, old any, had bool, patch any, at node, named bool) (any, error) {
	value, err := m.copy(to, patch)
	if err != nil {
		return nil, err
	}
	m.recordBase(at, t, old, had, named)
	if filledOf(t, old) != nil {
		m.revokeWithin(at)
	}
	if had && !sameObject(old, value) {
		m.revokeEarlier(at)
	}
	if value == nil {
		m.claimValue(at, ineffectiveNull, nil)
	} else {
		m.claimValue(at, otherValue, value)
	}
	return value, nil
}

// empty sets an empty object or list, unless the field holds a filled one. No set of fields names an empty list.
func (m *objects) empty(t *schema.Type, old any, had bool, patch any, at node, named bool) (any, error) {
	value := any([]any{})
	_, list := patch.([]any)
	if !list {
		value = map[string]any{}
	}
	m.recordBase(at, t, old, had, named)
	if had && !sameObject(old, value) {
		m.revokeEarlier(at)
	}
	if list && !named {
		m.claimValue(at, unlistedPresence, nil)
	} else {
		m.claimValue(at, presenceValue, nil)
	}
	return value, nil
}

// fields merges the fields of a struct, or the entries of a map, one by one.
func (m *objects) fields(t *schema.Type, into, patch map[string]any, at node) error {
	first := len(m.names)
	for name := range patch {
		m.names = append(m.names, name)
	}
	last := len(m.names)
	slices.Sort(m.names[first:])
	for i := first; i < last; i++ {
		name := m.names[i]
		f, of, err := fieldOf(t, name)
		if err != nil {
			return inside(fieldpath.Field(name), err)
		}
		child := m.child(at, f, name)
		old, had := into[name]
		if m.removes && patch[name] == nil {
			m.remove(of, old, had, child)
			delete(into, name)
			continue
		}
		if m.removes && !had {
			m.revokeEarlier(child) // another manager may have removed it
		}
		value, err := m.value(of, old, had, patch[name], child, f == nil)
		if err != nil {
			return inside(t.Step(name), err)
		}
		into[name] = value
	}
	m.names = m.names[:first]
	return nil
}

// remove records that a patch removes a key.
func (m *objects) remove(t *schema.Type, old any, had bool, at node) {
	if had {
		m.recordBase(at, t, old, had, false)
		m.revokeWithin(at)
		m.revokeEarlier(at)
	}
	m.claimValue(at, nullValue, nil)
}

// copy returns a deep copy of a value and checks the value against its type.
func (m *objects) copy(t *schema.Type, v any) (any, error) {
	if m.depth++; m.depth > deepest {
		return nil, errTooDeep
	}
	defer func() { m.depth-- }()
	to, err := as(t, v)
	if err != nil || v == nil {
		return nil, err
	}
	if to.Kind == schema.Atomic && to.Object != nil {
		to = to.Object
	}
	switch v := v.(type) {
	case map[string]any:
		return m.copyFields(to, v)
	case []any:
		out := make([]any, len(v))
		if to.Kind != schema.Atomic && !m.allowDuplicates {
			if _, err := m.itemsOf(to, v); err != nil {
				return nil, err
			}
		}
		for i, item := range v {
			key := ""
			if to.Kind != schema.Atomic {
				if key, err = itemKeyOf(to, item); err != nil {
					return nil, inside(fieldpath.Index(i), err)
				}
			}
			out[i], err = m.copy(to.Elem, item)
			switch {
			case err != nil && to.Kind != schema.Atomic:
				return nil, inside(itemStepOf(to, key), err)
			case err != nil:
				return nil, inside(fieldpath.Index(i), err)
			}
		}
		return out, nil
	default:
		return scalarOf(v)
	}
}

func (m *objects) copyFields(t *schema.Type, v map[string]any) (any, error) {
	out := make(map[string]any, len(v))
	var failed error
	worst := ""
	for name, value := range v {
		_, of, err := fieldOf(t, name)
		if err == nil {
			out[name], err = m.copy(of, value)
		}
		if err != nil && (failed == nil || name < worst) { // the first by name, whatever the order of the map
			failed, worst = inside(t.Step(name), err), name
		}
	}
	return out, failed
}

// deepest limits the nesting of values. It equals the limit of encoding/json.
const deepest = 10000

var (
	errTooDeep   = errors.New("nests more than " + strconv.Itoa(deepest) + " deep")
	errDuplicate = errors.New("duplicate: a patch names an item once")
)

// inside adds a step to an error's path. Until failed, the path is in reverse order.
func inside(step fieldpath.Step, err error) error {
	e := asPatchError(err)
	e.Path = append(e.Path, step)
	return e
}

// failed completes an error with its layer and index, and reverses its path into order.
func failed(layer Layer, index int, err error) error {
	e := asPatchError(err)
	e.Layer, e.Index = layer, index
	slices.Reverse(e.Path)
	return e
}

// fieldOf returns a struct's field by name, and its type. For an entry or an unknown field it returns the type alone.
func fieldOf(t *schema.Type, name string) (*schema.StructField, *schema.Type, error) {
	if f := t.Field(name); f != nil {
		return f, f.Type, nil
	}
	if t.Elem == nil {
		return nil, nil, errors.New("the definition has no such field")
	}
	return nil, t.Elem, nil
}
