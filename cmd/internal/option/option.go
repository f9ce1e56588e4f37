// Package option defines the flags that several commands share, and parses their values.
//
// Its first file to read is option.go.
package option

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/nearest"
)

// DidYouMean returns the end of a message on an unknown name: a similar known name, or "".
func DidYouMean(name string, names []string) string {
	if near := nearest.To(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// OneOf returns an error for a value of a flag that is none of its words.
func OneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	known := "none of " + strings.Join(words, ", ")
	if len(words) == 2 {
		known = fmt.Sprintf("neither %s nor %s", words[0], words[1])
	}
	return fmt.Errorf("%s: %q is %s%s", flag, value, known, DidYouMean(value, words))
}

// NoArguments returns an error for arguments of a command that takes none.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return exit.Usage(fmt.Errorf("%s takes no arguments, got %q", cmd.Name(), args[0]))
}

// AddReportFormat adds the flag for a report's format.
func AddReportFormat(cmd *cobra.Command, format *string) {
	formats := report.Formats()
	cmd.Flags().StringVarP(format, "output", "o", formats[0],
		"the format of the report: "+strings.Join(formats, ", "))
	commandline.Words(cmd, "output", formats...)
}

// ShowsAll tells how the user sees the findings that a group does not show, see
// report.Options.More.
const ShowsAll = "--all shows each"

// AddRecreate adds the flag --recreate.
func AddRecreate(f *pflag.FlagSet, recreate *bool) {
	f.BoolVar(recreate, "recreate", false,
		"expect that objects are deleted and created again, not updated")
}

// KnownFormat returns an error for an unknown report format.
func KnownFormat(format string) error { return OneOf("-o", format, report.Formats()...) }

// AddOnConflict adds the flag --on-conflict. usual is its default.
func AddOnConflict(cmd *cobra.Command, rule *string, usual, help string) {
	words := []string{"fail", "last"}
	if usual == "last" {
		words = []string{"last", "fail"}
	}
	AddWord(cmd, rule, "on-conflict", words, help)
}

// ParseOnConflict returns the meaning of a value of --on-conflict.
func ParseOnConflict(word string) render.OnConflict {
	if word == "last" {
		return render.Last
	}
	return render.Fail
}

// AddWord adds a flag with a fixed set of values, of which the first one is its default.
func AddWord(cmd *cobra.Command, value *string, name string, words []string, help string) {
	*value = words[0]
	flag := parsedFlag{text: words[0], kind: "string", parse: func(text string) error {
		*value = text
		return OneOf("--"+name, text, words...)
	}}
	cmd.Flags().Var(&flag, name, help)
	commandline.Words(cmd, name, words...)
}

