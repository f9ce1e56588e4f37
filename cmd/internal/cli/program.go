// Package cli implements the command line: its commands, its help and its exit status.
//
// Its first file to read is program.go.
package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/cmd/internal/command/blame"
	"github.com/trainweld/trainweld/cmd/internal/command/check"
	"github.com/trainweld/trainweld/cmd/internal/command/conflicts"
	"github.com/trainweld/trainweld/cmd/internal/command/diff"
	"github.com/trainweld/trainweld/cmd/internal/command/explain"
	"github.com/trainweld/trainweld/cmd/internal/command/fn"
	"github.com/trainweld/trainweld/cmd/internal/command/merge"
	"github.com/trainweld/trainweld/cmd/internal/command/migrate"
	"github.com/trainweld/trainweld/cmd/internal/command/policy"
	"github.com/trainweld/trainweld/cmd/internal/command/render"
	"github.com/trainweld/trainweld/cmd/internal/command/test"
	"github.com/trainweld/trainweld/cmd/internal/command/version"
	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/process"
)

// execute runs a command line, and returns its exit status.
func execute(p *host.Program, args []string) int {
	return commandline.Run(p, args, func(p *host.Program) *cobra.Command { return Root(p, args) })
}

// commands returns the constructors of all commands.
func commands() []func(*host.Program, *option.Global) *cobra.Command {
	return []func(*host.Program, *option.Global) *cobra.Command{
		render.Command,
		merge.Command,
		check.Command,
		conflicts.Command,
		blame.Command,
		diff.Command,
		alone(explain.Command),
		migrate.Command,
		policy.Command,
		test.Command,
		alone(fn.Command),
		alone(version.Command),
	}
}

// alone returns the constructor of a command without the program's flags.
func alone(command func(*host.Program) *cobra.Command) func(*host.Program,
	*option.Global) *cobra.Command {
	return func(p *host.Program, _ *option.Global) *cobra.Command { return command(p) }
}

// idle returns the flags of the program that have no effect on a command.
func idle(verb string) []string {
	all := []string{"all", "color", "feature-gates", "kubernetes-version", "namespace",
		"show-values", "trainer-version"}
	switch verb {
	case "blame":
		return []string{"all"}
	case "conflicts", "migrate":
		return []string{"feature-gates", "kubernetes-version"}
	case "merge":
		return []string{"feature-gates", "namespace"}
	case "test":
		return []string{"all", "feature-gates", "namespace"}
	case "policy test":
		return []string{"all", "color", "feature-gates", "kubernetes-version", "show-values"}
	case "", "check", "diff", "render":
		return nil
	default:
		return all
	}
}

// noEffect returns a usage error for a flag of the program that has no effect on a command.
func noEffect(cmd *cobra.Command) error {
	for _, name := range idle(verbOf(cmd)) {
		if cmd.Flags().Changed(name) {
			return exit.Usage(fmt.Errorf("--%s has no effect on %s: remove it", name, verbOf(cmd)))
		}
	}
	return nil
}

// Root returns the program's command with all its subcommands. args are the words that follow it.
// They tell whether an unknown flag belongs to an unknown command.
func Root(p *host.Program, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "trainweld",
		Short: "Render Kubeflow TrainJobs without a cluster",
		Long: `Render Kubeflow TrainJobs without a cluster. The program merges the runtime's JobSet template and the patches
of named managers exactly as the cluster does. It shows who set each field, rejects a merge in which
managers disagree, and reports whether the cluster accepts and can run the result.

Exit status: 0 done; 1 a finding is an error, or diff found a difference; 2 usage, input or output failed.`,
		Example: `  # A TrainJob and its runtime to the JobSet
  trainweld render -f job.yaml -r runtime.yaml

  # A directory of TrainJobs to one file each
  trainweld render -f jobs/ -r runtimes/ --output-dir rendered/

  # Would the cluster take them, and run them?
  trainweld check jobs/ -r runtimes/

  # What a pull request changes in them
  trainweld diff --git origin/main jobs/ -r runtimes/`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked, _ := cmd.Flags().GetBool("version"); asked {
				return version.Print(p)
			}
			return cmd.Help()
		},
	}
	root.Flags().Bool("version", false, "print what the command version prints")
	var global option.Global
	global.Add(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return noEffect(cmd) }
	root.SetHelpFunc(showHelp(p))
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// After an unknown command, the flags belong to the intended one. So report the command
		// only.
		if unknown := subcommand(cmd, args); cmd == root && unknown != nil {
			return unknown
		}
		return flagError(cmd, err)
	})
	for _, command := range commands() {
		root.AddCommand(command(p, &global))
	}
	root.CompletionOptions.DisableNoDescFlag = true
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	amend(p, root)
	named(p, root)
	addHelpAll(root)
	return root
}

