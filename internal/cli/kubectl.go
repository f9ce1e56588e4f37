package cli

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/internal/host"
)

// What kubectl looks for on the PATH: the first for `kubectl trainweld`, the second when a shell asks
// what may come behind it.
const (
	plugin           = "kubectl-trainweld"
	pluginCompletion = "kubectl_complete-trainweld"
)

// invoked reads by which name a file of the program was run. It returns the command that a user types to
// get there, and the arguments as the program takes them: kubectl's questions about completion come
// without the word by which cobra knows them.
func invoked(file string, args []string) (string, []string) {
	switch strings.TrimSuffix(strings.ToLower(filepath.Base(file)), ".exe") {
	case plugin:
		return "kubectl trainweld", args
	case pluginCompletion:
		return "kubectl trainweld", append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	return "trainweld", args
}

// named lets a command and those below it speak under the name that the user types: in their usage, in
// their examples, and wherever they name one another.
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

const pluginCompletionHelp = `kubectl completes its plugins itself: it asks an executable named ` + pluginCompletion + ` on the PATH.
Link or copy this program to that name, and every shell for which kubectl's own completion is set up
completes "kubectl trainweld" too.

The commands below write scripts for shells in which the program is called trainweld.`
