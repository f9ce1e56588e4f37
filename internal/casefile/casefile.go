// Package casefile unpacks test cases, which are archives in the format of txtar: a comment, and
// then files, each behind a line "-- NAME --". Only tests import it. The core requires no module
// for the format, since a program that links the core would require it too.
//
// Its first file to read is casefile.go.
package casefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const extension = ".txtar"

// Archive is an archive in a file.
type Archive struct {
	// File is the path of the archive itself.
	File    string
	Comment []byte
	Files   []File
}

// File is a file in an archive.
type File struct {
	Name string
	Data []byte
}

// Text returns the text of a file in the archive, or nil if it has none of this name.
func (a Archive) Text(name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// Name returns the name of the archive's file without its extension.
func (a Archive) Name() string { return strings.TrimSuffix(filepath.Base(a.File), extension) }

// Read reads the archives whose files match a pattern, in the order of their names. It fails the
// test if there is none.
func Read(t testing.TB, pattern string) []Archive {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s names no archives: %v", pattern, err)
	}
	var all []Archive
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parse(file, text))
	}
	return all
}

// parse splits the text of an archive. A file that does not end with a line break gets one.
func parse(file string, text []byte) Archive {
	archive := Archive{File: file}
	into := &archive.Comment
	for _, line := range bytes.SplitAfter(text, []byte("\n")) {
		if name := nameOf(line); name != "" {
			archive.Files = append(archive.Files, File{Name: name, Data: []byte{}})
			into = &archive.Files[len(archive.Files)-1].Data
			continue
		}
		*into = append(*into, line...)
		if len(line) > 0 && !bytes.HasSuffix(line, []byte("\n")) {
			*into = append(*into, '\n')
		}
	}
	return archive
}

// nameOf returns the name of the file that begins behind a line, or "".
func nameOf(line []byte) string {
	text, isMark := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("-- "))
	if text, ends := bytes.CutSuffix(text, []byte(" --")); isMark && ends {
		return string(bytes.TrimSpace(text))
	}
	return ""
}

// Unpack extracts each archive NAME.txtar in dir to a folder NAME, and returns the parent of these
// folders. The test removes the folders at its end. Unpack fails the test if dir holds no archive.
func Unpack(t testing.TB, dir string) string {
	t.Helper()
	root := t.TempDir()
	for _, archive := range Read(t, filepath.Join(dir, "*"+extension)) {
		archive.write(t, filepath.Join(root, archive.Name()), nil)
	}
	return root
}

// UnpackGroups is Unpack for archives of several cases each, whose files have the name of their
// case in front.
func UnpackGroups(t testing.TB, dir string) string {
	t.Helper()
	root := t.TempDir()
	for _, archive := range Read(t, filepath.Join(dir, "*"+extension)) {
		archive.write(t, root, nil)
	}
	return root
}

// Shared is UnpackGroups for tests that only read: all tests of a module use one set of folders in
// its bin/cases, which stays. If files of the cases are named, it extracts only those. Writing
// thousands of small files takes longer than most of these tests.
func Shared(t testing.TB, dir string, only ...string) string {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(dir, "*"+extension))
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%q\n", only)
	for _, file := range archives {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(hash, "%s %x\n", filepath.Base(file), sha256.Sum256(text))
	}
	parent := filepath.Join(moduleRoot(t, dir), "bin", "cases")
	shared := filepath.Join(parent, hex.EncodeToString(hash.Sum(nil)[:8]))
	if _, err := os.Stat(shared); err == nil {
		return shared
	}
	if err := os.MkdirAll(parent, 0o777); err != nil {
		t.Fatal(err)
	}
	// Another process may unpack the same cases. The one that renames its folder first is as good
	// as any other.
	own, err := os.MkdirTemp(parent, "new-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(own)
	if err := os.Chmod(own, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, archive := range Read(t, filepath.Join(dir, "*"+extension)) {
		archive.write(t, own, only)
	}
	if err := os.Rename(own, shared); err != nil {
		if _, missing := os.Stat(shared); missing != nil {
			t.Fatal(err)
		}
	}
	return shared
}

// moduleRoot returns the folder at or above dir that has a go.mod.
func moduleRoot(t testing.TB, dir string) string {
	t.Helper()
	folder, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		if folder == filepath.Dir(folder) {
			t.Fatalf("%s is in no module", dir)
		}
		folder = filepath.Dir(folder)
	}
}

// write extracts the files of an archive, or those of its cases that only names.
func (a Archive) write(t testing.TB, folder string, only []string) {
	t.Helper()
	for _, f := range a.Files {
		if _, name, _ := strings.Cut(f.Name, "/"); only != nil && !slices.Contains(only, name) {
			continue
		}
		path := filepath.Join(folder, filepath.FromSlash(f.Name))
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			t.Fatalf("%s: %q is outside of the folder", a.File, f.Name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
