// Package nearest, which is not promised, finds the name that a person meant.
//
//	if near := nearest.To(name, names); near != "" {
//		fmt.Printf("did you mean %q?", near)
//	}
package nearest

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// To returns the candidate that a person most likely meant by name, or "" if none is near. A near
// candidate differs only in case, or by few edits for its length. Among equals the first wins.
func To(name string, candidates []string) string {
	best, least := "", 1+max(1, len(name)/3)
	for _, candidate := range candidates {
		if strings.EqualFold(candidate, name) {
			return candidate
		}
		if d := distance(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// Within reports whether two names differ by so many edits at most. An edit adds, removes or
// changes a letter, or swaps two neighbors.
func Within(a, b string, edits int) bool {
	// Each edit changes the length by four bytes at most, so long names need no comparison.
	return max(len(a)-len(b), len(b)-len(a)) <= edits*utf8.UTFMax && distance(a, b) <= edits
}

// Any reports whether one of the names is a candidate, or near one.
func Any(names, candidates []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return To(name, candidates) != "" })
}

// Names is a list of names that may be long. The zero value is an empty list. It never changes, and
// many goroutines may use it.
type Names struct {
	forward, backward []sortedName
}

// sortedName is a name with the key that sorts it: its lower-case letters, read forward or
// backward.
type sortedName struct {
	key, name string
	index     int
}

// NewNames returns the list of the given names. Equal names count once.
func NewNames(names []string) Names {
	var n Names
	for i, name := range names {
		key := strings.ToLower(name)
		n.forward = append(n.forward, sortedName{key, name, i})
	}
	slices.SortFunc(n.forward, compareSorted)
	n.forward = slices.CompactFunc(n.forward, func(a, b sortedName) bool {
		return a.name == b.name
	})
	for _, s := range n.forward {
		n.backward = append(n.backward, sortedName{reversed(s.key), s.name, s.index})
	}
	slices.SortFunc(n.backward, compareSorted)
	return n
}

func compareSorted(a, b sortedName) int {
	return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.name, b.name),
		cmp.Compare(a.index, b.index))
}

func reversed(text string) string {
	runes := []rune(text)
	slices.Reverse(runes)
	return string(runes)
}

// Len returns the number of different names.
func (n Names) Len() int { return len(n.forward) }

// IsLong reports whether Around returns a part of the names only. No repair that depends on the
// other names is then certain.
func (n Names) IsLong() bool { return len(n.forward) > maxAround }

// maxAround is the number of names that Around compares. One comparison takes as long as one with
// each letter of both names.
const maxAround = 32

// Around returns the names that are nearest to a name. The nearest come first, and equally near
// ones keep the given order. In a long list it compares only names with the same beginning or end.
// So its work does not grow with the list.
func (n Names) Around(name string) []string {
	near := n.forward
	if n.IsLong() {
		key := strings.ToLower(name)
		near = slices.Concat(window(n.forward, key), window(n.backward, reversed(key)))
	}
	type candidate struct {
		sortedName
		distance int
	}
	var candidates []candidate
	for _, s := range near {
		d := distance(name, s.name)
		if strings.EqualFold(name, s.name) {
			d = 0
		}
		candidates = append(candidates, candidate{s, d})
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.index, b.index))
	})
	candidates = slices.CompactFunc(candidates, func(a, b candidate) bool {
		return a.index == b.index
	})
	names := make([]string, len(candidates))
	for i, c := range candidates {
		names[i] = c.name
	}
	return names
}

// window returns the names around the place of a key.
func window(names []sortedName, key string) []sortedName {
	const each = maxAround / 4
	i, _ := slices.BinarySearchFunc(names, key, func(s sortedName, key string) int {
		return strings.Compare(s.key, key)
	})
	return names[max(0, i-each):min(len(names), i+each)]
}

// IsClear reports whether name is a misspelling of near. No other candidate may be as near. The two
// must not differ in a number or in a word of one or two letters. So node-a is not a misspelling of
// node-b.
func IsClear(name, near string, candidates []string) bool {
	if strings.EqualFold(name, near) {
		return true
	}
	if !isMisspelling(name, near) {
		return false
	}
	least := distance(name, near)
	for _, candidate := range candidates {
		if candidate != near && distance(name, candidate) <= least {
			return false
		}
	}
	return true
}

func isMisspelling(name, near string) bool {
	const shortest = 3
	digits := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return r
			}
			return -1
		}, text)
	}
	words := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
	}
	if digits(name) != digits(near) {
		return false
	}
	of, other := words(name), words(near)
	for i := range of {
		if len(of) == len(other) && of[i] != other[i] && min(len(of[i]), len(other[i])) < shortest {
			return false
		}
	}
	return true
}

// distance returns the number of single-character edits from a to b, including swaps of neighbors.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, now := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		now[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			now[j+1] = min(last[j+1]+1, now[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(y)]
}
