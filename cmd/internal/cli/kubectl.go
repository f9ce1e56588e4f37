package cli

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/host"
)

// The program names that kubectl searches on the PATH: for `kubectl trainweld`, and for a shell's
// completion of its arguments.
const (
	plugin           = "kubectl-trainweld"
	pluginCompletion = "kubectl_complete-trainweld"
)

// invoked returns the command that the user types, and the arguments of the program. It depends on
// the name of the program's file. For kubectl's questions about completions, it adds cobra's
// command.
func invoked(file string, args []string) (string, []string) {
	switch strings.TrimSuffix(strings.ToLower(filepath.Base(file)), ".exe") {
	case plugin:
		return "kubectl trainweld", args
	case pluginCompletion:
		return "kubectl trainweld", append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	return "trainweld", args
}

// named shows the name that the user types in the usage, the examples and the mentions of all
// commands.
func named(p *host.Program, root *cobra.Command) {
	if p.Name == "" || p.Name == root.Name() {
		return
	}
	var names []string
	for _, cmd := range root.Commands() {
		names = append(names, cmd.Name())
	}
	mention := regexp.MustCompile(`\btrainweld( (?:` + strings.Join(names, "|") + `)\b)`)
	var rename func(cmd *cobra.Command)
	rename = func(cmd *cobra.Command) {
		for _, text := range []*string{&cmd.Short, &cmd.Long, &cmd.Example} {
			*text = mention.ReplaceAllString(*text, p.Name+"$1")
		}
		for _, c := range cmd.Commands() {
			rename(c)
		}
	}
	rename(root)
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: p.Name}
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Long = pluginCompletionHelp
			cmd.Example = "  ln -s \"$(command -v " + plugin + ")\" ~/bin/" + pluginCompletion
		}
	}
}

const pluginCompletionHelp = `kubectl completes its plugins itself: it asks an executable named ` +
	pluginCompletion + ` on the PATH.
Link or copy this program to that name, and every shell for which kubectl's own completion is set up
completes "kubectl trainweld" too.

The commands below write scripts for shells in which the program is called trainweld.`
