package merge

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/trainweld/trainweld/schema"
)

// listMap merges a list item by item, by merge key, and orders the result as upstream does
// (apimachinery v0.36.3 pkg/util/strategicpatch, mergeSlice and normalizeElementOrder). A list that
// the template's encoding lacks is taken from the patch as it stands.
func (m *merger) listMap(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	key := t.Elem.Field(t.Key)
	if !present || dst.IsNil() {
		return m.takeList(t, key, dst, src, at)
	}
	if m.isRaw(dst) {
		return errNoKey(0, t.Key)
	}
	list, err := newItemList(t, key, dst, src.Len())
	if err != nil {
		return err
	}
	for i := range src.Len() {
		from := src.Index(i)
		name, encoded := key.Patch.Of(from)
		if !encoded {
			return errNoKey(i, t.Key)
		}
		item, isNew := list.name(name.String())
		child := m.keyed(at, name.String())
		verbatim, fresh := m.verbatim, m.fresh
		if isNew {
			m.verbatim, m.fresh = true, true
			setKey(key, item, name)
		}
		m.presence(child, !isNew)
		err := m.structure(t.Elem, key, item, from, child)
		m.verbatim, m.fresh = verbatim, fresh
		if err != nil {
			return within(schema.Item(t.Key, name.String()), err)
		}
	}
	list.store(dst)
	return nil
}

// takeList sets a list that the template lacks: the patch's items as they stand, also when two of
// them share a key or one has none.
func (m *merger) takeList(t *schema.Type, key *schema.StructField, dst, src reflect.Value, at node) error {
	outer := m.fresh
	m.fresh = true
	defer func() { m.fresh = outer }()
	list := reflect.MakeSlice(dst.Type(), src.Len(), src.Len())
	for i := range src.Len() {
		from := src.Index(i)
		name, encoded := key.Patch.Of(from)
		if !encoded {
			m.raw = append(m.raw, list.Pointer())
		}
		setKey(key, list.Index(i), name)
		child := m.keyed(at, name.String())
		m.presence(child, false)
		if err := m.structure(t.Elem, key, list.Index(i), from, child); err != nil {
			return within(schema.Item(t.Key, name.String()), err)
		}
	}
	dst.Set(list)
	return nil
}

// setKey writes a new item's merge key before its fields are merged: the key is no leaf, so it has
// no claim of its own.
func setKey(key *schema.StructField, item, name reflect.Value) {
	to, _ := key.Template.Of(item)
	to.SetString(name.String())
}

// errNoKey is upstream's refusal to merge a list with an item that lacks its merge key. It comes
// only where the template has the list, since a list that it lacks is taken as it stands.
func errNoKey(index int, key string) error {
	return within(schema.Index(index), fmt.Errorf("an item without its merge key cannot be merged; give it a %s", strconv.Quote(key)))
}

// itemList is a list-map in the course of one merge.
type itemList struct {
	old   reflect.Value // the template's items
	added reflect.Value // the items that are new with this patch
	keys  []string      // of old, then of added
	first []int         // of old: the position of the first item with the same key
	index map[string]int
	named []int // the items that the patch names, in its order, each once
	mark  []bool
	twice bool // some items of old share a key
}

// smallList is the length up to which looking along a list beats a Go map.
const smallList = 16

func newItemList(t *schema.Type, key *schema.StructField, old reflect.Value, extra int) (*itemList, error) {
	n := old.Len()
	l := &itemList{
		old:   old,
		keys:  make([]string, n, n+extra),
		named: make([]int, 0, extra),
		mark:  make([]bool, n, n+extra),
	}
	if n+extra > smallList {
		l.index = make(map[string]int, n+extra)
	}
	for i := range n {
		name, encoded := key.Template.Of(old.Index(i))
		if !encoded {
			return nil, errNoKey(i, t.Key)
		}
		l.keys[i] = name.String()
		if _, found := l.find(l.keys[i], i); found {
			l.twice = true
		} else if l.index != nil {
			l.index[l.keys[i]] = i
		}
	}
	return l, nil
}

// find looks for a key among the first n items.
func (l *itemList) find(key string, n int) (int, bool) {
	if l.index != nil {
		i, found := l.index[key]
		return i, found
	}
	i := slices.Index(l.keys[:n], key)
	return i, i >= 0
}

