package cli

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainweld/trainweld/cmd/internal/host"
)

// mostFlags is the most flags of all commands together.
const mostFlags = 138

// TestFlags counts the flags of each command, hidden ones as well, without help. A flag that all
// commands below one share counts there. A command without a row in the table has none.
func TestFlags(t *testing.T) {
	table, err := os.ReadFile("testdata/flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	most := map[string]int{}
	for line := range strings.Lines(string(table)) {
		n, verb, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n != "#" {
			if most[verb], err = strconv.Atoi(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := 0
	var count func(cmd *cobra.Command)
	count = func(cmd *cobra.Command) {
		var names []string
		cmd.InitDefaultHelpFlag()
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && f.Name != helpAll {
				names = append(names, f.Name)
			}
		})
		if verb := cmd.CommandPath(); len(names) != most[verb] {
			t.Errorf("%s has %d flags, and its row in the table %d: %q", verb, len(names),
				most[verb], names)
		}
		all += len(names)
		for _, c := range cmd.Commands() {
			count(c)
		}
	}
	p := host.Program{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{},
		Stderr: &bytes.Buffer{}}
	count(Root(&p, nil))
	if all > mostFlags {
		t.Errorf("%d flags, want at most %d", all, mostFlags)
	}
}
