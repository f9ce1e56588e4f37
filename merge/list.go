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
	list := m.openList()
	defer m.closeList()
	if err := list.read(t, key, dst, src); err != nil {
		return err
	}
	m.arrange(dst, list)
	verbatim, fresh := m.verbatim, m.fresh
	for i := range src.Len() {
		from := src.Index(i)
		name := list.keys[list.targets[i]]
		item, child := dst.Index(list.place[list.targets[i]]), m.keyed(at, name)
		isNew := list.isNew(i)
		if isNew {
			m.verbatim, m.fresh = true, true
			setKey(key, item, name)
		}
		m.presence(child, !isNew)
		err := m.structure(t.Elem, key, item, from, child)
		m.verbatim, m.fresh = verbatim, fresh
		if err != nil {
			return within(schema.Item(t.Key, name), err)
		}
	}
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
		setKey(key, list.Index(i), name.String())
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
func setKey(key *schema.StructField, item reflect.Value, name string) {
	to, _ := key.Template.Of(item)
	to.SetString(name)
}

// errNoKey is upstream's refusal to merge a list with an item that lacks its merge key. It comes
// only where the template has the list, since a list that it lacks is taken as it stands.
func errNoKey(index int, key string) error {
	return within(schema.Index(index), fmt.Errorf("an item without its merge key cannot be merged; give it a %s", strconv.Quote(key)))
}

// itemList is a list-map in the course of one merge. Its memory is used again for the next list.
type itemList struct {
	n       int      // the length of the template's list
	keys    []string // of the template's items, then of the new ones
	index   map[string]int
	targets []int // of each item of the patch: the number of its key in keys
	named   []int // the same, each once, in the patch's order
	mark    []bool
	order   []int // the merged list: numbers of keys
	place   []int // of each key: where order has it
	twice   bool  // two items of the template share a key

	// What a short list needs is part of the value, so that it takes one allocation.
	short struct {
		keys [smallList]string
		ints [4][smallList]int
		mark [smallList]bool
	}
}

// smallList is the length up to which looking along a list beats a Go map.
const smallList = 16

// openList returns an empty list, and closeList gives it back. Lists nest: containers hold env.
func (m *merger) openList() *itemList {
	if m.depth == len(m.lists) {
		l := &itemList{}
		l.keys, l.mark = l.short.keys[:0], l.short.mark[:0]
		l.targets, l.named, l.order, l.place = l.short.ints[0][:0], l.short.ints[1][:0], l.short.ints[2][:0], l.short.ints[3][:0]
		m.lists = append(m.lists, l)
	}
	m.depth++
	return m.lists[m.depth-1]
}

func (m *merger) closeList() { m.depth-- }

// read takes the keys of the template's list and of the patch's, and works out the merged order.
func (l *itemList) read(t *schema.Type, key *schema.StructField, old, patch reflect.Value) error {
	l.n, l.index, l.twice = old.Len(), nil, false
	l.keys, l.mark = l.keys[:0], l.mark[:0]
	l.targets, l.named, l.order, l.place = l.targets[:0], l.named[:0], l.order[:0], l.place[:0]
	if l.n+patch.Len() > smallList {
		l.index = make(map[string]int, l.n+patch.Len())
	}
	for i := range l.n {
		name, encoded := key.Template.Of(old.Index(i))
		if !encoded {
			return errNoKey(i, t.Key)
		}
		if l.find(name.String()) >= 0 {
			l.twice = true
		}
		l.add(name.String())
	}
	for i := range patch.Len() {
		name, encoded := key.Patch.Of(patch.Index(i))
		if !encoded {
			return errNoKey(i, t.Key)
		}
		target := l.find(name.String())
		if target < 0 {
			target = l.add(name.String())
		}
		l.targets = append(l.targets, target)
		if !l.mark[target] {
			l.mark[target] = true
			l.named = append(l.named, target)
		}
	}
	if l.twice {
		l.orderWithTwins()
	} else {
		l.arrange()
	}
	l.place = append(l.place, l.order...)
	for at, i := range l.order {
		l.place[i] = at
	}
	return nil
}