// amend adds an example to the commands that cobra generates, and makes them reject unknown
// arguments.
func amend(p *host.Program, root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Example = "  trainweld help render"
			cmd.Run = nil
			cmd.RunE = func(_ *cobra.Command, args []string) error {
				topic := root
				for _, name := range args {
					i := slices.IndexFunc(topic.Commands(), func(c *cobra.Command) bool {
						return c.Name() == name
					})
					if i < 0 {
						return subcommand(topic, []string{name})
					}
					topic = topic.Commands()[i]
				}
				if topic == root {
					return topic.Help()
				}
				writeManual(p, topic)
				return nil
			}
		case "completion":
			cmd.Example = "  source <(trainweld completion bash)"
			cmd.Args = subcommand
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range cmd.Commands() {
				shell.Example = "  trainweld completion " + shell.Name()
				shell.Args = option.NoArguments
			}
		}
	}
}

// subcommand returns an error for an unknown word after a command that has only subcommands.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if gone := commandline.Removed(strings.TrimSpace(verbOf(cmd)+" "+args[0]), ""); gone != nil {
		return exit.Usage(gone)
	}
	if instead := commandline.Elsewhere(args[0]); instead != nil && cmd == cmd.Root() {
		return exit.Usage(instead)
	}
	return exit.Usage(
		fmt.Errorf("unknown command %q%s", args[0], option.DidYouMean(args[0], names)))
}

// flagError returns a usage error for a flag, and suggests a similar flag.
func flagError(cmd *cobra.Command, err error) error {
	var misused exit.UsageError
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	isUnknown := errors.As(err, &unknown)
	if isUnknown {
		if gone := commandline.Removed(verbOf(cmd), unknown.GetSpecifiedName()); gone != nil {
			return exit.Usage(gone)
		}
	}
	switch {
	case isUnknown && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		name := "--" + unknown.GetSpecifiedName()
		err = fmt.Errorf("unknown flag %s%s", name, option.DidYouMean(name, names))
	case errors.As(err, &misused):
		return misused // the value's own reason
	case errors.As(err, &invalid):
		err = fmt.Errorf("--%s: invalid value %q%s", invalid.GetFlag().Name, invalid.GetValue(),
			wantOf(invalid.GetFlag().Value.Type()))
	}
	return exit.Usage(err)
}

// verbOf returns the words of a command behind the program's name.
func verbOf(cmd *cobra.Command) string {
	_, verb, _ := strings.Cut(cmd.CommandPath(), cmd.Root().CommandPath()+" ")
	return verb
}

// wantOf returns the end of a message about a value of a flag, by the type of the flag.
func wantOf(typ string) string {
	switch typ {
	case "bool":
		return ": must be true or false"
	case "int32":
		return fmt.Sprintf(": must be a whole number of at most %d", math.MaxInt32)
	case "int", "int64":
		return ": must be a whole number"
	default:
		return ""
	}
}

// Start prepares this process for command lines, and returns the machine that runs them. tag and
// revision identify the build.
func Start(tag, revision string) *host.Program {
	build.Serve()
	p := host.New()
	p.Tag, p.Revision = tag, revision
	process.SealLibraries()
	postponeCollection()
	return p
}

// Run runs a command line and returns its exit status. args begin with the name that the user
// typed.
func Run(p *host.Program, args []string) int {
	line := *p
	line.Name, args = invoked(args[0], args[1:])
	return execute(&line, args)
}

// postponeCollection lets the heap grow to 16 MiB before the first garbage collection. By default
// the collector starts at 4 MiB, and the linked packages fill half of that. A run for one TrainJob
// would pause for a collection without any gain. After the first collection, the usual setting
// applies. A set GOGC takes precedence. A large heap does not double before the next one.
func postponeCollection() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(host.HeapLimit)
	}
	if os.Getenv("GOGC") != "" {
		return
	}
	const usual, first = 100, 400 // percent; the least heap is 4 MiB times this
	debug.SetGCPercent(first)
	// The first collection runs the cleanup of this unreachable value.
	type unused struct{ _ *byte }
	runtime.AddCleanup(new(unused), func(int) {
		if set := debug.SetGCPercent(usual); set != first {
			debug.SetGCPercent(set) // builds have set another one
		}
	}, 0)
}
