package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestDocuments: the man pages and the completions are there, and a man page names no file that an
// installed program lacks.
func TestDocuments(t *testing.T) {
	folder := t.TempDir()
	if err := documents(folder); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "completions", "trainweld.bash")); err != nil {
		t.Error(err)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "man", "trainweld-*.1"))
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d man pages, %v", len(pages), err)
	}
	lacking := regexp.MustCompile(`(^|[\s(])docs/[a-z0-9-]+\.md`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if name := lacking.FindString(string(text)); name != "" {
			t.Errorf("%s names%s", filepath.Base(page), name)
		}
	}
}
