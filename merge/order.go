package merge

import (
	"cmp"
	"slices"

	"github.com/trainweld/trainweld/schema"
)

// This file orders the items of lists.

// indexedList is a list-map to which a patch adds items. Each item has a key.
type indexedList struct {
	items []any
	names []string
	// the first item of each key; nil for a list that is short enough to search
	index         map[string]int
	hasDuplicates bool
}

// indexed returns a list with the keys of its items, to which a patch adds some more. An item
// without a key is an error.
func (m *merger) indexed(t *schema.Type, list []any, more int) (l indexedList, err error) {
	l.items, l.names = list, make([]string, 0, len(list)+more)
	if len(list)+more > smallList {
		l.index = make(map[string]int, len(list)+more)
	}
	for i, item := range list {
		name, ok := itemName(t, item)
		if !ok {
			return l, m.errNoKey(i, t.Key)
		}
		if l.find(name) >= 0 {
			l.hasDuplicates = true
		} else if l.index != nil {
			l.index[name] = i
		}
		l.names = append(l.names, name)
	}
	return l, nil
}

// find returns the place of the first item with a key, or -1.
func (l *indexedList) find(name string) int {
	if l.index == nil {
		return slices.Index(l.names, name)
	}
	if i, known := l.index[name]; known {
		return i
	}
	return -1
}

// add puts an item behind the list, and returns its place.
func (l *indexedList) add(name string, item any) int {
	if l.index != nil {
		l.index[name] = len(l.items)
	}
	l.items, l.names = append(l.items, item), append(l.names, name)
	return len(l.items) - 1
}

// arranged returns the items in the merged order. The first ones, as many as had states, are the
// base's. Targets are the places of the patch's items. The flag follows states that new items
// follow the others.
func (l *indexedList) arranged(targets []int32, had int, follows bool) []any {
	if follows || len(targets) == 0 && !l.hasDuplicates {
		return l.items
	}
	if !l.hasDuplicates && inOrder(targets, had) {
		return slices.Insert(l.items[:had], 0, l.items[had:]...) // in place
	}
	n := len(l.items)
	server, rank := make([]int32, n), make([]int32, n)
	for i := range n {
		server[i], rank[i] = int32(i), -1
		if i >= had {
			server[i] = -1
		} else if l.hasDuplicates {
			server[i] = int32(l.find(l.names[i]))
		}
	}
	for place, i := range targets {
		if rank[i] < 0 {
			rank[i] = int32(place)
		}
	}
	for i := range had {
		rank[i] = rank[server[i]] // duplicates go together
	}
	return reordered(l.items, arrange(n, server, rank))
}

// inOrder reports whether the items of a patch are in the merged order if its new ones go in front.
func inOrder(targets []int32, had int) bool {
	last, next := int32(-1), int32(had)
	for _, i := range targets {
		switch {
		case i == next && last < 0:
			next++
		case int(i) >= had && i < next: // a second item of a new key
		case int(i) < had && i >= last:
			last = i
		default:
			return false
		}
	}
	return true
}

// reordered returns the items of a list in an order.
func reordered(list []any, order []int32) []any {
	ordered := make([]any, len(list))
	for place, i := range order {
		ordered[place] = list[i]
	}
	return ordered
}

// arrange returns the merged order of n items. Their places in the base's list are in server, their
// places in the order of the patch in rank. A missing item has -1. Items of the patch keep its
// order, the others the base's. Then both are merged. One of the others precedes the patch's next
// item only if it preceded that item in the base.
func arrange(n int, server, rank []int32) []int32 {
	var named, others []int32
	for i := range int32(n) {
		if rank[i] >= 0 {
			named = append(named, i)
		} else {
			others = append(others, i)
		}
	}
	slices.SortStableFunc(named, func(a, b int32) int { return cmp.Compare(rank[a], rank[b]) })
	slices.SortStableFunc(others, func(a, b int32) int {
		if server[a] < 0 || server[b] < 0 {
			// upstream's comparison of items that neither the base nor the patch's own order names
			// is inconsistent
			return -1
		}
		return cmp.Compare(server[a], server[b])
	})
	order := make([]int32, 0, n)
	for len(named) > 0 && len(others) > 0 {
		if o := server[others[0]]; o >= 0 && o < server[named[0]] {
			order, others = append(order, others[0]), others[1:]
		} else {
			order, named = append(order, named[0]), named[1:]
		}
	}
	return append(append(order, named...), others...)
}

// ranks returns the positions of elements in a list, -1 for a missing one.
func ranks(elements, list []string) []int32 {
	first := make(map[string]int32, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		first[list[i]] = int32(i)
	}
	at := make([]int32, len(elements))
	for i, element := range elements {
		if place, ok := first[element]; ok {
			at[i] = place
		} else {
			at[i] = -1
		}
	}
	return at
}

// dedupe returns the distinct elements of both lists, and the old list as upstream then sees it.
// Upstream overwrites a duplicate with the last element of all. If the decoder left room behind the
// old list, this happens within that very list. Then an element of the patch can count as an old
// one. Only an old list with duplicates shows the difference.
func dedupe(old, patch []string) (server, union []string) {
	// element by element, as the decoder does: this decides the room
	server = slices.Collect(slices.Values(old))
	union = append(server, patch...)
	for i := range union {
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

// distinctOf returns the distinct elements of both lists, in their order.
func distinctOf(old, patch []string) (union []string, order []int32) {
	seen := make(map[string]bool, len(old)+len(patch))
	for _, element := range slices.Concat(old, patch) {
		if !seen[element] {
			union, order, seen[element] = append(union, element),
				append(order, int32(len(order))), true
		}
	}
	return union, order
}

// distinct returns an error if two items of a patch's list share a key, unless the plan's rules
// allow it.
func (m *merger) distinct(t *schema.Type, names []patchKey) error {
	if i := secondOf(names); i >= 0 && !m.plan.allowDuplicates {
		m.enter(itemStep(t, names[i].text))
		return errDuplicate
	}
	return nil
}

// noteDuplicates records each merge key that several items of a list share. The first patch that
// reaches the list finds them all. No patch adds a second item of a key, unless the plan's rules
// allow it.
func (m *merger) noteDuplicates(t *schema.Type, names []string, at *node) {
	if at == nil || m.noted[at] {
		return
	}
	if m.noted == nil {
		m.noted = map[*node]bool{}
	}
	m.noted[at] = true
	items := make(map[string]int, len(names))
	for _, name := range names {
		if items[name]++; items[name] == 2 {
			m.notes = append(
				m.notes, Note{Kind: Duplicate, Owner: m.log.layers[baseLayer],
					Path: at.path().Append(itemStep(t, name))})
		}
	}
}