// name returns the item of the given key for merging into, a new one where there is none, and notes
// that the patch names it.
func (l *itemList) name(key string) (item reflect.Value, isNew bool) {
	i, found := l.find(key, len(l.keys))
	if !found {
		i = len(l.keys)
		l.keys = append(l.keys, key)
		l.mark = append(l.mark, false)
		if l.index != nil {
			l.index[key] = i
		}
		if !l.added.IsValid() {
			l.added = reflect.MakeSlice(l.old.Type(), 0, cap(l.named))
		}
		l.added = l.added.Slice(0, l.added.Len()+1)
	}
	if !l.mark[i] {
		l.mark[i] = true
		l.named = append(l.named, i)
	}
	return l.at(i), !found
}

func (l *itemList) at(i int) reflect.Value {
	if n := l.old.Len(); i >= n {
		return l.added.Index(i - n)
	}
	return l.old.Index(i)
}

// store writes the merged list back in its new order.
func (l *itemList) store(dst reflect.Value) {
	order := l.order()
	if !l.added.IsValid() && slices.IsSorted(order) {
		return
	}
	list := reflect.MakeSlice(dst.Type(), len(order), len(order))
	for to, from := range order {
		list.Index(to).Set(l.at(from))
	}
	dst.Set(list)
}

// order merges the items that the patch names, in its order, with the others, in theirs: an other
// item goes first only where it stood before the next named one. A new item stood nowhere, so it
// goes before all others that are left.
func (l *itemList) order() []int {
	n := l.old.Len()
	if l.twice {
		return l.orderWithTwins()
	}
	order := make([]int, 0, len(l.keys))
	other := 0
	for _, named := range l.named {
		for ; named < n && other < named; other++ {
			if !l.mark[other] {
				order = append(order, other)
			}
		}
		order = append(order, named)
	}
	for ; other < n; other++ {
		if !l.mark[other] {
			order = append(order, other)
		}
	}
	return order
}

// orderWithTwins is order for a template list in which two items share a key. The API server
// refuses such a list, but upstream's merge orders it all the same: twins go together.
func (l *itemList) orderWithTwins() []int {
	n := l.old.Len()
	first := make([]int, len(l.keys))
	var others, named []int
	for i := range first {
		first[i] = slices.Index(l.keys, l.keys[i])
		if i < n && !l.mark[first[i]] {
			others = append(others, i)
		}
	}
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(first[a], first[b]) })
	for _, i := range l.named {
		for j := range first {
			if first[j] == i {
				named = append(named, j)
			}
		}
	}
	order := make([]int, 0, len(l.keys))
	for len(others) > 0 && len(named) > 0 {
		if named[0] < n && first[others[0]] < first[named[0]] {
			order, others = append(order, others[0]), others[1:]
		} else {
			order, named = append(order, named[0]), named[1:]
		}
	}
	return append(append(order, others...), named...)
}

// set merges two lists of strings by union, in the order of a list-map.
func (m *merger) set(dst, src reflect.Value, at node) {
	old, patch := dst.Interface().([]string), src.Interface().([]string)
	for _, element := range patch {
		m.presence(m.keyed(at, element), slices.Contains(old, element))
	}
	if len(old) == 0 {
		dst.Set(reflect.ValueOf(slices.Clone(patch)))
		return
	}
	server, union := dedupe(old, patch)
	place := func(list []string) func(a, b string) int {
		return func(a, b string) int { return cmp.Compare(slices.Index(list, a), slices.Index(list, b)) }
	}
	var named, others []string
	for _, element := range union {
		if slices.Contains(patch, element) {
			named = append(named, element)
		} else {
			others = append(others, element)
		}
	}
	slices.SortStableFunc(named, place(patch))
	slices.SortStableFunc(others, place(server))
	merged := make([]string, 0, len(union))
	for len(named) > 0 && len(others) > 0 {
		if slices.Contains(server, named[0]) && place(server)(others[0], named[0]) < 0 {
			merged, others = append(merged, others[0]), others[1:]
		} else {
			merged, named = append(merged, named[0]), named[1:]
		}
	}
	dst.Set(reflect.ValueOf(append(append(merged, named...), others...)))
}

// dedupe returns the elements of both lists, each once, and the list old as upstream then sees it.
// Upstream fills a twin's place with the last element of all, and where the decoder left room
// behind the old list it does so within that very list: an element of the patch can then count as
// one that stood there before. It takes an old list with twins to notice.
func dedupe(old, patch []string) (server, union []string) {
	room := 1
	for room < len(old) {
		room *= 2 // as append grows a list that is decoded element by element
	}
	server = append(make([]string, 0, room), old...)
	union = append(server, patch...)
	for i := 0; i < len(union); i++ {
		for j := i + 1; j < len(union); j++ {
			if union[i] == union[j] {
				union[j] = union[len(union)-1]
				union = union[:len(union)-1]
				j--
			}
		}
	}
	return server, union
}
