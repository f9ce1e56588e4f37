package finding

import (
	"strings"
	"unicode"
)

// Nearest returns the candidate that a person most likely meant by name, or "" if none is near. A near candidate differs only
// in case, or by few edits for its length. Among equals the first wins.
func Nearest(name string, candidates []string) string {
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

// IsClear reports whether name is a misspelling of near: no other candidate is as near, and the two do not differ in a number or in a
// word of one or two letters, as node-a and node-b do.
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
		return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
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
