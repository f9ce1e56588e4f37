package diff

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
)

// PathIndex finds a path among others: the same one, one within it, or one around it. Values are
// indexes.
type PathIndex struct{ at, around map[string]int }

// IndexPaths returns the index of the paths of a list.
func IndexPaths[T any](all []T, path func(T) fieldpath.Path) PathIndex {
	p := PathIndex{map[string]int{}, map[string]int{}}
	for i, of := range slices.Backward(all) { // the first one stays
		own := path(of)
		p.at[own.String()] = i
		for n := range len(own) + 1 {
			p.around[own[:n].String()] = i
		}
	}
	return p
}

// Find returns the index of a path.
func (p PathIndex) Find(path fieldpath.Path) (i int, ok bool) {
	if i, ok = p.around[path.String()]; ok {
		return i, true
	}
	for n := range path {
		if i, ok = p.at[path[:n].String()]; ok {
			return i, true
		}
	}
	return 0, false
}
