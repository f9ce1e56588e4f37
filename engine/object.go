package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges objects along the schema of a definition, as an API server does for server-side apply with force. The source
// is structured-merge-diff v6.4.2: typed.Merge, and the set of fields that a patch names. The log, ownership and FieldsV1 are
// shared with the merge of Go values.
//
// A patch adds and replaces, and never removes. A null or an empty value replaces only an empty value or a single one. Only
// without a schema does a null remove its key.

// ForObject returns the plan for objects of a definition that schema.ParseOpenAPI has read.
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
func (p *plan) applyObjects(dst, base *Object, patches []Layered[Object], o Options) (*Ownership, error) {
	m := objects{owners: o.Owners, at: noNode, removes: p.removes}
	if o.Owners {
		m.log = logOf(p.root, patches, o)
		m.at = rootNode
	}
	live := Object{}
	if base != nil && *base != nil {
		m.twins = true
		copied, err := m.copy(p.root, *base)
		if err != nil {
			return nil, failed(baseLayerOf(o), -1, err)
		}
		live, m.twins = copied.(map[string]any), false
	}
	for i := range patches {
		if patches[i].Patch == nil || *patches[i].Patch == nil {
			continue
		}
		if o.Owners {
			m.layer = m.log.ids[i]
		}
		if err := m.whole(p.root, live, *patches[i].Patch); err != nil {
			return nil, failed(patches[i].Layer, i, err)
		}
	}
	*dst = live
	if !o.Owners {
		return nil, nil
	}
	return &Ownership{log: m.log, value: reflect.ValueOf(live)}, nil
}

// objects merges one patch after the other into an object that it may change.
type objects struct {
	log     *log
	owners  bool
	layer   int32
	at      node // the node of the root
	depth   int
	twins   bool     // whether a list may hold two items of one name; only the base's may
	removes bool     // whether a null removes its key
	names   []string // the field names of the objects that are being merged, outer objects first
}

