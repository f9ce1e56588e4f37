package codes_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCodesAreUsed wants a use of each constant in the program, outside of tests.
func TestCodesAreUsed(t *testing.T) {
	const repository = "../.."
	source, err := os.ReadFile("constants.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	word := regexp.MustCompile(`\b(?:codes\.|finding\.Code)([A-Z]\w*)`)
	own := regexp.MustCompile(`\b[A-Z]\w*`)
	err = filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != repository &&
			(strings.HasPrefix(name, ".") ||
				slices.Contains([]string{"bin", "dist", "fuzz", "node_modules", "testdata"}, name)):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") ||
			strings.HasSuffix(name, "_test.go") || name == "constants.go":
			return nil
		}
		text, err := os.ReadFile(path)
		for _, match := range word.FindAllStringSubmatch(string(text), -1) {
			used[match[1]] = true
		}
		if filepath.Dir(path) == filepath.Join(repository, "render", "codes") {
			for _, name := range own.FindAllString(string(text), -1) {
				used[name] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^\t(\w+) .*= `).FindAllStringSubmatch(string(source), -1)
	if len(names) < 100 {
		t.Errorf("constants.go has %d constants", len(names))
	}
	for _, name := range names {
		if !used[name[1]] {
			t.Errorf("%s is used nowhere", name[1])
		}
	}
}
