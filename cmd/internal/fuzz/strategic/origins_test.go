package strategic_test

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/fuzz"
)

// TestOrigins: a value that a patch changed, emptied or made is the patch's, and a value that no patch changed is the base's.
func TestOrigins(t *testing.T) { forCases(t, 20_000, newMerging, originsAreWriters) }

func originsAreWriters(m *merging) string {
	result, err := apply(m, merge.Options{Owners: true})
	if err != nil {
		return ""
	}
	wrong := fuzz.WrongOrigins(plans()[m.typ].Type(), jsonOf(m.base), jsonOf(result.Value), result.Owners, func(merge.Layer, fieldpath.Path) bool { return true })
	return strings.Join(wrong, "\n")
}
