package output

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
)

// TestSpool wants every text back, whether it is in memory or in the file, and no file of that name left.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	s := Spool{limit: 100}
	var at []Section
	text := func(i int) string { return strings.Repeat(fmt.Sprint(i), i%9) }
	for i := range 100 {
		section, err := s.Add([]byte(text(i)))
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, section)
	}
	if len(s.memory) > s.limit || s.size == 0 {
		t.Errorf("%d bytes in memory and %d in the file, with a limit of %d", len(s.memory), s.size, s.limit)
	}
	for i := range at {
		if got, err := s.Text(at[i]); err != nil || string(got) != text(i) {
			t.Errorf("text %d is %q, %v; want %q", i, got, err, text(i))
		}
	}
	s.Close()
	if left := testenv.Tree(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestSpoolWithoutRoom wants an error that says what to do.
func TestSpoolWithoutRoom(t *testing.T) {
	t.Setenv("TMPDIR", "/nowhere/at/all")
	t.Setenv("TMP", "/nowhere/at/all")
	s := Spool{limit: 1}
	if _, err := s.Add([]byte("text")); err == nil || !strings.Contains(err.Error(), "let TMPDIR name a directory with room") {
		t.Errorf("%v", err)
	}
}
