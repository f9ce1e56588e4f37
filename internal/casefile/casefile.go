// Package casefile unpacks test cases. Only tests import it.
package casefile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

const extension = ".txtar"

// Unpack extracts each archive NAME.txtar in dir to a folder NAME, and returns the parent of these folders. If files are named,
// it extracts only those. The test removes the folders at its end. Unpack fails the test if dir holds no archive.
func Unpack(t testing.TB, dir string, only ...string) string {
	t.Helper()
	return unpack(t, dir, func(name string, archive *txtar.Archive) string {
		archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return len(only) > 0 && !slices.Contains(only, f.Name) })
		return name
	})
}

// UnpackGroups is Unpack for archives of several cases each, whose files have the name of their case in front.
func UnpackGroups(t testing.TB, dir string, only ...string) string {
	t.Helper()
	return unpack(t, dir, func(_ string, archive *txtar.Archive) string {
		archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool {
			_, name, _ := strings.Cut(f.Name, "/")
			return len(only) > 0 && !slices.Contains(only, name)
		})
		return "."
	})
}

// unpack extracts each archive to the folder that into returns for its name.
func unpack(t testing.TB, dir string, into func(name string, archive *txtar.Archive) string) string {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(dir, "*"+extension))
	if err != nil || len(archives) == 0 {
		t.Fatalf("%s has no cases: %v", dir, err)
	}
	root := t.TempDir()
	for _, file := range archives {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(root, into(strings.TrimSuffix(filepath.Base(file), extension), archive))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := txtar.Write(archive, folder); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return root
}
