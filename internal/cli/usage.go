package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainweld/trainweld/internal/host"
)

// mostUsed returns the five flags that the help of a command shows first. Commands with few flags have none.
func mostUsed(command string) []string {
	switch command {
	case "render":
		return []string{"filename", "runtime", "patch", "on-conflict", "output"}
	case "merge":
		return []string{"filename", "patch", "crd", "type", "output"}
	case "check":
		return []string{"runtime", "patch", "severity", "old", "output"}
	case "conflicts":
		return []string{"runtime", "patch", "recursive", "force-manager", "output"}
	case "blame":
		return []string{"filename", "runtime", "patch", "show-origin", "to"}
	case "diff":
		return []string{"git", "runtime", "patch", "to", "output"}
	case "migrate":
		return []string{"filename", "in-place", "diff", "list", "runtime"}
	case "create":
		return []string{"runtime", "name", "image", "num-nodes", "resources"}
	case "test":
		return []string{"update", "run", "init", "verbose", "output"}
	default:
		return nil
	}
}

// The width of the help: that of the terminal within limits, and the least in a pipe.
const (
	leastHelp = 80
	mostHelp  = 120
)

// showUsage returns a function that writes the usage of a command, its examples, its commands and its flags.
func showUsage(p *host.Program) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		cmd.InitDefaultHelpFlag()
		room := min(max(p.Screen(p.Stdout).Room(), leastHelp), mostHelp)
		var b strings.Builder
		b.WriteString("Usage:\n")
		if cmd.Runnable() {
			fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
		}
		if cmd.HasAvailableSubCommands() {
			fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
		}
		if cmd.HasExample() {
			fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
		}
		if cmd.HasAvailableSubCommands() {
			b.WriteString("\nAvailable Commands:\n")
			for _, c := range cmd.Commands() {
				if c.IsAvailableCommand() || c.Name() == "help" {
					fmt.Fprintf(&b, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
				}
			}
		}
		first, others := sorted(cmd)
		if first.HasFlags() {
			b.WriteString("\nMost used flags:\n" + first.FlagUsagesWrapped(room))
			b.WriteString("\nOther flags:\n" + others.FlagUsagesWrapped(room))
		} else if others.HasAvailableFlags() {
			b.WriteString("\nFlags:\n" + others.FlagUsagesWrapped(room))
		}
		if cmd.HasAvailableSubCommands() {
			fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
		}
		_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
		return err
	}
}

// sorted returns the most used flags of a command in the order of mostUsed, and its other flags by their names.
func sorted(cmd *cobra.Command) (first, others *pflag.FlagSet) {
	first, others = pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	first.SortFlags = false
	for _, name := range mostUsed(cmd.Name()) {
		if f := cmd.LocalFlags().Lookup(name); f != nil {
			first.AddFlag(f)
		}
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if first.Lookup(f.Name) == nil {
			others.AddFlag(f)
		}
	})
	return first, others
}
