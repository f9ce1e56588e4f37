package workspace

import (
	"testing"

	"github.com/trainweld/trainweld/render/manifest"
)

// TestAliases wants one limit of aliases for all files together. Files without aliases are read
// beyond the limit.
func TestAliases(t *testing.T) {
	var run aliases
	text := []byte("a: &a [x]\nb: *a\nkind: A\napiVersion: v1\n")
	for i, tc := range []struct {
		expanded int
		rejected bool
	}{{manifest.MaxExpanded / 2, false}, {0, false}, {manifest.MaxExpanded / 2, false}, {1, true},
		{0, false}} {
		if got := run.limit(Decoded{file: "a", expanded: tc.expanded}); (got.Findings != nil) != tc.rejected {
			t.Errorf("file %d: got %v, want it refused: %t", i, got.Findings, tc.rejected)
		}
	}
	if got := run.limit(
		run.decode(New(Flags{}).Documents, "b", text, true)); got.Documents != nil ||
		got.Findings == nil {
		t.Errorf("a file with aliases is read beyond the limit: %v", got.Findings)
	}
	if got := run.limit(
		run.decode(New(Flags{}).Documents, "c", []byte("kind: A\napiVersion: v1\n"), true)); len(
		got.Documents) != 1 {
		t.Errorf("a file without aliases is not read: %v", got.Findings)
	}
	var fresh aliases
	if got := fresh.limit(fresh.decode(New(Flags{}).Documents, "b", text, true)); len(
		got.Documents) != 1 || got.expanded == 0 {
		t.Errorf("a file with aliases is not read, or not counted: %v", got)
	}
}
