package strategic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fuzz/origins"
	"github.com/trainweld/trainweld/merge"
)

// TestOrigins: a value that a patch changed, emptied or made is the patch's, and a value that no
// patch changed is the base's.
func TestOrigins(t *testing.T) { ForCases(t, 5_000, NewCase, originsAreWriters) }

func originsAreWriters(m *Case) string {
	result, err := apply(m)
	if err != nil {
		return ""
	}
	patches := map[merge.Owner]any{}
	for i, patch := range m.Patches {
		patches[merge.Manager(fmt.Sprint(i))] = JSON(patch)
	}
	return strings.Join(
		origins.Wrong(types()[m.Type], JSON(m.Base), JSON(result.Value), result.History, patches),
		"\n")
}
