package engine

import (
	"cmp"
	"reflect"
	"slices"
	"sort"
	"unsafe"

	"github.com/trainweld/trainweld/schema"
)

// front describes a list-map that patches have reached. New items go in front of a list, as a rule. So there is free memory
// before its first item, also for the items of later patches. A patch costs what it says, and not what the list holds.
type front struct {
	first  uintptr       // the address of the list's first item
	length int           // of the list
	memory reflect.Value // the free items, then the list; invalid where none are free
	room   int           // how many are free
	// index is how far from the end of the list each key stands, which new items in front do not
	// change; nil where looking along the list is as good.
	index map[string]int32
	// checked says that every item of the list has a key of its own.
	checked bool
}

// fronts are those of all lists.
type fronts struct {
	all  []front
	next int // where the one may stand that is looked for next
}

// of returns the front of a list, a new one where it has none. Every patch reaches the lists in the
// base's order, as a rule.
func (f *fronts) of(list reflect.Value) *front {
	first, n := list.Pointer(), list.Len()
	if n > 0 { // an empty list has none that lasts
		for range min(len(f.all), mostFronts) {
			if f.next >= len(f.all) {
				f.next = 0
			}
			f.next++
			if one := &f.all[f.next-1]; one.first == first && one.length == n {
				return one
			}
		}
	}
	f.all = append(f.all, front{first: first, length: n})
	f.next = len(f.all)
	return &f.all[len(f.all)-1]
}

const (
	// mostFronts is how far fronts are looked for. A list whose front is further away gets another one.
	mostFronts = 256
	// smallList is the length up to which looking along a list beats a Go map.
	smallList = 32
	// listRoom and mapRoom are the numbers of items and entries for which room may be made where a list or
	// map is shorter: what the patches name may be there already, and is then no addition.
	listRoom = 64
	mapRoom  = 16
)

// frontOf returns the front of a list. What it knows is kept from patch to patch, unless twins shows that
// two items of the list share a key.
func (m *merger) frontOf(t *schema.Type, list reflect.Value, names *keys) (f *front, twins bool, err error) {
	f = m.fronts.of(list)
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
			twins = twins || names.find(i, name) >= 0
		}
	}
	if n > smallList {
		f.makeIndex(names, n, 0)
		twins = len(f.index) < n
	}
	f.checked = !twins
	return f, twins, nil
}

// find returns the position of the first item of a list of n that has a key, -1 where none has.
func (f *front) find(names *keys, n int, name string) int {
	if f.index == nil {
		return names.find(n, name)
	}
	if fromEnd, found := f.index[name]; found {
		return n - int(fromEnd)
	}
	return -1
}

// makeIndex makes the index of a list of n items that is about to get more.
func (f *front) makeIndex(names *keys, n, more int) {
	f.index = make(map[string]int32, n+more)
	for i := n - 1; i >= 0; i-- {
		name, _ := names.at(i)
		f.index[name] = int32(n - i)
	}
}

// prepend puts empty items in front of the list, and sets the targets to where their items then stand. As
// many new ones are expected from each of the patches that are left.
func (f *front) prepend(list reflect.Value, targets []int32, added, left int) {
	had := list.Len()
	if added > 0 {
		if f.room < added {
			f.room = max(added, min(added*(1+left), max(listRoom, had)))
			f.memory = reflect.MakeSlice(list.Type(), f.room+had, f.room+had)
			reflect.Copy(f.memory.Slice(f.room, f.room+had), list)
		}
		f.room -= added
		setTail(list, f.memory, f.room)
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

// setTail sets an addressable list to the items of another one from a position on. It is list.Set(of.Slice(from, of.Len()))
// without the allocation that reflection makes for a slice.
func setTail(list, of reflect.Value, from int) {
	type slice struct {
		first       unsafe.Pointer
		length, cap int
	}
	n := of.Len() - from
	*(*slice)(unsafe.Pointer(list.UnsafeAddr())) = slice{unsafe.Add(of.UnsafePointer(), uintptr(from)*of.Type().Elem().Size()), n, n}
}

// reorder puts the list, with its new items, into the order in which it merges with the patch's. It sets the targets to the new
// places of their items.
func (m *merger) reorder(f *front, t *schema.Type, list reflect.Value, targets []int32, twins bool) {
	n := list.Len()
	named, added := namedOnce(targets, n)
	server, rank := make([]int32, n+added), make([]int32, n+added)
	for i := range server {
		server[i], rank[i] = int32(i), -1
		if i >= n {
			server[i] = -1
		}
	}
	if twins {
		first := make(map[string]int32, n)
		var names keys
		names.read(t, list, false)
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
		rank[i] = rank[server[i]] // twins go together
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
	*f = front{first: list.Pointer(), length: n + added, checked: !twins}
}

// namedOnce are the targets in the patch's order, each once, and how many of them are new to the list of n.
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

// arrange is the order of n items, of which server has the places in the base's list and rank those in the list that a
// patch orders; -1 where an item is not in it. Items of the patch keep its order, the others that of the base. Both are then
// merged: one of the others goes before the patch's next only where it stood before that one in the base.
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
	if slices.ContainsFunc(others, func(i int32) bool { return server[i] < 0 }) {
		// Items of the patch that its own order, which is empty, does not name: upstream's order of them is no order.
		sort.SliceStable(others, func(i, j int) bool {
			a, b := server[others[i]], server[others[j]]
			return a < 0 || b < 0 || a < b
		})
	} else {
		slices.SortStableFunc(others, func(a, b int32) int { return cmp.Compare(server[a], server[b]) })
	}
	order := make([]int32, 0, n)
	for len(named) > 0 && len(others) > 0 {
		if o, p := server[others[0]], server[named[0]]; o >= 0 && p >= 0 && o < p {
			order, others = append(order, others[0]), others[1:]
		} else {
			order, named = append(order, named[0]), named[1:]
		}
	}
	return append(append(order, named...), others...)
}

// findTargets finds the item that each of the patch's goes to, and pushes it to m.targets: its position in the list. An item that
// is new there has a position from the list's length on, complemented where the patch names it for the first time. It returns how
// many are new. inOrder reports whether the order of the list is the merged one, with the new ones in front.
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

// ranks are the places that elements have in a list, -1 where they are not in it.
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
