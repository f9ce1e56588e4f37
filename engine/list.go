package engine

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// listMap merges a list item by item, by merge key, and orders the result as upstream does
// (apimachinery v0.36.3 pkg/util/strategicpatch, mergeSlice and normalizeElementOrder). A list that
// the base's encoding lacks is taken from the patch as it stands.
func (m *merger) listMap(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	if src.Kind() != reflect.Slice {
		return wrongType(src, "a list")
	}
	if src.Len() == 0 {
		m.empty(at)
	}
	if !present || dst.IsNil() {
		return m.takeList(t, dst, src, at)
	}
	if len(m.raw) > 0 && m.isRaw(dst) {
		return errNoKey(0, t.Key)
	}
	if src.Type().Elem().Kind() == reflect.Interface {
		var replaced bool
		var err error
		if src, replaced, err = m.special(t, dst, src, at); err != nil || replaced {
			return err
		}
	}
	var base, names keys
	base.read(t, dst, false)
	names.read(t, src, true)
	if err := m.distinct(t, &names, src.Len()); err != nil {
		return err
	}
	f, twins, err := m.frontOf(t, dst, &base)
	if err != nil {
		return err
	}
	if twins && m.owners && src.Len() > 0 {
		m.noteDuplicates(t, &base, dst.Len(), at)
	}
	first := len(m.targets)
	added, inOrder, err := m.findTargets(t, f, &base, &names, dst.Len(), src.Len())
	if err != nil {
		return err
	}
	if twins || !inOrder {
		m.reorder(f, t, dst, m.targets[first:], twins)
	} else {
		f.prepend(dst, m.targets[first:], added, m.left)
	}
	for i := range src.Len() {
		target := m.targets[first+i]
		isNew := target < 0
		if isNew {
			target = ^target
		}
		name, _ := names.at(i)
		if err := m.item(t, name, dst.Index(int(target)), at, pointee(src.Index(i)), isNew); err != nil {
			return within(fieldpath.Item(t.Key, name), err)
		}
	}
	m.targets = m.targets[:first]
	return nil
}

// noteDuplicates notes the merge keys that items of a list share, each once. The first patch that reaches the list finds them
// all: a patch adds no second item of a key, unless the plan's rules allow it.
func (m *merger) noteDuplicates(t *schema.Type, names *keys, n int, at node) {
	if m.noted[at] {
		return
	}
	if m.noted == nil {
		m.noted = map[node]bool{}
	}
	m.noted[at] = true
	list, items := m.log.path(at), make(map[string]int, n)
	for i := range n {
		name, _ := names.at(i)
		if items[name]++; items[name] == 2 {
			m.duplicates = append(m.duplicates, list.Append(fieldpath.Item(t.Key, name)))
		}
	}
}

// findTargets finds the item that each of the patch's goes to, and pushes it to m.targets: its position
// in the list, or one from the list's length on for an item that is new there, complemented where the
// patch names that for the first time. It returns how many are new, and whether the order of the list
// is the merged one, with the new ones in front.
func (m *merger) findTargets(t *schema.Type, f *front, base, names *keys, have, n int) (added int, inOrder bool, err error) {
	if f.index == nil && have+n > smallList {
		f.makeIndex(base, have, n)
	}
	first, last := len(m.targets), -1
	inOrder = true
	for i := range n {
		name, ok := names.at(i)
		if !ok {
			return 0, false, errNoKey(i, t.Key)
		}
		named := m.targets[first:]
		target := f.find(base, have, name)
		if target < 0 && f.index == nil {
			if twin := names.find(i, name); twin >= 0 {
				target = int(max(named[twin], ^named[twin]))
			}
		}
		switch {
		case target < 0:
			target = ^(have + added)
			if f.index != nil {
				f.index[name] = int32(-added) // until all are known
			}
			added++
			inOrder = inOrder && last < 0
		case target >= have:
		case target > last:
			last = target
		case target < last:
			inOrder = inOrder && slices.Contains(named, int32(target))
		}
		m.targets = append(m.targets, int32(target))
	}
	if f.index != nil && added > 0 {
		for i, target := range m.targets[first:] {
			if target < 0 {
				name, _ := names.at(i)
				f.index[name] = int32(have+added) - (^target - int32(have))
			}
		}
	}
	return added, inOrder, nil
}

// item merges one item of a patch into its place in the list at a node.
func (m *merger) item(t *schema.Type, name string, item reflect.Value, list node, from reflect.Value, isNew bool) error {
	if !isNew {
		at := m.keyed(list, name)
		if at != noNode && m.log.nodes[at].whole {
			m.split(t, item, at)
		}
		m.presence(at, true)
		return m.fields(t, item, from, at)
	}
	verbatim, fresh := m.verbatim, m.fresh
	m.verbatim, m.fresh = true, true
	err := m.newItem(t, name, true, item, list, from, !m.unseen) // what is not in the list was never claimed
	m.verbatim, m.fresh = verbatim, fresh
	return err
}

