package merge

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// of returns the description of a list, or adds one. Patches usually reach the lists in the base's order.
func (f *prependedLists) of(list reflect.Value) *prependedList {
	first, n := list.Pointer(), list.Len()
	for range min(len(f.all), mostSearched) {
		if f.next >= len(f.all) {
			f.next = 0
		}
		f.next++
		if one := &f.all[f.next-1]; one.first == first && one.length == n {
			return one
		}
	}
	f.all = append(f.all, prependedList{first: first, length: n})
	f.next = len(f.all)
	return &f.all[len(f.all)-1]
}

// prependedOf returns the description of a list. It checks the keys once for all patches, unless two items share a key: then it reports
// duplicates.
func (m *merger) prependedOf(t *schema.Type, list reflect.Value, names *keys) (f *prependedList, hasDuplicates bool, err error) {
	f = m.prepended.of(list)
	if f.checked {
		return f, false, nil
	}
	n := list.Len()
	for i := range n {
		name, ok := names.at(i)
		if !ok {
			return nil, false, errNoKey(i, t.Key)
		}
		if n <= smallList {
			hasDuplicates = hasDuplicates || names.find(i, name) >= 0
		}
	}
	if n > smallList {
		f.makeIndex(names, n, 0)
		hasDuplicates = len(f.index) < n
	}
	f.checked = !hasDuplicates
	return f, hasDuplicates, nil
}

// find returns the position of the first of n items with the key, or -1.
func (f *prependedList) find(names *keys, n int, name string) int {
	if f.index == nil {
		return names.find(n, name)
	}
	if fromEnd, found := f.index[name]; found {
		return n - int(fromEnd) - f.back
	}
	return -1
}

// makeIndex indexes a list of n items that is about to get more.
func (f *prependedList) makeIndex(names *keys, n, more int) {
	f.index, f.back = make(map[string]int32, n+more), 0
	for i := n - 1; i >= 0; i-- {
		name, _ := names.at(i)
		f.index[name] = int32(n - i)
	}
}

// prepend puts empty items in front of the list, and sets the targets to the new positions of their items. It expects as many
// new items from each of the remaining patches.
func (f *prependedList) prepend(list reflect.Value, targets []int32, added, remaining int) {
	had := list.Len()
	if added > 0 {
		if f.free < added {
			f.free = max(added, min(added*(1+remaining), max(mostReserved, had)))
			f.memory = reflect.MakeSlice(list.Type(), f.free+had, f.free+had)
			reflect.Copy(f.memory.Slice(f.free, f.free+had), list)
		}
		f.free -= added
		list.Set(f.memory.Slice3(f.free, f.memory.Len(), f.memory.Len()))
		f.first, f.length = list.Pointer(), had+added
	}
	for i, target := range targets {
		switch {
		case target < 0:
			targets[i] = target + int32(had)
		case int(target) < had:
			targets[i] = target + int32(added)
		default:
			targets[i] = target - int32(had)
		}
	}
}

// extend puts empty items behind the list.
func (f *prependedList) extend(list reflect.Value, added int) {
	n := list.Len()
	list.Grow(added)
	list.SetLen(n + added)
	for i := n; i < n+added; i++ {
		list.Index(i).SetZero() // the memory may have been used before
	}
	f.first, f.length, f.back = list.Pointer(), n+added, f.back+added
}

// reorder puts the list, with its new items, into the merged order. It sets the targets to the new positions of their items.
func (m *merger) reorder(f *prependedList, t *schema.Type, list reflect.Value, targets []int32, hasDuplicates bool) {
	n := list.Len()
	named, added := namedOnce(targets, n)
	server, rank := make([]int32, n+added), make([]int32, n+added)
	for i := range server {
		server[i], rank[i] = int32(i), -1
		if i >= n {
			server[i] = -1
		}
	}
	if hasDuplicates {
		first := make(map[string]int32, n)
		names := keysIn(t, list)
		for i := n - 1; i >= 0; i-- {
			name, _ := names.at(i)
			first[name] = int32(i)
		}
		for i := range n {
			name, _ := names.at(i)
			server[i] = first[name]
		}
	}
	for place, i := range named {
		rank[i] = int32(place)
	}
	for i := range n {
		rank[i] = rank[server[i]] // duplicates go together
	}
	ordered := reflect.MakeSlice(list.Type(), n+added, n+added)
	places := make([]int32, n+added)
	for place, i := range arrange(n+added, server, rank) {
		if int(i) < n {
			ordered.Index(place).Set(list.Index(int(i)))
		}
		places[i] = int32(place)
	}
	for i, target := range targets {
		if target < 0 {
			targets[i] = ^places[^target]
		} else {
			targets[i] = places[target]
		}
	}
	list.Set(ordered)
	*f = prependedList{first: list.Pointer(), length: n + added, checked: f.checked}
}

