package finding_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

const repository = ".."

// codes reads the constants of codes.go: the code of each name.
func codes(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		for _, spec := range d.Specs {
			v := spec.(*ast.ValueSpec)
			code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found[v.Names[0].Name] = code
		}
	}
	return found
}

// TestStricterCodesAreDocumented wants a row of docs/differences.md for each stricter code, and none for
// others.
func TestStricterCodesAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "docs", "differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Stricter than admission\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []finding.Code
	for _, row := range regexp.MustCompile(`(?m)^\| (TW[0-9]+) \| \S.* \|$`).FindAllStringSubmatch(section, -1) {
		documented = append(documented, finding.Code(row[1]))
	}
	if diff := cmp.Diff(documented, finding.StricterCodes()); !found || diff != "" {
		t.Errorf("docs/differences.md (-documented +finding.StricterCodes):\n%s", diff)
	}
}

// TestStricter asks single findings.
func TestStricter(t *testing.T) {
	for _, tc := range []struct {
		kind   string
		code   finding.Code
		want   bool
		reason string
	}{
		{"TrainJob", finding.CodeBadManager, false, "the webhook rejects it"},
		{"TrainJob", finding.CodeNoMerge, false, "the webhook crashes, and so refuses it"},
		{"TrainJob", finding.CodeNoMergeKey, true, "the cluster takes it"},
		{"TrainingRuntime", finding.CodeBadValue, false, "the definition refuses it"},
		{"JobSet", finding.CodeBadValue, true, "the JobSet is made later, and the TrainJob is taken"},
		{"ClusterTrainingRuntime", finding.CodeTwoSources, true, "the Job API rejects it"},
		{"", finding.CodeUnknownKind, false, "an object of no known kind is refused"},
	} {
		f := finding.Finding{Object: fieldpath.Object{Kind: tc.kind}, Code: tc.code, Severity: finding.Error}
		if got := f.Stricter(); got != tc.want {
			t.Errorf("%s on a %q: Stricter is %v, want %v: %s", tc.code, tc.kind, got, tc.want, tc.reason)
		}
	}
}

// TestCodesAreUsed wants a use of each code in the program, outside of tests.
func TestCodesAreUsed(t *testing.T) {
	all := codes(t)
	used := map[string]bool{}
	word := regexp.MustCompile(`\bCode[A-Z]\w*`)
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != repository && (strings.HasPrefix(name, ".") || slices.Contains([]string{"bin", "dist", "fuzz", "node_modules", "testdata"}, name)):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || path == filepath.Join(repository, "finding", "codes.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range word.FindAllString(string(text), -1) {
			used[name] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !used[name] {
			t.Errorf("%s, %s, is used nowhere", name, all[name])
		}
	}
}
