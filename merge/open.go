package merge

import (
	"cmp"
	"slices"

	"github.com/trainweld/trainweld/schema"
)

// openList is a list-map of the template while patches merge into it. It stays open from the first
// patch that names it to the last: the template's items are looked at once, new items wait in a block
// of their own, and the merged list is made in the end. So a patch costs what it says, and not what
// the list holds already.
type openList[T any] struct {
	arrangement
	dst *[]T // the field that holds the list
	// blocks are the memory of the new items. The last one has room for more.
	blocks [][]T
	first  [1][]T // is blocks as long as one will do
	room   int    // how many items from the start of the last block are free
	done   bool
}

// opened is an openList of any type.
type opened interface {
	node() node
	close()
}

func (l *openList[T]) node() node { return l.at }

const (
	// smallList is the length up to which looking along a list beats a Go map.
	smallList = 32
	// mostRoom is the number of items up to which room is made for those of later patches.
	mostRoom = 64
)

// open returns the list at a node of the tree, opened by this patch or by an earlier one.
func open[T any](m *merger, t *schema.Type, dst *[]T, key func(*T) *string, at node) (*openList[T], error) {
	if i := m.log.nodes[at].list; i >= 0 {
		return m.lists[i].(*openList[T]), nil
	}
	n := len(*dst)
	l := &openList[T]{dst: dst}
	l.blocks = l.first[:0]
	l.at, l.n, l.alone = at, n, m.log.nodes[at].child == noNode
	l.entries, l.order = carve(&m.spareEntries, n, 64)[:0], carve(&m.spareOrder, n, 64)
	for i := range *dst {
		name := *key(&(*dst)[i])
		if !isKey(t.KeyField().Template, name) {
			return nil, errNoKey(i, t.Key)
		}
		l.twins = l.twins || l.find(name) >= 0
		l.add(name)
		l.entries[i].place = int32(n - 1 - i)
		l.order[n-1-i] = int32(i)
	}
	if l.twins {
		// Twins go together, so that the template's items change places, whatever the patch says.
		// That is done at once and for this patch alone, after the lists within them are done.
		m.finish(at)
		return l, nil
	}
	m.log.nodes[at].list = int32(len(m.lists))
	m.lists = append(m.lists, l)
	return l, nil
}

// carve cuts n elements off a piece of memory, a new one of the given size where it is too short.
func carve[T any](piece *[]T, n, size int) []T {
	if n > len(*piece) {
		if n > size/2 {
			return make([]T, n)
		}
		*piece = make([]T, size)
	}
	cut := (*piece)[:n:n]
	*piece = (*piece)[n:]
	return cut
}

// item is where an entry's item stands until the list is finished.
func (l *openList[T]) item(i int) *T {
	switch {
	case l.done:
		return &(*l.dst)[len(l.order)-1-int(l.entries[i].place)]
	case i < l.n:
		return &(*l.dst)[i]
	default:
		return &l.blocks[l.entries[i].block][l.entries[i].slot]
	}
}

// arrange brings the entries into the merged order, and makes the new ones' items, empty. The entries
// from had on are new; named are those that the patch names, left is the number of patches to come.
func (l *openList[T]) arrange(named []int32, had, left int) {
	l.makeRoom(had, left)
	switch {
	case l.twins:
		l.orderWithTwins(named)
		l.close()
	case l.keepsOrder(named, had):
		l.prepend(had)
	default:
		l.reorder(named, had)
	}
}

// makeRoom gives each new entry its item. As many are expected from every patch that is left.
func (l *openList[T]) makeRoom(had, left int) {
	n := len(l.entries) - had
	if l.room < n {
		l.room = max(n, min(n*(1+left), mostRoom))
		size := l.room
		if len(l.blocks) == 0 {
			size += l.n // for the template's list
		} else {
			l.scattered = true
		}
		l.blocks = append(l.blocks, make([]T, size))
	}
	l.room -= n
	for i := range l.entries[had:] {
		e := &l.entries[had+i]
		e.block, e.slot = int32(len(l.blocks)-1), int32(l.room+i)
	}
}

// close makes the merged list.
func (l *openList[T]) close() {
	size := len(l.order)
	switch {
	case size == l.n && !l.scattered:
	case !l.scattered && l.room <= size/4:
		list := l.blocks[0][l.room:]
		copy(list[size-l.n:], *l.dst)
		*l.dst = list
	default:
		list := make([]T, size)
		for place, i := range l.order {
			list[size-1-place] = *l.item(int(i))
		}
		*l.dst = list
	}
	l.done = true
}

// finish closes the lists within a node, the innermost first: an item that changes its place takes
// along what it holds.
func (m *merger) finish(within node) {
	for i, l := range slices.Backward(m.lists) {
		if at := l.node(); m.log.nodes[at].list == int32(i) && m.log.isWithin(at, within) {
			l.close()
			m.log.nodes[at].list = -1
		}
	}
}