// namedOnce returns the distinct targets in the patch's order. It also counts the targets that are new to the list of n items.
func namedOnce(targets []int32, n int) (named []int32, added int) {
	seen := make(map[int32]bool, len(targets))
	for _, i := range targets {
		i = max(i, ^i)
		if !seen[i] {
			named, seen[i] = append(named, i), true
			if int(i) >= n {
				added++
			}
		}
	}
	return named, added
}

// arrange returns the merged order of n items. Their places in the base's list are in server, their places in the order of the
// patch in rank. A missing item has -1. Items of the patch keep its order, the others the base's. Then both are merged. One of
// the others precedes the patch's next item only if it preceded that item in the base.
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
			return -1 // upstream's comparison of items that neither the base nor the patch's own order names is inconsistent
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

// findTargets finds the position in the list of each patch item and appends it to m.targets. A new item gets a position from
// the list's length on, complemented where the patch first names it. It returns the number of new items in added. It reports in
// inOrder whether the list is in the merged order already, with the new items in front.
func (m *merger) findTargets(t *schema.Type, f *prependedList, base *keys, names []patchKey, have int) (added int, inOrder bool, err error) {
	if f.index == nil && have+len(names) > smallList {
		f.makeIndex(base, have, len(names))
	}
	first, last := len(m.targets), -1
	inOrder = true
	for i := range names {
		name := names[i].text
		if !names[i].ok {
			return 0, false, errNoKey(i, t.Key)
		}
		named := m.targets[first:]
		target := f.find(base, have, name)
		if target < 0 && f.index == nil {
			if duplicate := slices.Index(names[:i], names[i]); duplicate >= 0 {
				target = int(max(named[duplicate], ^named[duplicate]))
			}
		}
		switch {
		case target < 0:
			target = ^(have + added)
			if f.index != nil {
				f.index[name] = int32(-added - f.back) // the place of an item that follows, or a placeholder
			}
			added++
			inOrder = inOrder && last < 0
			f.checked = f.checked && !isEmptyKey(name) // the next patch finds an item without a key
		case target >= have:
		case target > last:
			last = target
		default:
			inOrder = inOrder && slices.Contains(named, int32(target))
		}
		m.targets = append(m.targets, int32(target))
	}
	if f.index != nil && !m.follows {
		for i, target := range m.targets[first:] {
			if target < 0 {
				f.index[names[i].text] = int32(have+added) - (^target - int32(have))
			}
		}
	}
	return added, inOrder, nil
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

// dedupe returns the distinct elements of both lists, and the old list as upstream then sees it. Upstream overwrites a
// duplicate with the last element of all. If the decoder left room behind the old list, this happens within that very list.
// Then an element of the patch can count as an old one. Only an old list with duplicates shows the difference.
func dedupe(old, patch []string) (server, union []string) {
	server = slices.Collect(slices.Values(old)) // element by element, as the decoder does: this decides the room
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
			union, order, seen[element] = append(union, element), append(order, int32(len(order))), true
		}
	}
	return union, order
}

// keysOfPatch returns the keys of the items of a patch's list, which it appends to m.keys.
func (m *merger) keysOfPatch(t *schema.Type, items []any) []patchKey {
	first, of := len(m.keys), keyTypeOf(t)
	for _, item := range items {
		object, _ := item.(Object)
		var name patchKey
		if key := object[t.Key]; key != nil {
			name = patchKey{of.text(key), true}
		}
		m.keys = append(m.keys, name)
	}
	return m.keys[first:]
}

// setKey sets the merge key of a new item.
func (m *merger) setKey(t *schema.Type, item reflect.Value, from Object) error {
	key, value := t.KeyField(), from[t.Key]
	if value == nil {
		return nil
	}
	to, _ := key.Template.In(allocated(item))
	if err := m.read(key.Type, to, value); err != nil {
		return within(fieldpath.Field(t.Key), err)
	}
	return nil
}

// distinct returns an error if two items of a patch's list share a key, unless the plan's rules allow it.
func (m *merger) distinct(t *schema.Type, names []patchKey) error {
	if m.plan.allowDuplicates {
		return nil
	}
	firsts := firstsOf(names)
	for i, name := range names {
		if name.ok && firsts.find(i, name.text) >= 0 {
			return within(itemStep(t, name.text), errDuplicate)
		}
	}
	return nil
}

// noteDuplicates records each merge key that several items of a list share. The first patch that reaches the list finds them
// all. No patch adds a second item of a key, unless the plan's rules allow it.
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
			m.duplicates = append(m.duplicates, list.Append(itemStep(t, name)))
		}
	}
}
