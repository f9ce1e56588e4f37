package option

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/internal/exit"
	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/internal/report"
	"github.com/trainweld/trainweld/internal/workspace"
)

// AddForceManager adds the flag --force-manager. Its completion reads the inputs that the command line names so far.
func AddForceManager(p *host.Program, cmd *cobra.Command, managers *[]string, flags *workspace.Flags) {
	cmd.Flags().Var((*Repeated)(managers), "force-manager", "let a manager win every conflict that it takes part in, with a warning for each; of several, the one that is named first (repeatable)")
	_ = cmd.RegisterFlagCompletionFunc("force-manager", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		read := *flags
		read.Files = slices.Concat(read.Files, args)
		managers := slices.DeleteFunc(workspace.Read(p, read).Managers(), func(name string) bool { return report.Printable(name) != name })
		return managers, cobra.ShellCompDirectiveNoFileComp
	})
}

// ForceFlag is the prefix of errors about forced managers.
const ForceFlag = "--force-manager: "

// UnknownManager returns a usage error for a forced manager without a patch. It returns nil after an error in reading: the
// patch may stand in the unread part.
func UnknownManager(in *workspace.Input, force []string) error {
	if name, hint := in.UnknownManager(force); name != "" {
		return exit.Usage(fmt.Errorf("%sno patch is of manager %q%s", ForceFlag, name, hint))
	}
	return nil
}
