package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/render/codes"
)

// mostUsed returns the five flags that the help of a command shows first. Commands with few flags
// have none.
func mostUsed(command string) []string {
	switch command {
	case "render":
		return []string{"filename", "runtimes", "patch", "on-conflict", "output"}
	case "merge":
		return []string{"filename", "patch", "crd", "type", "output"}
	case "check":
		return []string{"runtimes", "patch", "severity", "old", "output"}
	case "conflicts":
		return []string{"runtimes", "patch", "recursive", "force-manager", "output"}
	case "blame":
		return []string{"filename", "runtimes", "patch", "show-origin", "to"}
	case "diff":
		return []string{"git", "runtimes", "patch", "to", "output"}
	case "migrate":
		return []string{"filename", "in-place", "diff", "list", "manager"}
	default:
		return nil
	}
}

// The limits of the width of the help, which is the width of the terminal. In a pipe, the width is
// mostHelp.
const (
	leastHelp = 80
	mostHelp  = 100
)

// firstScreen is the most lines of the help that a command shows without --help-all.
const firstScreen = 24

// twoScreens is the most lines of the help that --help-all shows.
const twoScreens = 2 * firstScreen

// pages matches the name of a page of the documentation, which an installed program lacks.
var pages = regexp.MustCompile(`(^|[\s(])docs/([a-z0-9-]+\.md)`)

// showHelp returns a function that writes the help of a command: the parts that most people need,
// or, if the user asks for it, all flags. It writes the manual if that fits.
func showHelp(p *host.Program) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, _ []string) {
		cmd.InitDefaultHelpFlag()
		AddAddresses(cmd)
		width := helpWidth(p)
		text := manual(cmd, width)
		lines, asked := strings.Count(text, "\n"), cmd.Flags().Lookup(helpAll)
		switch {
		case asked != nil && asked.Changed:
			if lines > twoScreens {
				text = longHelp(cmd, width)
			}
		case lines > firstScreen:
			text = shortHelp(cmd, width)
		}
		fmt.Fprint(cmd.OutOrStdout(), text)
	}
}

// writeManual writes the manual of a command.
func writeManual(p *host.Program, cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	AddAddresses(cmd)
	fmt.Fprint(cmd.OutOrStdout(), manual(cmd, helpWidth(p)))
}

func helpWidth(p *host.Program) int {
	return min(max(cmp.Or(p.Screen(p.Stdout).Room(), mostHelp), leastHelp), mostHelp)
}

// AddAddresses replaces the names of pages by their addresses in the help of a command and of those
// below it. Help and man pages have them; other runs need no time for it.
func AddAddresses(cmd *cobra.Command) {
	cmd.Long = pages.ReplaceAllString(cmd.Long, "${1}"+codes.Docs+"$2")
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		f.Usage = pages.ReplaceAllString(f.Usage, "${1}"+codes.Docs+"$2")
	})
	for _, c := range cmd.Commands() {
		AddAddresses(c)
	}
}

// manual has the description, the examples, the commands and the flags of a command.
func manual(cmd *cobra.Command, width int) string {
	var b strings.Builder
	b.WriteString(description(cmd, width) + "Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.ReplaceAll(cmd.Example, "\n\n", "\n"))
	}
	listCommands(&b, cmd)
	first, others := sorted(cmd)
	if first.HasFlags() {
		b.WriteString("\nMost used flags:\n" + flagTable(first, width))
		b.WriteString("\nOther flags:\n" + flagTable(others, width))
	} else if others.HasAvailableFlags() {
		b.WriteString("\nFlags:\n" + flagTable(others, width))
	}
	listProgramFlags(&b, cmd, width)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n",
			cmd.CommandPath())
	}
	return b.String()
}

// description returns the paragraphs of a command's description, each with an empty line after it.
func description(cmd *cobra.Command, width int) string {
	var b strings.Builder
	for _, paragraph := range strings.Split(cmp.Or(cmd.Long, cmd.Short), "\n\n") {
		if !strings.Contains("\n"+paragraph, "\n ") { // a table keeps its lines
			paragraph = strings.ReplaceAll(paragraph, "\n", " ")
		}
		b.WriteString(wrapped(paragraph, width) + "\n\n")
	}
	return b.String()
}

// longHelp has all flags, a line for each, and as many examples as two screens hold.
func longHelp(cmd *cobra.Command, width int) string {
	var b strings.Builder
	listCommands(&b, cmd)
	if first, others := sorted(cmd); first.HasFlags() {
		b.WriteString("\nMost used flags:\n" + flagLines(first))
		b.WriteString("\nOther flags:\n" + flagLines(others))
	} else {
		b.WriteString("\nFlags:\n" + flagLines(others))
	}
	listProgramFlags(&b, cmd, width)
	head := fmt.Sprintf("%s.\n\nUsage:\n  %s\n", cmd.Short, cmd.UseLine())
	next := cmd.Root().DisplayName() + " help" +
		strings.TrimPrefix(cmd.CommandPath(), cmd.Root().DisplayName()) + `" for the manual`
	if isGroup(cmd) {
		head = fmt.Sprintf("%sUsage:\n  %s [command]\n", description(cmd, width), cmd.CommandPath())
		next = cmd.CommandPath() + ` [command] --help" for more information about a command`
	}
	fmt.Fprintf(&b, "\nUse \"%s.\n", next)
	left := twoScreens - strings.Count(head+b.String(), "\n")
	examples := ""
	for _, example := range strings.Split(cmd.Example, "\n\n") {
		next := cmp.Or(examples, "\nExamples:\n") + strings.Trim(example, "\n") + "\n"
		if strings.Count(next, "\n") > left {
			break
		}
		examples = next
	}
	return head + examples + b.String()
}