// whole merges a whole patch into an object. The patch cannot change the object's kind.
func (m *objects) whole(t *schema.Type, live, patch Object) error {
	for _, name := range []string{"apiVersion", "kind"} {
		is, _ := live[name].(string)
		if said, ok := patch[name].(string); ok && is != "" && is != said {
			return inside(fieldpath.Field(name), fmt.Errorf("must be %q, as in the base, and is %q", is, said))
		}
	}
	return m.fields(t, live, patch, m.at)
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
		m.keep(at, t, old, had, named)
		if _, list := patch.([]any); !list || named {
			m.say(at, presenceValue, nil)
		}
		return old, nil
	case patch == nil || to.Kind == schema.Scalar || to.Kind == schema.Atomic:
		return m.replace(t, to, old, had, patch, at, named)
	case isEmpty(patch):
		return m.empty(t, old, had, patch, at, named)
	}
	m.keep(at, t, old, had, named)
	if is, _ := as(t, old); old != nil && is != to { // a value of another kind goes
		m.lose(at)
		if !named {
			m.say(at, aroundValue, nil)
		}
	}
	if named {
		m.say(at, presenceValue, nil)
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
	m.keep(at, t, old, had, named)
	if filledOf(t, old) != nil {
		m.overturn(at)
	}
	if had && !sameObject(old, value) {
		m.lose(at)
	}
	if value == nil {
		m.say(at, nothingValue, nil)
	} else {
		m.say(at, otherValue, value)
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
	m.keep(at, t, old, had, named)
	if had && !sameObject(old, value) {
		m.lose(at)
	}
	if list && !named {
		m.say(at, aroundValue, nil)
	} else {
		m.say(at, presenceValue, nil)
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
			m.lose(child) // another manager may have removed it
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
		m.keep(at, t, old, had, false)
		m.overturn(at)
		m.lose(at)
	}
	m.say(at, nullValue, nil)
}

// list merges a list-map or a set item by item. Items that the patch names follow its order. The other items keep their places
// among them.
func (m *objects) list(t *schema.Type, old, patch []any, at node) ([]any, error) {
	said, err := m.itemsOf(t, patch)
	if err != nil {
		return nil, err
	}
	named := make([]int32, len(old)) // the patch's item for each old item, -1 for none
	for i, item := range old {
		key, _ := itemKeyOf(t, item)
		named[i] = said.find(key)
		if j := named[i]; j >= 0 {
			if said.items[j].old >= 0 {
				said.items[j].twins = true
			} else {
				said.items[j].old = int32(i)
			}
		}
	}
	out := make([]any, 0, len(old)+len(patch))
	shared := said.shared(-1)
	merge := func(j int32) error {
		item := &said.items[j]
		item.merged = true
		value, err := m.item(t, old, item, patch[j], at)
		if err != nil {
			return inside(itemStepOf(t, item.key), err)
		}
		out = append(out, value)
		return nil
	}
	for i, j := 0, int32(0); i < len(old) || int(j) < len(patch); {
		if i < len(old) && int(j) < len(patch) {
			of := named[i]
			if of == j {
				if err := merge(j); err != nil {
					return nil, err
				}
				i, j, shared = i+1, j+1, said.shared(shared)
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
			if said.items[of].merged {
				i++
			}
		}
		if int(j) < len(patch) {
			if err := merge(j); err != nil {
				return nil, err
			}
			if shared == j {
				shared = said.shared(shared)
			}
			j++
		}
	}
	return out, nil
}

// item merges one item of a patch's list. If the base has two items of that name, it keeps neither.
func (m *objects) item(t *schema.Type, list []any, said *saidItem, patch any, at node) (any, error) {
	child := m.child(at, nil, said.key)
	had := said.old >= 0
	if had {
		m.keepPresence(child)
	}
	if said.twins {
		m.lose(child)
		had = false
	}
	if t.Kind == schema.Set {
		m.say(child, presenceValue, nil)
		return m.copy(t.Elem, patch)
	}
	var old any
	if had {
		old = list[said.old]
	}
	return m.value(t.Elem, old, had, patch, child, true)
}

// saidItems holds the items of a patch's list.
type saidItems struct {
	items []saidItem
	index map[string]int32 // nil for a short list
}

type saidItem struct {
	key           string
	old           int32 // the position in the old list, -1 for none
	twins, merged bool
}

// fewItems is the length up to which a linear search is used.
const fewItems = 8

// itemsOf reads the keys of a patch's list. Two items of one key are an error.
func (m *objects) itemsOf(t *schema.Type, list []any) (*saidItems, error) {
	s := &saidItems{items: make([]saidItem, 0, len(list))}
	if len(list) > fewItems {
		s.index = make(map[string]int32, len(list))
	}
	for i, item := range list {
		key, err := itemKeyOf(t, item)
		if err != nil {
			return nil, inside(fieldpath.Index(i), err)
		}
		if s.find(key) >= 0 {
			return nil, inside(itemStepOf(t, key), errDuplicate)
		}
		if s.index != nil {
			s.index[key] = int32(i)
		}
		s.items = append(s.items, saidItem{key: key, old: -1})
	}
	return s, nil
}

func (s *saidItems) find(key string) int32 {
	if s.index != nil {
		if i, ok := s.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range s.items {
		if s.items[i].key == key {
			return int32(i)
		}
	}
	return -1
}

// shared returns the first item after another that the old list has, or -1.
func (s *saidItems) shared(after int32) int32 {
	for i := after + 1; int(i) < len(s.items); i++ {
		if s.items[i].old >= 0 {
			return i
		}
	}
	return -1
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
		if to.Kind != schema.Atomic && !m.twins {
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

var anyScalar = &schema.Type{Kind: schema.Scalar}

// as returns how a value merges in a field of a type. If the definition leaves that open, the value's JSON decides. The error
// states that the field cannot hold the value.
func as(t *schema.Type, v any) (*schema.Type, error) {
	if v == nil {
		return t, nil
	}
	is := typeInJSON(v)
	if is == "" {
		return nil, fmt.Errorf("must be JSON, and is %T", v)
	}
	if t.Kind == schema.Untyped {
		switch is {
		case "object":
			return t.Object, nil
		case "list":
			return t.List, nil
		}
		return anyScalar, nil
	}
	want := t.JSON
	switch {
	case t.Kind == schema.Struct || t.Kind == schema.Map || t.Object != nil:
		want = "object"
	case t.Kind != schema.Scalar:
		want = "list"
	case want == "" && is != "object" && is != "list":
		return t, nil
	case want == "":
		want = "scalar"
	}
	if is != want {
		return nil, fmt.Errorf("must be %s, and is %s", withArticle(want), withArticle(is))
	}
	return t, nil
}

func withArticle(name string) string {
	if name == "object" {
		return "an object"
	}
	return "a " + name
}

// typeInJSON returns the name of a value's JSON type, or "" for other values.
func typeInJSON(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case map[string]any:
		return "object"
	case []any:
		return "list"
	case int64, float64, int, int32, int16, int8, uint, uint64, uint32, uint16, uint8, float32, json.Number:
		return "number"
	default:
		return ""
	}
}

// scalarOf converts a scalar to its form in objects: all numbers are int64 or float64.
func scalarOf(v any) (any, error) {
	switch n := v.(type) {
	case string, bool, int64:
		return v, nil
	case float64:
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, fmt.Errorf("must be a number, and is %v", n)
		}
		return v, nil
	case float32:
		return scalarOf(float64(n))
	case json.Number:
		return scalarOf(plainNumbers(n))
	}
	if n := reflect.ValueOf(v); n.CanInt() {
		return n.Int(), nil
	} else if n.CanUint() && n.Uint() <= math.MaxInt64 {
		return int64(n.Uint()), nil
	} else if n.CanUint() {
		return float64(n.Uint()), nil
	}
	return nil, fmt.Errorf("must be JSON, and is %T", v)
}

// filledOf returns how a field's value merges, if it merges in parts and has any; otherwise nil.
func filledOf(t *schema.Type, v any) *schema.Type {
	if v == nil || isEmpty(v) {
		return nil
	}
	of, err := as(t, v)
	if err != nil || of.Kind == schema.Scalar || of.Kind == schema.Atomic {
		return nil
	}
	return of
}

// isEmpty reports whether a value is an empty object or list.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// sameObject reports whether two values are equal for an API server: 1 equals 1.0.
func sameObject(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, ok := b[name]; !ok || !sameObject(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameObject)
	case int64:
		if b, ok := b.(float64); ok {
			return float64(a) == b
		}
		return a == b
	case float64:
		if b, ok := b.(int64); ok {
			return a == float64(b)
		}
		return a == b
	default:
		return a == b
	}
}

// typedMark begins a node's key that is JSON and not a plain string. Such a key holds several merge keys, or one that is not a
// string.
const typedMark = "\x01"

// itemKeyOf returns the log's key for an item of a list-map or of a set.
func itemKeyOf(t *schema.Type, item any) (string, error) {
	if t.Kind == schema.Set {
		return keyOfScalar(item)
	}
	fields, ok := item.(map[string]any)
	if !ok {
		if item == nil {
			return "", errors.New("must be an object, and is null")
		}
		return "", fmt.Errorf("must be an object, and is %s", withArticle(typeInJSON(item)))
	}
	var keys map[string]any
	for _, name := range t.Keys {
		v, ok := fields[name]
		if !ok {
			f := elemOf(t).Field(name)
			if f == nil || f.Default == nil {
				continue // an item that lacks one of several keys is an item of its own
			}
			v = f.Default
		}
		if text, ok := v.(string); ok && len(t.Keys) == 1 && !strings.HasPrefix(text, typedMark) {
			return text, nil
		}
		if v != nil {
			if is := typeInJSON(v); is == "object" || is == "list" || is == "" {
				return "", inside(fieldpath.Field(name), fmt.Errorf("must be a scalar, as a merge key, and is %s", withArticle(is)))
			}
			var err error
			if v, err = scalarOf(v); err != nil {
				return "", inside(fieldpath.Field(name), err)
			}
		}
		if keys == nil {
			keys = make(map[string]any, len(t.Keys))
		}
		keys[name] = v
	}
	if keys == nil {
		return "", fmt.Errorf("an item without its merge key cannot be merged; give it a %s", strconv.Quote(strings.Join(t.Keys, ", ")))
	}
	return typedKey(keys)
}

// elemOf returns the struct of a list's items.
func elemOf(t *schema.Type) *schema.Type {
	if t.Elem.Object != nil {
		return t.Elem.Object
	}
	return t.Elem
}

// keyOfScalar returns the key of an element of a set.
func keyOfScalar(v any) (string, error) {
	switch is := typeInJSON(v); is {
	case "object", "list", "":
		if v == nil {
			is = "null"
		} else if is != "" {
			is = withArticle(is)
		} else {
			is = fmt.Sprintf("%T", v)
		}
		return "", fmt.Errorf("must be a scalar, as an element of a set, and is %s", is)
	}
	if text, ok := v.(string); ok && !strings.HasPrefix(text, typedMark) {
		return text, nil
	}
	v, err := scalarOf(v)
	if err != nil {
		return "", err
	}
	return typedKey(v)
}

// typedKey returns a key as JSON: a scalar, or several merge keys by name.
func typedKey(v any) (string, error) {
	b := append(make([]byte, 0, 64), typedMark...)
	keys, ok := v.(map[string]any)
	if !ok {
		b, err := appendScalar(b, v)
		return string(b), err
	}
	names := make([]string, 0, 4)
	for name := range keys {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendEscaped(append(b, '"'), name), '"', ':')
		var err error
		if b, err = appendScalar(b, keys[name]); err != nil {
			return "", err
		}
	}
	return string(append(b, '}')), nil
}

func appendScalar(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return append(appendEscaped(append(b, '"'), v), '"'), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	}
	text, err := json.Marshal(v)
	return append(b, text...), err
}

// typedOf decodes a JSON key and reports whether the key is JSON.
func typedOf(key string) (any, bool) {
	text, typed := strings.CutPrefix(key, typedMark)
	if !typed {
		return nil, false
	}
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&v) // typedKey wrote it
	return plainNumbers(v), true
}

// itemStepOf returns the step to an item of a list-map, or to an element of a set.
func itemStepOf(t *schema.Type, key string) fieldpath.Step {
	v, typed := typedOf(key)
	switch keys, ok := v.(map[string]any); {
	case !typed && t.Kind == schema.Set:
		return fieldpath.Element(key)
	case !typed:
		return itemStep(t, key)
	case !ok:
		return fieldpath.ElementOf(v)
	default:
		all := make([]fieldpath.ItemKey, 0, len(keys))
		for name, value := range keys {
			all = append(all, fieldpath.ItemKey{Name: name, Value: value})
		}
		return fieldpath.ItemBy(all...)
	}
}
