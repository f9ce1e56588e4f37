package option

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
)

// AddKustomize adds the flag that builds kustomizations.
func AddKustomize(f *pflag.FlagSet, dirs *[]string, usage string) {
	f.VarP((*Paths)(dirs), "kustomize", "k", usage+" (repeatable)")
	_ = f.SetAnnotation("kustomize", cobra.BashCompSubdirsInDir, nil)
}

// AddBuilds adds the flag that builds kustomizations.
func AddBuilds(f *pflag.FlagSet, flags *workspace.Flags) {
	AddKustomize(f, &flags.Kustomize,
		"build the kustomizations in or below a directory, each as an input of its own with the "+
			"other files")
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
		"let a manager win every conflict that it takes part in, with a warning for each; of "+
			"several, the one that is named first (repeatable)")
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
