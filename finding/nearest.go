package finding

import "strings"

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

// IsClear reports whether no other candidate is as near to name as near is.
func IsClear(name, near string, candidates []string) bool {
	if strings.EqualFold(name, near) {
		return true
	}
	least := distance(name, near)
	for _, candidate := range candidates {
		if candidate != near && distance(name, candidate) <= least {
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