// arrangement is the order of a list-map's items.
type arrangement struct {
	at      node
	n       int     // the length of the template's list
	entries []entry // of the template's items, then of the new ones
	// order is the merged list, back to front: new items go in front of all others, as a rule, and
	// that is the end here.
	order []int32
	index map[string]int32 // entries by key, of a list that is long

	// alone says that the tree has no items of this list but those among the entries.
	alone bool
	// scattered says that the merged list is another than the used part of the first block with the
	// template's list behind it.
	scattered bool
	// twins says that two items of the template share a key.
	twins bool
}

// entry is one item of an open list.
type entry struct {
	key   string
	node  node
	place int32 // where order has it
	named int32 // the last visit of a patch that named it
	// block and slot are where a new item stands.
	block, slot int32
}

// find returns the first entry that has a key, -1 where none has.
func (a *arrangement) find(key string) int {
	if a.index != nil {
		if i, found := a.index[key]; found {
			return int(i)
		}
		return -1
	}
	for i := range a.entries {
		if a.entries[i].key == key {
			return i
		}
	}
	return -1
}

func (a *arrangement) add(key string) int {
	i := len(a.entries)
	a.entries = append(a.entries, entry{key: key, node: noNode, named: -1})
	if a.index == nil && i == smallList {
		a.index = make(map[string]int32, 2*max(smallList, a.n))
		for j := i - 1; j >= 0; j-- {
			a.index[a.entries[j].key] = int32(j)
		}
	}
	if a.index != nil {
		if _, twin := a.index[key]; !twin {
			a.index[key] = int32(i)
		}
	}
	return i
}

// reserve makes room for one more entry, and for those of the patches that are left.
func (m *merger) reserve(a *arrangement) {
	if len(a.entries) == cap(a.entries) {
		size := max(len(a.entries)+min(1+m.left, mostRoom), 3*len(a.entries)/2)
		a.entries = append(carve(&m.spareEntries, size, 64)[:0], a.entries...)
		a.order = append(carve(&m.spareOrder, size, 64)[:0], a.order...)
	}
}

// keepsOrder reports whether the patch names new items before all others, and those in their order.
func (a *arrangement) keepsOrder(named []int32, had int) bool {
	last := len(a.order)
	for _, i := range named {
		place := -1
		if int(i) < had {
			place = int(a.entries[i].place)
		} else if last == len(a.order) {
			continue
		}
		if place < 0 || place > last {
			return false
		}
		last = place
	}
	return true
}

// prepend puts the entries from had on in front.
func (a *arrangement) prepend(had int) {
	for i := len(a.entries) - 1; i >= had; i-- {
		a.entries[i].place = int32(len(a.order))
		a.order = append(a.order, int32(i))
	}
}

// reorder merges the items that the patch names, in its order, with the others, in theirs: an other
// item goes first only where it stood before the next named one. A new item stood nowhere, so it
// goes before all others that are left.
func (a *arrangement) reorder(named []int32, had int) {
	isNamed := func(i int32) bool { return a.entries[i].named == a.entries[named[0]].named }
	merged := make([]int32, 0, cap(a.order))
	others := a.order
	before := func(place int) {
		for ; len(others) > place; others = others[:len(others)-1] {
			if other := others[len(others)-1]; !isNamed(other) {
				merged = append(merged, other)
			}
		}
	}
	for _, i := range named {
		if int(i) < had {
			before(int(a.entries[i].place) + 1)
		}
		merged = append(merged, i)
	}
	before(0)
	a.setOrder(merged)
}

// setOrder sets the merged order, given from front to back.
func (a *arrangement) setOrder(merged []int32) {
	slices.Reverse(merged)
	for place, i := range merged {
		a.entries[i].place = int32(place)
	}
	a.order, a.scattered = merged, true
}

// orderWithTwins is the order for a template's list in which two items share a key. The API server
// refuses such a list, but upstream's merge orders it all the same: twins go together.
func (a *arrangement) orderWithTwins(targets []int32) {
	first := make([]int, len(a.entries))
	var others, named, merged []int32
	for i := range first {
		first[i] = slices.IndexFunc(a.entries, func(e entry) bool { return e.key == a.entries[i].key })
		if i < a.n && !slices.Contains(targets, int32(first[i])) {
			others = append(others, int32(i))
		}
	}
	slices.SortStableFunc(others, func(a, b int32) int { return cmp.Compare(first[a], first[b]) })
	for _, i := range targets {
		for j := range first {
			if first[j] == int(i) {
				named = append(named, int32(j))
			}
		}
	}
	for len(others) > 0 && len(named) > 0 {
		if int(named[0]) < a.n && first[others[0]] < first[named[0]] {
			merged, others = append(merged, others[0]), others[1:]
		} else {
			merged, named = append(merged, named[0]), named[1:]
		}
	}
	a.setOrder(append(append(merged, others...), named...))
}