// listProgramFlags names the flags of the program that have an effect on a command.
func listProgramFlags(b *strings.Builder, cmd *cobra.Command, width int) {
	global := ofProgram(cmd)
	if !global.HasFlags() {
		return
	}
	var names []string
	global.VisitAll(func(f *pflag.Flag) { names = append(names, strings.TrimSpace(flagName(f))) })
	b.WriteString("\n" + wrapped("Flags of the program, see "+cmd.Root().Name()+" --"+helpAll+
		": "+strings.Join(names, "; "), width) + "\n")
}

// flagLines has a line for each flag: what its explanation says before the first semicolon.
func flagLines(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		_, usage := pflag.UnquoteUsage(f)
		usage, _, _ = strings.Cut(strings.TrimSuffix(usage, " (repeatable)"), "; ")
		fmt.Fprintf(&b, "%-*s  %s\n", flagColumn-2, flagName(f), usage)
	})
	return b.String()
}

// flagColumn is the column at which the table of flags explains them. Longer names reach into it.
const flagColumn = 26

// flagTable explains flags. Unlike pflag's table, it leaves most of a line to the text.
func flagTable(flags *pflag.FlagSet, width int) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		_, usage := pflag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			usage += " (default " + f.DefValue + ")"
		}
		name := fmt.Sprintf("%-*s", flagColumn-2, flagName(f)) + "  "
		lines := strings.Split(wrapped(strings.Repeat("x", len(name))+usage, width), "\n")
		b.WriteString(name + lines[0][len(name):] + "\n")
		if len(lines) > 1 {
			rest := strings.Split(wrapped(strings.Join(lines[1:], " "), width-flagColumn), "\n")
			for _, line := range rest {
				b.WriteString(strings.Repeat(" ", flagColumn) + line + "\n")
			}
		}
	})
	return b.String()
}

// flagName returns the names of a flag, and that of its value if the flag gives it one.
func flagName(f *pflag.Flag) string {
	name := "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	if value, _ := pflag.UnquoteUsage(f); strings.ToUpper(value) == value && value != "" {
		name += " " + value
	}
	return name
}

// wrapped breaks a paragraph of one line at the last spaces before the width.
func wrapped(text string, width int) string {
	var b strings.Builder
	for len(text) > width && !strings.Contains(text, "\n") {
		at := strings.LastIndexByte(text[:width+1], ' ')
		if at <= 0 {
			break
		}
		b.WriteString(text[:at] + "\n")
		text = text[at+1:]
	}
	return b.String() + text
}

// ofProgram returns the flags of the program that have an effect on a command.
func ofProgram(cmd *cobra.Command) *pflag.FlagSet {
	of := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(idle(verbOf(cmd)), f.Name) {
			of.AddFlag(f)
		}
	})
	return of
}

// isGroup reports whether people come to a command for its subcommands.
func isGroup(cmd *cobra.Command) bool {
	return cmd.HasAvailableSubCommands() && (!cmd.HasParent() || !cmd.Runnable())
}

// shortHelp has two examples, and the commands or the most used flags.
func shortHelp(cmd *cobra.Command, width int) string {
	var b strings.Builder
	line, next := cmd.UseLine(), cmd.CommandPath()+" --"+helpAll+`" for all flags and examples`
	if isGroup(cmd) {
		line, next = cmd.CommandPath()+" [command]",
			cmd.CommandPath()+` [command] --help" for more information about a command`
	}
	fmt.Fprintf(&b, "%s.\n\nUsage:\n  %s\n", cmd.Short, line)
	if listCommands(&b, cmd); !isGroup(cmd) {
		examples := strings.SplitN(cmd.Example, "\n\n", 3)
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.Join(examples[:min(len(examples), 2)], "\n\n"))
		first, others := sorted(cmd)
		if !first.HasFlags() {
			first = others
		}
		first.VisitAll(func(f *pflag.Flag) {
			f.Hidden = f.Name == "help" || f.Name == helpAll // the last line names them
			usage, _, _ := strings.Cut(f.Usage, "; ")
			f.Usage = strings.TrimSuffix(usage, " (repeatable)")
		})
		if table := first.FlagUsagesWrapped(width); table != "" {
			b.WriteString("\nFlags:\n" + table)
		}
	}
	fmt.Fprintf(&b, "\nUse \"%s.\n", next)
	return b.String()
}

func listCommands(b *strings.Builder, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	b.WriteString("\nAvailable Commands:\n")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(b, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
}

// helpAll is the flag that asks for all of the help. It sets --help, at which a command stops.
const helpAll = "help-all"

type helpAllFlag struct{ flags *pflag.FlagSet }

func (f helpAllFlag) Set(value string) error { return f.flags.Set("help", value) }
func (f helpAllFlag) String() string         { return "" }
func (f helpAllFlag) Type() string           { return "bool" }

// addHelpAll gives the flag to a command and to those below it.
func addHelpAll(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VarPF(helpAllFlag{cmd.Flags()}, helpAll, "",
		"help with all flags and examples").NoOptDefVal = "true"
	for _, c := range cmd.Commands() {
		addHelpAll(c)
	}
}

// sorted returns the most used flags of a command in the order of mostUsed. It sorts the other
// flags by name.
func sorted(cmd *cobra.Command) (first, others *pflag.FlagSet) {
	first, others = pflag.NewFlagSet("", pflag.ContinueOnError),
		pflag.NewFlagSet("", pflag.ContinueOnError)
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
