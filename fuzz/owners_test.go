package fuzz_test

import (
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// within says whether any leaf stands below the path.
func within(set leaves, path fieldpath.Path) bool {
	for _, l := range set {
		if len(l.path) > len(path) && l.path.HasPrefix(path) {
			return true
		}
	}
	return false
}

// valueOf is a claim's value as leaves have it.
func valueOf(c merge.Claim) string {
	if _, ok := c.Value.(merge.Presence); ok {
		return present
	}
	if object, ok := c.Value.(merge.Object); ok && len(object) == 0 {
		return present // what a patch left of an object
	}
	return canonical(c.Value)
}
