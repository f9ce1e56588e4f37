package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/trainweld/internal/report"
)

// addForceManager adds the flag that lets managers win. Its completion reads the inputs that the command
// line names so far.
func (p *program) addForceManager(cmd *cobra.Command, managers *[]string, flags *inputFlags) {
	cmd.Flags().Var((*repeated)(managers), "force-manager", "let a manager win every conflict that it takes part in, with a warning for each; of several, the one that is named first (repeatable)")
	_ = cmd.RegisterFlagCompletionFunc("force-manager", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		read := *flags
		read.files = slices.Concat(read.files, args)
		managers := slices.DeleteFunc(p.read(read).managers(), func(name string) bool { return report.Printable(name) != name })
		return managers, cobra.ShellCompDirectiveNoFileComp
	})
}

// managers are the names of all managers with a patch, each once, in order.
func (in *input) managers() []string {
	names := slices.Clone(in.patchers)
	for i := range in.patches {
		names = append(names, in.patches[i].Patch.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// patchedBy notes the managers of a TrainJob.
func (in *input) patchedBy(job *trainer.TrainJob) {
	for i := range job.Spec.RuntimePatches {
		in.patchers = append(in.patchers, job.Spec.RuntimePatches[i].Manager)
	}
}

// forceFlag begins the errors about the managers to let win.
const forceFlag = "--force-manager: "

// unknownManager is the mistake of letting somebody win who has no patch. Where something could not be
// read there may well be such a patch, and nil is returned.
func (in *input) unknownManager(force []string) error {
	known := in.managers()
	for _, name := range force {
		if slices.Contains(known, name) || in.findings.Err() != nil {
			continue
		}
		hint := didYouMean(name, known)
		if hint == "" && len(known) > 0 {
			hint = fmt.Sprintf("; the managers are %q", known)
		}
		return usageError{fmt.Errorf("%sno patch is of manager %q%s", forceFlag, name, hint)}
	}
	return nil
}
