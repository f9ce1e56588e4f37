package strategic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/internal/origins"
	"github.com/trainweld/trainweld/merge"
)

// TestOrigins: a value that a patch changed, emptied or made is the patch's, and a value that no patch changed is the base's.
func TestOrigins(t *testing.T) { forCases(t, 5_000, newMerging, originsAreWriters) }

func originsAreWriters(m *merging) string {
	result, err := apply(m, merge.Options{Owners: true})
	if err != nil {
		return ""
	}
	patches := map[merge.Owner]any{}
	for i, patch := range m.patches {
		patches[merge.Manager(fmt.Sprint(i))] = jsonOf(patch)
	}
	return strings.Join(origins.Wrong(plans()[m.typ].Type(), jsonOf(m.base), jsonOf(result.Value), result.History, patches), "\n")
}
