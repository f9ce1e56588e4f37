// Package sarif validates trainweld's SARIF reports against the schema of SARIF 2.1.0. The module
// github.com/owenrumney/go-sarif/v3 carries the schema word for word as OASIS published it.
package sarif

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trainweld/trainweld/internal/casefile"

	_ "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif" // for its schema
)

// Where the scripts of the program are, and the reports that package report compares with.
const (
	program = "../../../trainweld"
	report  = "../../report"
)

// published is the schema. The module keeps it in a constant of its own, so it is read from the
// source.
func published(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/owenrumney/go-sarif/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(),
		filepath.Join(strings.TrimSpace(string(dir)), "pkg", "report", "v210", "sarif",
			"schema.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := constant(file, "schema")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	const name = "sarif-schema-2.1.0.json"
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(name, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// constant is the text of the constant of a file that is declared by itself.
func constant(file *ast.File, name string) (string, error) {
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST || len(d.Specs) != 1 {
			continue
		}
		spec := d.Specs[0].(*ast.ValueSpec)
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && spec.Names[0].Name == name {
			return strconv.Unquote(literal.Value)
		}
	}
	return "", fmt.Errorf("no constant %s", name)
}

func validate(schema *jsonschema.Schema, data []byte) error {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(document)
}

// goldens are the reports that the tests of package report compare with. The first one has every
// kind of finding.
func goldens(t *testing.T) []casefile.File {
	t.Helper()
	return casefile.Read(t, filepath.Join(report, "testdata", "sarif.txtar"))[0].Files
}

// TestReports validates every SARIF report that the program's tests compare with. They are the
// reports of package report, and the files of scripts that end in .sarif.
func TestReports(t *testing.T) {
	schema := published(t)
	reports := map[string][]byte{}
	goldens := goldens(t)
	for _, golden := range goldens {
		reports[golden.Name] = golden.Data
	}
	scripts := casefile.Read(t, filepath.Join(program, "testdata", "script", "*.txtar"))
	for _, script := range scripts {
		for _, file := range script.Files {
			if strings.HasSuffix(file.Name, ".sarif") {
				reports[script.File+"/"+file.Name] = file.Data
			}
		}
	}
	if len(goldens) < 4 || len(scripts) == 0 {
		t.Fatalf("found %d golden files and %d scripts", len(goldens), len(scripts))
	}
	for name, data := range reports {
		if err := validate(schema, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d reports", len(reports))
}

// TestProgram validates the program's reports on all recorded cases: nearly every code, in hundreds
// of files.
func TestProgram(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "trainweld")
	build := exec.Command("go", "build", "-o", binary, "./cmd/trainweld")
	// where the program is in the workspace
	build.Dir, build.Env = filepath.Join("..", "..", "..", ".."), append(build.Environ(), "GOWORK=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cases, err := filepath.Glob(
		filepath.Join(casefile.Shared(t, "../../../../testdata/cluster"), "*"))
	if err != nil {
		t.Fatal(err)
	}
	// -R skips a folder with manifests and a folder want, so each case is named.
	check := exec.Command(binary, append([]string{"check", "-o", "sarif", "--all"}, cases...)...)
	report, err := check.Output()
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 1 {
		t.Fatalf("the cases hold errors, and check ends with %v", err)
	}
	if results := bytes.Count(report, []byte(`"ruleId"`)); results < 1000 {
		t.Errorf("%d results", results)
	}
	if err := validate(published(t), report); err != nil {
		t.Error(err)
	}
}
