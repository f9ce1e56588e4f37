package engine

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/schema"
)

// front is what the merge knows of a list-map that patches have reached. New items go in front of a
// list, as a rule, so there is free memory before its first item, for those of later patches too. So a
// patch costs what it says, and not what the list holds.
type front struct {
	memory reflect.Value // the free items, then the list
	first  uintptr       // the address of the list's first item
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
		for range f.all {
			if f.next >= len(f.all) {
				f.next = 0
			}
			f.next++
			if one := &f.all[f.next-1]; one.first == first && one.memory.Len()-one.room == n && one.memory.Type() == list.Type() {
				return one
			}
		}
	}
	f.all = append(f.all, front{memory: list.Slice(0, n), first: first})
	f.next = len(f.all)
	return &f.all[len(f.all)-1]
}

const (
	// smallList is the length up to which looking along a list beats a Go map.
	smallList = 32
	// listRoom and mapRoom are the numbers of items and entries for which room may be made where a list or
	// map is shorter: what the patches name may be there already, and is then no addition.
	listRoom = 64
	mapRoom  = 16
)

// frontOf returns the front of a list. What it knows is kept from patch to patch, unless twins shows that
// two items of the list share a key.
func (m *merger) frontOf(t *schema.Type, list reflect.Value) (f *front, twins bool, err error) {
	f = m.fronts.of(list)
	if f.checked {
		return f, false, nil
	}
	n := list.Len()
	for i := range n {
		name, ok := itemName(t, list, i)
		if !ok {
			return nil, false, errNoKey(i, t.Key)
		}
		if n <= smallList {
			twins = twins || position(t, list, i, name) >= 0
		}
	}
	if n > smallList {
		f.makeIndex(t, list, 0)
		twins = len(f.index) < n
	}
	f.checked = !twins
	return f, twins, nil
}

// itemName is the merge key of an item of the base, and whether its encoding has one.
func itemName(t *schema.Type, list reflect.Value, i int) (string, bool) {
	key, item := t.KeyField(), list.Index(i)
	if item.Kind() == reflect.Pointer {
		item = item.Elem()
	}
	if key == nil || !item.IsValid() {
		return "", false
	}
	return keyOf(&key.Template, item)
}

// position returns the position of the first of the list's n items that has a key, -1 where none has.
func position(t *schema.Type, list reflect.Value, n int, name string) int {
	for i := range n {
		if other, _ := itemName(t, list, i); other == name {
			return i
		}
	}
	return -1
}

// find returns the position of the first item that has a key, -1 where none has.
func (f *front) find(t *schema.Type, list reflect.Value, name string) int {
	if f.index == nil {
		return position(t, list, list.Len(), name)
	}
	if fromEnd, found := f.index[name]; found {
		return list.Len() - int(fromEnd)
	}
	return -1
}

// makeIndex makes the index of a list that is about to get more items.
func (f *front) makeIndex(t *schema.Type, list reflect.Value, more int) {
	n := list.Len()
	f.index = make(map[string]int32, n+more)
	for i := n - 1; i >= 0; i-- {
		name, _ := itemName(t, list, i)
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
		list.Set(f.memory.Slice(f.room, f.memory.Len()))
		f.first = list.Pointer()
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

// reorder puts the list, with its new items, into the order in which it merges with the patch's, and sets
// the targets to where their items then stand.
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
		for i := n - 1; i >= 0; i-- {
			name, _ := itemName(t, list, i)
			first[name] = int32(i)
		}
		for i := range n {
			name, _ := itemName(t, list, i)
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
	*f = front{memory: list.Slice(0, n+added), first: list.Pointer(), checked: !twins}
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
	slices.SortStableFunc(others, func(a, b int32) int { return cmp.Compare(server[a], server[b]) })
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
