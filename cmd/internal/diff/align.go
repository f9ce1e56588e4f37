package diff

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// pair is an item of one or both lists, with its positions.
type pair struct {
	step     fieldpath.Step
	old, new int  // NoItem if the list lacks it
	moved    bool // the item has another position among the common items of both lists
}

// align matches the items of two lists by their keys, or returns nil if they are not unique in each
// list. The pairs have the order of the new list. Removed items precede new items in the same place.
func align(t *schema.Type, oldItems, newItems []any) []pair {
	old, new := itemSteps(t, oldItems), itemSteps(t, newItems)
	if old == nil || new == nil {
		return nil
	}
	inOld, inNew := indexByKey(old), indexByKey(new)
	var common []int // positions in the old list, in the new list's order
	for _, key := range new {
		if i, ok := inOld[key]; ok {
			common = append(common, i)
		}
	}
	pairs := make([]pair, 0, max(len(old), len(new)))
	i, j := 0, 0
	upTo := func(oldEnd, newEnd int) {
		for ; i < oldEnd; i++ {
			if _, moved := inNew[old[i]]; !moved {
				pairs = append(pairs, pair{step: old[i], old: i, new: NoItem})
			}
		}
		for ; j < newEnd; j++ {
			from, moved := inOld[new[j]]
			if !moved {
				from = NoItem
			}
			pairs = append(pairs, pair{step: new[j], old: from, new: j, moved: moved})
		}
	}
	for _, at := range longestIncreasing(common) {
		upTo(at, inNew[old[at]])
		pairs = append(pairs, pair{step: old[at], old: at, new: j})
		i, j = i+1, j+1
	}
	upTo(len(old), len(new))
	return pairs
}

func indexByKey(keys []fieldpath.Step) map[fieldpath.Step]int {
	at := make(map[fieldpath.Step]int, len(keys))
	for i, key := range keys {
		at[key] = i
	}
	return at
}

// longestIncreasing returns a longest increasing subsequence. The result is deterministic.
func longestIncreasing(numbers []int) []int {
	previous := make([]int, len(numbers))
	var ends []int // for each length, the end of the subsequence with the smallest last number
	for i, n := range numbers {
		length, _ := slices.BinarySearchFunc(ends, n, func(end, n int) int {
			return numbers[end] - n
		})
		previous[i] = -1
		if length > 0 {
			previous[i] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, i)
		} else {
			ends[length] = i
		}
	}
	rising := make([]int, len(ends))
	if len(ends) > 0 {
		at := ends[len(ends)-1]
		for i := len(ends) - 1; i >= 0; i-- {
			rising[i], at = numbers[at], previous[at]
		}
	}
	return rising
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
