package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/cli"
	"github.com/trainweld/trainweld/cmd/internal/host"
)

// completions are the files that shells read, by the name of the shell.
var completions = []struct{ shell, file string }{
	{"bash", "trainweld.bash"}, {"zsh", "_trainweld"}, {"fish", "trainweld.fish"}, {"powershell", "trainweld.ps1"},
}

// documents returns the man pages and the completion files of the program.
func documents(version string, at time.Time) ([]entry, error) {
	var files []entry
	for _, c := range completions {
		var out bytes.Buffer
		root := cli.Root(&host.Program{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Files: host.Files{}}, nil)
		root.SetArgs([]string{"completion", c.shell})
		if err := root.Execute(); err != nil {
			return nil, fmt.Errorf("completion %s: %w", c.shell, err)
		}
		files = append(files, entry{"completions/" + c.file, 0o644, out.Bytes()})
	}
	root := cli.Root(&host.Program{Files: host.Files{}}, nil)
	return append(files, manPages(root, version, at)...), nil
}

// manPages returns the pages of a command and of its subcommands.
func manPages(cmd *cobra.Command, version string, at time.Time) []entry {
	files := []entry{{"man/" + pageName(cmd) + ".1", 0o644, []byte(manPage(cmd, version, at))}}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			files = append(files, manPages(c, version, at)...)
		}
	}
	return files
}
