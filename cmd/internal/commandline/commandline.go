// Package commandline runs a command line: with which status does it end, and how does it report an
// error?
//
//	status := commandline.Run(p, args, root)
//
// Its first file to read is commandline.go.
package commandline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath/printable"
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
