package diff

import (
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// pair is an item of one or both lists, with its positions.
type pair struct {
	step     fieldpath.Step
	old, new int // NoItem if the list lacks it
	// moved means that the item has another position among the common items of both lists. It then
	// has two pairs. One has its old place, without a new position. The other has its new place
	// with both positions.
	moved bool
}

// align matches the items of two lists by their keys, or returns nil if they are not unique in each
// list. The order of the pairs contains the orders of both lists. Removed items, and old places of
// moved items, precede new items in the same place.
func align(t *schema.Type, oldItems, newItems []any) []pair {
	old, new := itemSteps(t, oldItems), itemSteps(t, newItems)
	if old == nil || new == nil {
		return nil
	}
	inOld, inNew := indexByKey(old), indexByKey(new)
	pairs := common(old, new)
	for i := range pairs {
		switch p := &pairs[i]; {
		case p.new == NoItem:
			p.step = old[p.old]
			_, p.moved = inNew[p.step]
		case p.old == NoItem:
			p.step = new[p.new]
			if p.old, p.moved = inOld[p.step]; !p.moved {
				p.old = NoItem
			}
		default:
			p.step = old[p.old]
		}
	}
	return pairs
}

func indexByKey(keys []fieldpath.Step) map[fieldpath.Step]int {
	at := make(map[fieldpath.Step]int, len(keys))
	for i, key := range keys {
		at[key] = i
	}
	return at
}

// itemSteps returns the steps to a list's items, or nil if an item has none or the one of another
// item. It returns an empty slice for an empty list.
func itemSteps(t *schema.Type, items []any) []fieldpath.Step {
	keys := make([]fieldpath.Step, len(items))
	seen := make(map[fieldpath.Step]bool, len(items))
	for i, item := range items {
		step, ok := t.Item(item)
		if !ok || seen[step] {
			return nil
		}
		keys[i], seen[step] = step, true
	}
	return keys
}

// mostCells is the maximum size of the table for comparing lists. In a larger one, all values
// between the common start and end count as replaced, or as moved.
const mostCells = 1 << 20

// common matches as many equal values of two lists as possible without changing their order. Of the
// values between two matches, the old ones come first.
func common[T comparable](old, new []T) []pair {
	head := 0
	for head < len(old) && head < len(new) && old[head] == new[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(new)-head &&
		old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	a, b := old[head:len(old)-tail], new[head:len(new)-tail]
	if (len(a)+1)*(len(b)+1) > mostCells {
		a, b = nil, nil
	}
	// longest[i][j] is the length of the longest match of a[i:] with b[j:].
	longest := make([][]int32, len(a)+1)
	for i := range longest {
		longest[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	pairs := make([]pair, 0, max(len(old), len(new)))
	for i := range head {
		pairs = append(pairs, pair{old: i, new: i})
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			pairs = append(pairs, pair{old: head + i, new: head + j})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			pairs = append(pairs, pair{old: head + i, new: NoItem})
			i++
		default:
			pairs = append(pairs, pair{old: NoItem, new: head + j})
			j++
		}
	}
	for k := head + i; k < len(old)-tail; k++ {
		pairs = append(pairs, pair{old: k, new: NoItem})
	}
	for k := head + j; k < len(new)-tail; k++ {
		pairs = append(pairs, pair{old: NoItem, new: k})
	}
	for k := tail; k > 0; k-- {
		pairs = append(pairs, pair{old: len(old) - k, new: len(new) - k})
	}
	return pairs
}
