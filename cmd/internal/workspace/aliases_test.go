package workspace

import (
	"testing"

	"github.com/trainweld/trainweld/render/manifest"
)

// TestAliases wants one limit of aliases for all files together. Files without aliases are read
// beyond the limit.
func TestAliases(t *testing.T) {
	run := New(Flags{}).Documents
	text := []byte("a: &a [x]\nb: *a\nkind: A\napiVersion: v1\n")
	for i, tc := range []struct {
		expanded int
		rejected bool
	}{{manifest.MaxExpanded / 2, false}, {0, false}, {manifest.MaxExpanded / 2, false}, {1, true},
		{0, false}} {
		if got := run.count(Decoded{file: "a", expanded: tc.expanded}); (got.Findings != nil) != tc.rejected {
			t.Errorf("file %d: got %v, want it refused: %t", i, got.Findings, tc.rejected)
		}
	}
	if got := run.count(
		run.decode("b", text, true)); got.Documents != nil ||
		got.Findings == nil {
		t.Errorf("a file with aliases is read beyond the limit: %v", got.Findings)
	}
	if got := run.count(
		run.decode("c", []byte("kind: A\napiVersion: v1\n"), true)); len(
		got.Documents) != 1 {
		t.Errorf("a file without aliases is not read: %v", got.Findings)
	}
	fresh := New(Flags{}).Documents
	if got := fresh.count(fresh.decode("b", text, true)); len(
		got.Documents) != 1 || got.expanded == 0 {
		t.Errorf("a file with aliases is not read, or not counted: %v", got)
	}
}
