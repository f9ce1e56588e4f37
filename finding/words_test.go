package finding_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const repository = ".."

// ofCommandLine matches a flag, and a command of trainweld.
var ofCommandLine = regexp.MustCompile(
	`(^|[^\w-])--[a-z]|(^|[^\w-])-[a-zA-Z] [A-Z]{2}|\btrainweld [a-z]`)

// otherPrograms are the files that write command lines of programs in Pods.
var otherPrograms = []string{"render/mlpolicy/flux_scripts.go", "render/mlpolicy/torchtune.go"}

// TestLibraryNamesNoFlag holds that only the command line knows flags and commands. A linking
// program has neither.
func TestLibraryNamesNoFlag(t *testing.T) {
	files, exceptions := 0, map[string]bool{}
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(repository, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() &&
			(slices.Contains([]string{"bin", "cmd", "dist", "docs", "internal", "fuzz"}, name) ||
				len(name) > 1 && strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		for _, text := range literals(t, path) {
			switch {
			case !ofCommandLine.MatchString(text):
			case slices.Contains(otherPrograms, name):
				exceptions[name] = true
			default:
				t.Errorf("%s names a flag or a command: %q", name, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("read %d files: the test looks in the wrong place", files)
	}
	for _, name := range otherPrograms {
		if !exceptions[name] {
			t.Errorf("%s is an exception without need", name)
		}
	}
}

// literals returns the string literals of a file of Go source.
func literals(t *testing.T, file string) []string {
	t.Helper()
	source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	ast.Inspect(source, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
			texts = append(texts, text)
		}
		return true
	})
	return texts
}

func TestFlagsAndCommandsAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		"use --on-conflict=last":            true,
		"--on-conflict=last":                true,
		"give it with -r FILE":              true,
		"run trainweld migrate":             true,
		"the runtime has no job":            false,
		"docs/findings.md":                  false,
		`put "---" between two documents`:   false,
		"a-b--c":                            false,
		"github.com/trainweld/trainweld":    false,
		"flux run -N 2 -n 4":                false,
		"the Trainer's fields of trainweld": false,
	} {
		if got := ofCommandLine.MatchString(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