// fields merges the fields of an item, but for its merge key.
func (m *merger) fields(t *schema.Type, item, from reflect.Value, at node) error {
	if item.Kind() == reflect.Pointer {
		if item.IsNil() {
			item.Set(reflect.New(item.Type().Elem()))
		}
		item = item.Elem()
	}
	return m.structure(t.Elem, t.KeyField(), item, from, at)
}

// newItem merges one item of a patch into an empty one. unknown says that the log has not met its key. An item whose
// claims can be read off its copy is only marked as one layer's, until another one touches it.
func (m *merger) newItem(t *schema.Type, name string, ok bool, item reflect.Value, list node, from reflect.Value, unknown bool) error {
	at := noNode
	if unknown && m.owners {
		at = m.log.grow(list, nil, name)
	} else {
		at = m.keyed(list, name)
		m.unseen = m.unseen || m.owners && !m.untouched(at)
	}
	m.make(at)
	m.presence(at, false)
	if err := m.setKey(t, item, from, ok); err != nil {
		return err
	}
	if !m.owners || from.Type() != t.Elem.GoType() {
		return m.fields(t, item, from, at)
	}
	said := m.said
	m.owners = false
	err := m.fields(t, item, from, noNode)
	m.owners = true
	if err != nil {
		return err
	}
	n := &m.log.nodes[at]
	switch {
	case m.said != said:
		n.whole = false
		item.SetZero()
		m.setKey(t, item, from, ok)
		return m.fields(t, item, from, at)
	case n.first == n.last:
		n.whole = true
	default:
		n.whole = false
		m.claimItem(t, item, at, m.layer)
	}
	return nil
}

// split gives the fields of an item that a patch added nodes and claims of their own, since another patch
// is about to touch it.
func (m *merger) split(t *schema.Type, item reflect.Value, at node) {
	m.expand(t.Elem, t.KeyField(), item, at)
}

// firsts finds the first item of a key among those before another one of a patch's list.
type firsts struct {
	names *keys
	index map[string]int32 // nil where looking along the list is as good
}

func firstsOf(names *keys, n int) firsts {
	f := firsts{names: names}
	if n > smallList {
		f.index = make(map[string]int32, n)
		for i := n - 1; i >= 0; i-- {
			name, _ := names.at(i)
			f.index[name] = int32(i)
		}
	}
	return f
}

// distinct refuses two items of one key in a patch's list, unless the plan's rules allow them.
func (m *merger) distinct(t *schema.Type, names *keys, n int) error {
	if m.plan.twins {
		return nil
	}
	firsts, unnamed := firstsOf(names, n), false
	for i := range n {
		name, ok := names.at(i)
		again := ok && firsts.find(i, name) >= 0
		if ok && name == "" { // which find takes for an item without a key
			again, unnamed = unnamed, true
		}
		if again {
			return within(fieldpath.Item(t.Key, name), errDuplicate)
		}
	}
	return nil
}

// find returns the position of the first of n items that has a key, -1 where none has.
func (f *firsts) find(n int, name string) int {
	if f.index == nil {
		return f.names.find(n, name)
	}
	if first := int(f.index[name]); first < n {
		return first
	}
	return -1
}

// expand splits all items within a value that are one layer's, since an item of the same key is about to write to their
// nodes.
func (m *merger) expand(t *schema.Type, key *schema.StructField, v reflect.Value, at node) {
	v = pointee(v)
	if !v.IsValid() {
		return
	}
	if m.log.nodes[at].whole {
		layer := m.log.keeper(at)
		m.log.nodes[at].whole = false
		writer{log: m.log, layer: layer}.fields(t, key, at, reflect.Value{}, v)
		return
	}
	for child := m.log.nodes[at].child; child != noNode; child = m.log.nodes[child].next {
		switch f := m.log.nodes[child].field; {
		case f != nil:
			if to, present := f.Template.Of(v); present && f.Type.Kind != schema.Scalar {
				m.expand(f.Type, nil, to, child)
			}
		case t.Kind == schema.ListMap:
			var names keys
			names.read(t, v, false)
			if i := names.find(v.Len(), m.log.nodes[child].key); i >= 0 {
				m.expand(t.Elem, t.KeyField(), v.Index(i), child)
			}
		}
	}
}

// claimItem claims every field of an item as it stands.
func (m *merger) claimItem(t *schema.Type, item reflect.Value, at node, layer int32) {
	writer{log: m.log, layer: layer}.fields(t.Elem, t.KeyField(), at, reflect.Value{}, pointee(item))
}

