// Package option answers which flags several commands share, and reads their values.
package option

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/exit"
	"github.com/trainweld/trainweld/internal/report"
	"github.com/trainweld/trainweld/internal/workspace"
	"github.com/trainweld/trainweld/render"
)

// DidYouMean is the end of a message on an unknown name: the known one that is meant, if one is near.
func DidYouMean(name string, names []string) string {
	if near := finding.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// NoArguments refuses words after a command that takes none.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return exit.Usage(fmt.Errorf("%s takes no arguments, and was given %q", cmd.Name(), args[0]))
}

// AddReportFormat adds the flag for the format of a report.
func AddReportFormat(cmd *cobra.Command, format *string) {
	formats := report.Formats()
	cmd.Flags().StringVarP(format, "output", "o", formats[0], "the format of the report: "+strings.Join(formats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// KnownFormat refuses formats that reports do not have.
func KnownFormat(format string) error {
	formats := report.Formats()
	if slices.Contains(formats, format) {
		return nil
	}
	return fmt.Errorf("-o: %q is none of %s%s", format, strings.Join(formats, ", "), DidYouMean(format, formats))
}

// AddOnConflict adds the flag that says what follows where managers disagree. usual is its value if it is not given.
func AddOnConflict(cmd *cobra.Command, rule *string, usual, help string) {
	words := []string{"fail", "last"}
	if usual == "last" {
		words = []string{"last", "fail"}
	}
	cmd.Flags().StringVar(rule, "on-conflict", usual, help)
	_ = cmd.RegisterFlagCompletionFunc("on-conflict", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// ParseOnConflict reads the value of --on-conflict.
func ParseOnConflict(word string) (render.OnConflict, error) {
	switch word {
	case "fail":
		return render.Fail, nil
	case "last":
		return render.Last, nil
	default:
		return 0, fmt.Errorf("--on-conflict: %q is neither fail nor last", word)
	}
}

// Repeated is a flag that may be given several times, and holds all its values in order. It stands in for pflag's
// StringArray, which makes a CSV writer to tell that it is empty: two dozen of them for every command line.
type Repeated []string

func (r *Repeated) String() string { return strings.Join(*r, ",") }

func (r *Repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}

// Type is what the help calls the value, and tells the completion that the flag may be given again.
func (r *Repeated) Type() string { return "stringArray" }

// paths is a repeated flag whose values are paths. A value with commas is several paths, as in kubectl, unless a file has this
// name or the value is a glob.
type paths []string

func (p *paths) String() string { return (*Repeated)(p).String() }

func (p *paths) Set(value string) error {
	if _, err := os.Lstat(value); err == nil || strings.ContainsAny(value, "*?[") {
		*p = append(*p, value)
	} else {
		*p = append(*p, strings.Split(value, ",")...)
	}
	return nil
}

// Type is that of Repeated.
func (p *paths) Type() string { return (*Repeated)(p).Type() }

// LaidOver is the help of --patch in commands that lay patches over TrainJobs.
const LaidOver = "lay the managers' patches of `[NAME=]FILE` over every TrainJob, after its own: a RuntimePatch, a list of them, or a TrainJob (repeatable)"

// AddInputs adds the flags that say what to read. filename and patch are the help of -f and --patch.
func AddInputs(f *pflag.FlagSet, flags *workspace.Flags, filename, patch string) {
	f.VarP((*paths)(&flags.Files), "filename", "f", filename)
	f.VarP((*paths)(&flags.Runtimes), "runtime", "r", "read runtimes, also <trainjob>-runtime-snapshot ConfigMaps, from a file, directory or glob (repeatable)")
	f.Var((*Repeated)(&flags.Patches), "patch", patch)
	AddScope(f, flags)
}

// AddScope adds the flags that say how far to read, and where objects without a namespace are.
func AddScope(f *pflag.FlagSet, flags *workspace.Flags) {
	f.BoolVarP(&flags.Recursive, "recursive", "R", false, "read directories below directories, too")
	f.StringVarP(&flags.Namespace, "namespace", "n", "", `the namespace of objects that name none (default "default")`)
}
