// Package commandline runs a command line: with which status does it end, and how does it report an
// error?
//
//	status := commandline.Run(p, args, root)
//
// Its first file to read is commandline.go.
package commandline

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
)

// Run executes a command line and returns its exit status. The function root makes the command for
// a program with a watched standard output. A failed output sets the status even if the command
// misses the error.
func Run(p *host.Program, args []string, root func(*host.Program) *cobra.Command) int {
	stdout := host.NewSink(p.Stdout)
	sunk := *p
	sunk.Stdout = stdout
	return execute(&sunk, args, stdout, root(&sunk))
}

func execute(p *host.Program, args []string, stdout *host.Sink, root *cobra.Command) int {
	if asksForCompletions(args) {
		registerCompletions(root)
	}
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	var status exit.Status
	var misused exit.UsageError
	var signal host.Interrupted
	prefixed := func(err error) string {
		lines := strings.Split(printableError(err), "\n")
		for i, line := range lines {
			if !strings.HasPrefix(line, " ") { // an indented line goes on from the one before
				lines[i] = root.DisplayName() + ": " + line
			}
		}
		return strings.Join(lines, "\n")
	}
	switch {
	case host.IsClosedPipe(stdout.Err): // silent, like other programs
		return exit.ClosedPipe
	case stdout.Err != nil:
		fmt.Fprintf(p.Stderr, "%s: standard output: %v\n", root.DisplayName(), stdout.Err)
		return exit.Failed
	case err == nil:
		return exit.Done
	case errors.As(err, &signal):
		fmt.Fprintf(p.Stderr, "%s: %s\n", root.DisplayName(), printableError(err))
		return signal.Status()
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &misused):
		fmt.Fprintf(p.Stderr, "%s\nRun '%s --help' for usage and examples\n", prefixed(err),
			cmd.CommandPath())
		return exit.Failed
	default:
		fmt.Fprintln(p.Stderr, prefixed(err))
		return exit.Failed
	}
}

// printableError formats an error. Joined errors get a line each; other line breaks are escaped.
func printableError(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		joined, ok := inner.(interface{ Unwrap() []error })
		if !ok {
			continue
		}
		var texts, lines []string
		for _, one := range joined.Unwrap() {
			texts, lines = append(texts, one.Error()), append(lines, printableError(one))
		}
		if strings.Join(texts, "\n") == err.Error() {
			return strings.Join(lines, "\n")
		}
	}
	return report.Line(printable.Error(err))
}

// completions are the functions that complete the flags of a command, by their names. The context
// of the command holds them.
type completions map[string]cobra.CompletionFunc

type completionsKey struct{}

// Complete sets the function that completes the values of a flag. Cobra never forgets a function
// that it knows, with the command and its files. So Run registers the functions only if a shell
// asks for completions.
func Complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	all, ok := ctx.Value(completionsKey{}).(completions)
	if !ok {
		all = completions{}
		cmd.SetContext(context.WithValue(ctx, completionsKey{}, all))
	}
	all[flag] = f
}

// Words completes a flag with its words.
func Words(cmd *cobra.Command, flag string, words ...string) {
	Complete(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// registerCompletions tells cobra the functions of a command and its subcommands.
func registerCompletions(cmd *cobra.Command) {
	if ctx := cmd.Context(); ctx != nil {
		all, _ := ctx.Value(completionsKey{}).(completions)
		for flag, f := range all {
			// a flag that the command lacks has no values
			_ = cmd.RegisterFlagCompletionFunc(flag, f)
		}
	}
	for _, sub := range cmd.Commands() {
		registerCompletions(sub)
	}
}

// asksForCompletions reports whether a shell asks for completions.
func asksForCompletions(args []string) bool {
	return len(args) > 0 &&
		(args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// removed has a line for each verb or flag that the last release had, sorted: its name, and what to
// use now. A line goes with the release after the one that removes its flag.
//
//go:embed removed.txt
var removed string

// Removals yields the verbs and flags that are gone, such as "diff --live", and what to use
// instead.
func Removals() iter.Seq2[string, string] {
	return func(yield func(name, instead string) bool) {
		for line := range strings.Lines(removed) {
			name, instead, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if !yield(name, instead) {
				return
			}
		}
	}
}

// Removed returns an error that says what to use instead of a verb, or of one of its flags, that is
// gone. It returns nil for others. A verb below another one has both names: "policy test".
func Removed(verb, flag string) error {
	switch len(flag) {
	case 0:
	case 1:
		verb += " -" + flag
	default:
		verb += " --" + flag
	}
	for name, instead := range Removals() {
		if name == verb {
			return fmt.Errorf("%s is gone: %s", name, instead)
		}
	}
	return nil
}

// Elsewhere returns an error for a verb of another program: it names the command that does its
// work. It returns nil for other words.
func Elsewhere(verb string) error {
	instead := map[string]string{
		"build": "use trainweld render, with -k for kustomizations",
		"fix": "use trainweld check: the help of each finding says what to change; migrate " +
			"rewrites old versions",
		"lint":     "use trainweld check",
		"template": "use trainweld render",
		"validate": "use trainweld check",
	}[verb]
	if instead == "" {
		return nil
	}
	return fmt.Errorf("there is no command %q: %s", verb, instead)
}