// Set sets a flag of a command to a text of a file. The error names no flag, since the file has the
// name.
func Set(cmd *cobra.Command, name, text string) error {
	flag := cmd.Flag(name)
	if flag.Value.Type() == "bool" && text != "true" && text != "false" {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	if err := flag.Value.Set(text); err != nil {
		_, problem, _ := strings.Cut(err.Error(), ": ")
		return errors.New(problem)
	}
	return nil
}

// parsedFlag is a flag whose texts a function takes or rejects.
type parsedFlag struct {
	text, kind string
	parse      func(text string) error
}

func (v *parsedFlag) String() string { return v.text }

func (v *parsedFlag) Set(text string) error {
	if err := v.parse(text); err != nil {
		return exit.Usage(err)
	}
	v.text = text
	return nil
}

// Type returns the placeholder in the help.
func (v *parsedFlag) Type() string { return v.kind }

// Repeated is a repeatable flag that keeps all its values in order. Unlike it, StringArray of pflag
// creates a CSV writer to format its empty default. That would be two dozen for every command line.
type Repeated []string

func (r *Repeated) String() string { return strings.Join(*r, ",") }

func (r *Repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}

// Type returns the type in the help. It also tells the completion that the flag is repeatable.
func (r *Repeated) Type() string { return "stringArray" }

// Paths is a repeatable flag of paths and globs. It splits a value at commas, like kubectl, unless
// a file matches the whole value.
type Paths []string

func (p *Paths) String() string { return (*Repeated)(p).String() }

func (p *Paths) Set(value string) error {
	if strings.Contains(value, ",") && !namesFile(value) {
		*p = append(*p, strings.Split(value, ",")...)
	} else {
		*p = append(*p, value)
	}
	return nil
}

// namesFile reports whether a file has this name or matches this glob.
func namesFile(name string) bool {
	if _, err := os.Lstat(name); err == nil {
		return true
	}
	matches, err := filepath.Glob(name)
	return err == nil && matches != nil
}

// Type returns the type of Repeated.
func (p *Paths) Type() string { return (*Repeated)(p).Type() }

// LaidOver is the help of --patch in commands that merge patches into TrainJobs.
const LaidOver = "apply the patches of `[NAME=]FILE` to every TrainJob, after its own; a file has a " +
	"RuntimePatch, a list of them, or a TrainJob (repeatable)"

// AddInputs adds the flags that select the input. filename and patch are the help of -f and
// --patch.
func AddInputs(f *pflag.FlagSet, flags *workspace.Flags, filename, patch string) {
	f.VarP((*Paths)(&flags.Files), "filename", "f", filename)
	f.VarP((*Paths)(&flags.Runtimes), "runtimes", "r",
		"read runtimes from a file, directory or glob; also <trainjob>-runtime-snapshot "+
			"ConfigMaps (repeatable)")
	f.Var((*Repeated)(&flags.Patches), "patch", patch)
	AddPolicy(f, flags)
	AddRecursive(f, flags)
	AddSelector(f, flags)
}

// AddSelector adds the flag that selects TrainJobs by their labels.
func AddSelector(f *pflag.FlagSet, flags *workspace.Flags) {
	flags.Unread = &workspace.Unread{}
	selector := parsedFlag{kind: "selector", parse: func(text string) error {
		parsed, err := labels.Parse(text)
		switch {
		case err != nil:
			return fmt.Errorf("-l: invalid selector: %w", err)
		case parsed.Empty():
			return errors.New("-l: the selector is empty: name labels, such as app=x")
		}
		flags.Selector = parsed
		return nil
	}}
	f.VarP(&selector, "selector", "l",
		"only TrainJobs and JobSets with labels: app=x, 'tier in (a, b)', '!team'; runtimes "+
			"are always read")
}

// AddPolicy adds the flag --policy.
func AddPolicy(f *pflag.FlagSet, flags *workspace.Flags) {
	policy := parsedFlag{kind: "string", parse: func(file string) error {
		if file == "" || file == manifest.Stdin {
			return fmt.Errorf("--policy: name a file, not %q", file)
		}
		flags.Policy = file
		return nil
	}}
	f.Var(&policy, "policy",
		"read managers, patches and severities from this `FILE`; by default from the nearest "+
			workspace.ConfigName+" of each file")
}

// AddRecursive adds the flag for recursion.
func AddRecursive(f *pflag.FlagSet, flags *workspace.Flags) {
	f.BoolVarP(&flags.Recursive, "recursive", "R", false, "also read subdirectories")
}

// AddKustomize adds the flag that builds kustomizations.
func AddKustomize(f *pflag.FlagSet, dirs *[]string, usage string) {
	f.VarP((*Paths)(dirs), "kustomize", "k", usage+" (repeatable)")
	_ = f.SetAnnotation("kustomize", cobra.BashCompSubdirsInDir, nil)
}

// AddBuilds adds the flag that builds kustomizations.
func AddBuilds(f *pflag.FlagSet, flags *workspace.Flags) {
	AddKustomize(f, &flags.Kustomize,
		"build the kustomizations in or below a directory; each is an input of its own with "+
			"the other files")
}

// Forced collects which managers of --force-manager the parts of a run know. Some parts may lack a
// manager.
type Forced struct {
	names   []string
	known   map[string]bool
	unknown map[string]error
}

// NewForced returns a collection for the managers of the flag.
func NewForced(names []string) *Forced {
	return &Forced{names, map[string]bool{}, map[string]error{}}
}

// Take takes the managers of a part.
func (f *Forced) Take(in *workspace.Input) {
	for _, name := range f.names {
		if err := UnknownManager(in, []string{name}); err != nil {
			f.unknown[name] = err
		} else {
			f.known[name] = true
		}
	}
}

// Err returns an error for a manager that every part lacks.
func (f *Forced) Err() error {
	for _, name := range f.names {
		if !f.known[name] && f.unknown[name] != nil {
			return f.unknown[name]
		}
	}
	return nil
}

// AddForceManager adds the flag --force-manager.
func AddForceManager(p *host.Program, cmd *cobra.Command, managers *[]string,
	flags *workspace.Flags) {
	cmd.Flags().Var((*Repeated)(managers), "force-manager",
		"let a manager win each of its conflicts, with a warning; of several, the one that "+
			"is named first (repeatable)")
	commandline.Complete(cmd, "force-manager", CompleteManagers(p, flags))
}

// CompleteManagers returns the completion of a manager. It reads the inputs that the command line
// names so far.
func CompleteManagers(p *host.Program, flags *workspace.Flags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		read := *flags
		read.Files = slices.Concat(read.Files, args)
		managers := slices.DeleteFunc(workspace.Read(p, read).Managers(), func(name string) bool {
			return report.Printable(name) != name
		})
		return managers, cobra.ShellCompDirectiveNoFileComp
	}
}

// ForceFlag is the flag of forced managers.
const ForceFlag = "--force-manager"

// UnknownManager returns a usage error for a forced manager without a patch. It returns nil after
// an error in reading: the patch may stand in the unread part.
func UnknownManager(in *workspace.Input, names []string) error {
	if err := in.UnknownManager(names); err != nil {
		return exit.Usage(fmt.Errorf("%s: %w", ForceFlag, err))
	}
	return nil
}
