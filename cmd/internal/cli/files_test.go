package cli

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRooms_Files holds the order of the files of large packages: each uses only names of files
// before it. The order and the parts are in testdata/files.txt. The parts strategic and apply of
// the merge do not use each other.
func TestRooms_Files(t *testing.T) {
	text, err := os.ReadFile("testdata/files.txt")
	if err != nil {
		t.Fatal(err)
	}
	type file struct {
		rank int
		part string
	}
	all := map[string]map[string]file{}
	for _, row := range regexp.MustCompile(`(?m)^([\w/]+) (\w+): ([\w ]+)$`).FindAllStringSubmatch(
		string(text), -1) {
		if all[row[1]] == nil {
			all[row[1]] = map[string]file{}
		}
		for _, name := range strings.Fields(row[3]) {
			all[row[1]][name+".go"] = file{len(all[row[1]]), row[2]}
		}
	}
	if len(all) < 3 || len(all["merge"]) < 30 {
		t.Fatalf("%d packages have an order of files, merge one of %d: the test reads the wrong "+
			"text", len(all), len(all["merge"]))
	}
	for folder, files := range all {
		uses := usesOf(t, filepath.Join("../../..", folder))
		if len(uses) != len(files) {
			t.Errorf("%s has %d files, files.txt names %d", folder, len(uses), len(files))
		}
		for from, used := range uses {
			for to, name := range used {
				a, b := files[from], files[to]
				if a.part == "" || b.rank > a.rank || a.part == "apply" && b.part == "strategic" {
					t.Errorf("%s/%s uses %s of %s", folder, from, name, to)
				}
			}
		}
	}
}

// usesOf returns for each file of a package the other files that it uses, with a name that they
// define. It does not read the imports, so it misses what only their types lead to.
func usesOf(t *testing.T, folder string) map[string]map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set, uses := token.NewFileSet(), map[string]map[string]string{}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files, uses[filepath.Base(name)] = append(files, f), map[string]string{}
	}
	found := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{
		Error: func(error) {},
		Importer: importer.ForCompiler(set, "gc", func(string) (io.ReadCloser, error) {
			return nil, errors.New("not read")
		})}
	_, _ = config.Check(folder, set, files, &found) // fails for each import
	arrows := 0
	for at, object := range found.Uses {
		if object.Pkg() == nil || object.Pkg().Path() != folder {
			continue
		}
		if v, ok := object.(*types.Var); ok && !v.IsField() &&
			object.Parent() != object.Pkg().Scope() {
			continue
		}
		from, to := filepath.Base(set.Position(at.Pos()).Filename),
			filepath.Base(set.Position(object.Pos()).Filename)
		if from != to && (uses[from][to] == "" || object.Name() < uses[from][to]) {
			if uses[from][to] == "" {
				arrows++
			}
			uses[from][to] = object.Name()
		}
	}
	if arrows < len(files)-1 {
		t.Errorf("%s has %d arrows between its files: the test looks at the wrong things", folder,
			arrows)
	}
	return uses
}
