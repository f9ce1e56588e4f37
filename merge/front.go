package merge

import (
	"cmp"
	"slices"

	"github.com/trainweld/trainweld/schema"
)

// front is what the merge knows of a list-map that patches have reached. New items go in front of a
// list, as a rule, so there is free memory before its first item, for those of later patches too. So a
// patch costs what it says, and not what the list holds.
type front[T any] struct {
	memory []T // the free items, then the list
	room   int // how many are free
	// index is how far from the end of the list each key stands, which new items in front do not
	// change; nil where looking along the list is as good.
	index map[string]int32
	// checked says that every item of the list has a key of its own.
	checked bool
}

// fronts are those of all lists of one kind of items.
type fronts[T any] struct {
	all  []front[T]
	next int // where the one may stand that is looked for next
}

func (f *fronts[T]) add(one front[T]) *front[T] {
	if f.all == nil {
		f.all = make([]front[T], 0, 4)
	}
	f.all = append(f.all, one)
	return &f.all[len(f.all)-1]
}

// of returns the front of a list, a new one where it has none. Every patch reaches the lists in the
// template's order, as a rule, and they were copied in that order, too.
func (f *fronts[T]) of(list []T) *front[T] {
	for range f.all {
		if f.next >= len(f.all) {
			f.next = 0
		}
		f.next++
		if one := &f.all[f.next-1]; one.isOf(list) {
			return one
		}
	}
	return f.add(front[T]{memory: list})
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
func frontOf[T, P any](kind *itemKind[T, P], t *schema.Type, fronts *fronts[T], list []T) (f *front[T], twins bool, err error) {
	f = fronts.of(list)
	if f.checked {
		return f, false, nil
	}
	for i := range list {
		name := *kind.key(&list[i])
		if !isKey(t.KeyField().Template, name) {
			return nil, false, errNoKey(i, t.Key)
		}
		if len(list) <= smallList {
			twins = twins || f.find(kind.key, list[:i], name) >= 0
		}
	}
	if len(list) > smallList {
		f.makeIndex(kind.key, list, 0)
		twins = len(f.index) < len(list)
	}
	f.checked = !twins
	return f, twins, nil
}

// isOf reports whether the front is the list's. An empty list has none that lasts.
func (f *front[T]) isOf(list []T) bool {
	return len(list) > 0 && len(list) == len(f.memory)-f.room && &list[0] == &f.memory[f.room]
}

// find returns the position of the first item that has a key, -1 where none has.
func (f *front[T]) find(key func(*T) *string, list []T, name string) int {
	if f.index == nil {
		return position(key, list, name)
	}
	if fromEnd, found := f.index[name]; found {
		return len(list) - int(fromEnd)
	}
	return -1
}

// makeIndex makes the index of a list that is about to get more items.
func (f *front[T]) makeIndex(key func(*T) *string, list []T, more int) {
	f.index = make(map[string]int32, len(list)+more)
	for i := len(list) - 1; i >= 0; i-- {
		f.index[*key(&list[i])] = int32(len(list) - i)
	}
}

// prepend puts empty items in front of the list, and sets the targets to where their items then stand. As
// many new ones are expected from each of the patches that are left.
func (f *front[T]) prepend(list *[]T, targets []int32, added, left int) {
	had := len(*list)
	if f.room < added {
		f.room = max(added, min(added*(1+left), max(listRoom, had)))
		f.memory = make([]T, f.room+had)
		copy(f.memory[f.room:], *list)
	}
	f.room -= added
	*list = f.memory[f.room:]
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
func (f *front[T]) reorder(list *[]T, targets []int32, key func(*T) *string, twins bool) {
	order := mergedOrder(len(*list), targets)
	if twins {
		order = orderWithTwins(key, *list, targets)
	}
	ordered, places := make([]T, len(order)), make([]int32, len(order))
	for place, i := range order {
		if int(i) < len(*list) {
			ordered[place] = (*list)[i]
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
	*list, *f = ordered, front[T]{memory: ordered, checked: !twins}
}

// mergedOrder merges the n items of a list with those that a patch names, in its order. An item that the
// patch does not name goes first only where it stood before the next named one. A new item stood
// nowhere, so it goes before all others that are left.
func mergedOrder(n int, targets []int32) []int32 {
	named := namedOnce(targets)
	isNamed := make([]bool, n)
	for _, i := range named {
		if int(i) < n {
			isNamed[i] = true
		}
	}
	order, next := make([]int32, 0, n+len(named)), 0
	othersBefore := func(end int) {
		for ; next < end; next++ {
			if !isNamed[next] {
				order = append(order, int32(next))
			}
		}
	}
	for _, i := range named {
		if int(i) < n {
			othersBefore(int(i))
		}
		order = append(order, i)
	}
	othersBefore(n)
	return order
}

// namedOnce are the targets in the patch's order, each once.
func namedOnce(targets []int32) []int32 {
	named, seen := make([]int32, 0, len(targets)), make(map[int32]bool, len(targets))
	for _, i := range targets {
		i = max(i, ^i)
		if !seen[i] {
			named, seen[i] = append(named, i), true
		}
	}
	return named
}

// orderWithTwins is mergedOrder for a template's list in which items share keys. The API server refuses
// such a list, but upstream's merge orders it all the same: twins go together.
func orderWithTwins[T any](key func(*T) *string, list []T, targets []int32) []int32 {
	first := make([]int32, len(list))
	var others, named, merged []int32
	for i := range list {
		first[i] = int32(position(key, list, *key(&list[i])))
		if !slices.Contains(targets, first[i]) {
			others = append(others, int32(i))
		}
	}
	slices.SortStableFunc(others, func(a, b int32) int { return cmp.Compare(first[a], first[b]) })
	for _, target := range namedOnce(targets) {
		if int(target) >= len(list) {
			named = append(named, target)
		}
		for i := range list {
			if first[i] == target {
				named = append(named, int32(i))
			}
		}
	}
	for len(others) > 0 && len(named) > 0 {
		if int(named[0]) < len(list) && first[others[0]] < first[named[0]] {
			merged, others = append(merged, others[0]), others[1:]
		} else {
			merged, named = append(merged, named[0]), named[1:]
		}
	}
	return append(append(merged, others...), named...)
}
