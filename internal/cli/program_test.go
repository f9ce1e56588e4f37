package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/internal/exit"
	"github.com/trainweld/trainweld/internal/host"
)

// TestEveryCommandHasExamples asks every command, also those that are yet to come, for its help.
func TestEveryCommandHasExamples(t *testing.T) {
	var stdout, stderr bytes.Buffer
	p := host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: host.Files{}}
	var commands [][]string
	var collect func(cmd *cobra.Command, path []string)
	collect = func(cmd *cobra.Command, path []string) {
		commands = append(commands, path)
		for _, c := range cmd.Commands() {
			collect(c, append(path[:len(path):len(path)], c.Name()))
		}
	}
	collect(rootCommand(&p, nil), nil)
	if len(commands) < 8 {
		t.Errorf("only %d commands: %q", len(commands), commands)
	}
	for _, path := range commands {
		stdout.Reset()
		stderr.Reset()
		if status := runLine(&p, append(path, "--help")); status != exit.Done || stderr.Len() > 0 {
			t.Errorf("%q: status %d, %s", path, status, stderr.String())
		}
		text := stdout.String()
		_, examples, ok := strings.Cut(text, "\nExamples:\n")
		if first, _, _ := strings.Cut(examples, "\n\n"); !ok || !strings.Contains(first, "trainweld") {
			t.Errorf("the help of %q has no example:\n%s", path, text)
		}
		if !strings.Contains(text, "\nUsage:\n") {
			t.Errorf("the help of %q has no usage:\n%s", path, text)
		}
	}
}
