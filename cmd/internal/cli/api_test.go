package cli

import (
	"bytes"
	"flag"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/api and docs/json")

// promised are the packages that docs/library.md promises.
var promised = []string{"fieldpath", "schema", "merge", "finding", "conflict", "render",
	"render/codes", "render/release", "render/runtimepatch", "render/check", "render/legacy",
	"render/manifest", "render/explain", "render/policy", "render/admission"}

// TestAPI holds the exported declarations of each package that is promised against docs/api. A
// change of them is a change of that text: go test ./cmd/internal/cli -run TestAPI -update
func TestAPI(t *testing.T) {
	for _, name := range promised {
		got := exportedAPI(t, filepath.Join(repository, filepath.FromSlash(name)))
		file := filepath.Join(repository, "docs", "api", strings.ReplaceAll(name, "/", "-")+".txt")
		if *update {
			if err := os.WriteFile(file, got, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(strings.Split(string(want), "\n"),
			strings.Split(string(got), "\n")); diff != "" {
			t.Errorf("the API of %s has changed (-docs/api +source): is it meant, and is it in "+
				"the changelog? Then run with -update\n%s", name, diff)
		}
	}
}

// TestAPI_Others holds that a package that other programs can import, and that is not promised,
// says so in the first line of its comment. At most six are so: others are internal to their
// module.
func TestAPI_Others(t *testing.T) {
	var others []string
	for _, name := range library {
		if slices.Contains(promised, name) || strings.Contains("/"+name+"/", "/internal/") {
			continue
		}
		others = append(others, name)
		said := false
		files, err := filepath.Glob(filepath.Join(repository, filepath.FromSlash(name), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				said = said || strings.HasPrefix(line, "// Package ") &&
					strings.Contains(line, ", which is not promised,")
			}
		}
		if !said {
			t.Errorf("package %s can be imported, and its first line says not that it is not "+
				"promised", name)
		}
	}
	if len(others) > 6 {
		t.Errorf("%d packages can be imported, and are not promised: %q", len(others), others)
	}
}

// exportedAPI returns the exported declarations of a package in the order of go doc, without
// comments and bodies.
func exportedAPI(t *testing.T, folder string) []byte {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != folder:
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		files = append(files, file)
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	pkg, err := doc.NewFromFiles(fset, files, folder)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	out.WriteString("package " + pkg.Name + "\n")
	values := func(all []*doc.Value) {
		for _, v := range all {
			declaration(t, &out, fset, v.Decl)
		}
	}
	functions := func(all []*doc.Func) {
		for _, f := range all {
			declaration(t, &out, fset, f.Decl)
		}
	}
	values(pkg.Consts)
	values(pkg.Vars)
	functions(pkg.Funcs)
	for _, of := range pkg.Types {
		declaration(t, &out, fset, of.Decl)
		values(of.Consts)
		values(of.Vars)
		functions(of.Funcs)
		functions(of.Methods)
	}
	return out.Bytes()
}

// declaration writes a declaration after an empty line.
func declaration(t *testing.T, out *bytes.Buffer, fset *token.FileSet, decl ast.Decl) {
	t.Helper()
	out.WriteByte('\n')
	if err := format.Node(out, fset, decl); err != nil {
		t.Fatal(err)
	}
	out.WriteByte('\n')
}
