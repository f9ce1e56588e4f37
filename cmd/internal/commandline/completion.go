package commandline

import (
	"context"

	"github.com/spf13/cobra"
)

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
