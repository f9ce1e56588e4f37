package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/trainweld/trainweld/cmd/internal/command/create"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
)

// TestCreateDocumented wants a row in the table of docs/create.md for every flag of create that
// describes the TrainJob. No other flag has a row.
func TestCreateDocumented(t *testing.T) {
	p := host.Program{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{},
		Stderr: &bytes.Buffer{}, Files: host.Files{}}
	text, err := os.ReadFile("../../../docs/create.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		if flag, ok := strings.CutPrefix(line, "| `--"); ok {
			name, _, _ := strings.Cut(flag, "`")
			rows[name] = true
		}
	}
	create.Command(&p, &option.Global{}).Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "output" {
			return
		}
		if !rows[f.Name] {
			t.Errorf("docs/create.md has no row for --%s", f.Name)
		}
		delete(rows, f.Name)
	})
	delete(rows, "namespace") // flags of the program
	delete(rows, "trainer-version")
	for name := range rows {
		t.Errorf("docs/create.md has a row for --%s, which create does not have", name)
	}
}