// takeList sets a list that the base lacks: the patch's items as they stand, also when two of
// them share a key or one has none.
func (m *merger) takeList(t *schema.Type, dst, src reflect.Value, at node) error {
	fresh := m.fresh
	m.fresh = true
	defer func() { m.fresh = fresh }()
	if src.Type().Elem().Kind() == reflect.Interface && !m.verbatim {
		src = reflect.ValueOf(slices.DeleteFunc(slices.Clone(src.Interface().([]any)), func(item any) bool {
			object, _ := item.(Object)
			key, hasKey := object[t.Key]
			switch directive := object[patchDirective]; {
			case directive == "replace":
				m.claimNull(at)
			case directive == "delete" && hasKey:
				m.claimNull(m.keyed(at, scalarText(reflect.ValueOf(key))))
			case directive == nil:
				return false
			}
			return true
		}))
		if src.Len() == 0 {
			m.empty(at)
		}
	}
	makeList(dst, src.Len())
	list := dst
	var names keys
	names.read(t, src, true)
	if err := m.distinct(t, &names, src.Len()); err != nil {
		return err
	}
	firsts := firstsOf(&names, src.Len())
	for i := range src.Len() {
		from := pointee(src.Index(i))
		if !from.IsValid() {
			m.raw = append(m.raw, list.Pointer())
			continue // an item that is null
		}
		if k := from.Kind(); k != reflect.Struct && k != reflect.Map {
			return within(fieldpath.Index(i), wrongType(from, "an object"))
		}
		name, ok := names.at(i)
		if !ok {
			m.raw = append(m.raw, list.Pointer())
		}
		if m.owners {
			if twin := firsts.find(i, name); twin >= 0 {
				m.expand(t.Elem, t.KeyField(), list.Index(twin), m.keyed(at, name))
			}
		}
		if err := m.newItem(t, name, ok, list.Index(i), at, from, false); err != nil {
			return within(fieldpath.Item(t.Key, name), err)
		}
	}
	return nil
}

// keys are the merge keys of a list's items, in the base or in a patch.
type keys struct {
	texts  schema.Texts
	isText bool
	list   reflect.Value
	slot   *schema.Slot
	name   string
}

// read sets k to the keys of a list of the base, or of a patch.
func (k *keys) read(t *schema.Type, list reflect.Value, ofPatch bool) {
	k.list, k.name = list, t.Key
	if key := t.KeyField(); key != nil {
		k.slot = &key.Template
		if ofPatch {
			k.slot = key.Patch
		}
		k.isText = k.texts.Read(k.slot, list)
	}
}

// at is the key of an item, and whether the item has one.
func (k *keys) at(i int) (string, bool) {
	if k.isText {
		return k.texts.At(i)
	}
	return k.of(pointee(k.list.Index(i)))
}

// of is the key of an item, which is a struct or an object.
func (k *keys) of(item reflect.Value) (string, bool) {
	switch {
	case k.slot == nil || !item.IsValid():
		return "", false
	case item.Kind() == reflect.Map:
		name := pointee(item.MapIndex(reflect.ValueOf(k.name)))
		if !name.IsValid() {
			return "", false
		}
		return scalarText(name), true
	case item.Kind() != reflect.Struct:
		return "", false
	}
	return keyOf(k.slot, item)
}

// find returns the position of the first of the list's first n items that has a key, -1 where none has.
func (k *keys) find(n int, name string) int {
	if k.isText {
		return k.texts.Find(n, name)
	}
	for i := range n {
		if other, _ := k.at(i); other == name {
			return i
		}
	}
	return -1
}

// keyOf is the merge key of an item, and whether its encoding has one.
func keyOf(slot *schema.Slot, item reflect.Value) (string, bool) {
	v, encoded := slot.Of(item)
	if v.Kind() == reflect.String {
		return v.String(), encoded
	}
	v = pointee(v)
	if !v.IsValid() {
		return "", false
	}
	return scalarText(v), encoded
}

// setKey sets the merge key of a new item.
func (m *merger) setKey(t *schema.Type, item, from reflect.Value, has bool) error {
	key := t.KeyField()
	if key == nil || !has {
		return nil
	}
	if item.Kind() == reflect.Pointer {
		if item.IsNil() {
			item.Set(reflect.New(item.Type().Elem()))
		}
		item = item.Elem()
	}
	to, _ := key.Template.In(item)
	var value reflect.Value
	if from.Kind() == reflect.Map {
		value = pointee(from.MapIndex(reflect.ValueOf(t.Key)))
	} else {
		value, _ = key.Patch.Of(from)
	}
	switch {
	case to.Kind() == reflect.String && value.Kind() == reflect.String:
		to.SetString(value.String())
		return nil
	case value.Type() == to.Type():
		m.plan.clone(to, value)
		return nil
	}
	if err := m.read(key.Type, to, value.Interface()); err != nil {
		return within(fieldpath.Field(t.Key), err)
	}
	return nil
}

// errNoKey is upstream's refusal to merge a list with an item that lacks its merge key. It comes
// only where the base has the list, since a list that it lacks is taken as it stands.
func errNoKey(index int, key string) error {
	return within(fieldpath.Index(index), fmt.Errorf("an item without its merge key cannot be merged; give it a %s", strconv.Quote(key)))
}