// find returns the number of a key, of the first item that has it; -1 where none has.
func (l *itemList) find(key string) int {
	if l.index == nil {
		return slices.Index(l.keys, key)
	}
	if i, found := l.index[key]; found {
		return i
	}
	return -1
}

func (l *itemList) add(key string) int {
	i := len(l.keys)
	if _, twin := l.index[key]; l.index != nil && !twin {
		l.index[key] = i
	}
	l.keys, l.mark = append(l.keys, key), append(l.mark, false)
	return i
}

// isNew reports whether an item of the patch makes the list longer: the first one of a new key does.
func (l *itemList) isNew(i int) bool {
	return l.targets[i] >= l.n && slices.Index(l.targets, l.targets[i]) == i
}

// arrange merges the items that the patch names, in its order, with the others, in theirs: an other
// item goes first only where it stood before the next named one. A new item stood nowhere, so it
// goes before all others that are left.
func (l *itemList) arrange() {
	other := 0
	for _, named := range l.named {
		for ; named < l.n && other < named; other++ {
			if !l.mark[other] {
				l.order = append(l.order, other)
			}
		}
		l.order = append(l.order, named)
	}
	for ; other < l.n; other++ {
		if !l.mark[other] {
			l.order = append(l.order, other)
		}
	}
}

// orderWithTwins is arrange for a template's list in which two items share a key. The API server
// refuses such a list, but upstream's merge orders it all the same: twins go together.
func (l *itemList) orderWithTwins() {
	first := make([]int, len(l.keys))
	var others, named []int
	for i := range first {
		first[i] = slices.Index(l.keys, l.keys[i])
		if i < l.n && !l.mark[first[i]] {
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
	for len(others) > 0 && len(named) > 0 {
		if named[0] < l.n && first[others[0]] < first[named[0]] {
			l.order, others = append(l.order, others[0]), others[1:]
		} else {
			l.order, named = append(l.order, named[0]), named[1:]
		}
	}
	l.order = append(append(l.order, others...), named...)
}

// front is a list that this merge has made, with room before its first item: new items go in front,
// and managers that each add one would otherwise each copy the list. The room is for as many new
// items from every patch that is left.
type front struct {
	items uintptr       // where the list's items are
	all   reflect.Value // the room, then the list
	room  int
}

// arrange brings the template's list into the merged order, new items empty.
func (m *merger) arrange(dst reflect.Value, l *itemList) {
	added := len(l.order) - l.n
	if added == 0 && slices.IsSorted(l.order) {
		return
	}
	if added == 0 || slices.Min(l.order[:added]) < l.n || !slices.IsSorted(l.order[added:]) {
		list := reflect.MakeSlice(dst.Type(), len(l.order), len(l.order))
		for to, from := range l.order {
			if from < l.n {
				list.Index(to).Set(dst.Index(from))
			}
		}
		dst.Set(list)
		return
	}
	// All new items go in front, and the others stay as they are.
	f := m.frontOf(dst)
	if f.room < added {
		f.room = added * (1 + m.left)
		f.all = reflect.MakeSlice(dst.Type(), f.room+l.n, f.room+l.n)
		reflect.Copy(f.all.Slice(f.room, f.room+l.n), dst)
	}
	f.room -= added
	list := f.all.Slice(f.room, f.all.Len())
	f.items = list.Pointer()
	dst.Set(list)
}

func (m *merger) frontOf(list reflect.Value) *front {
	for i := range m.fronts {
		if m.fronts[i].items == list.Pointer() {
			return &m.fronts[i]
		}
	}
	m.fronts = append(m.fronts, front{})
	return &m.fronts[len(m.fronts)-1]
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
