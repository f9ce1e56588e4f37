package option

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/render/trainjob"
)

// Runtime is the value of --runtime: a runtime by its name, and by its kind if the flag names one.
type Runtime struct{ Kind, Name string }

// AddRuntime adds the flag --runtime.
func AddRuntime(cmd *cobra.Command, r *Runtime, help string) {
	cmd.Flags().Var(r, "runtime", "`[KIND/]NAME`, "+help)
	var kinds []string
	for _, kind := range trainjob.RuntimeKinds() {
		kinds = append(kinds, kind+"/")
	}
	commandline.Complete(cmd, "runtime", cobra.FixedCompletions(kinds,
		cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
}

// Set parses the value, and rejects the name of a file.
func (r *Runtime) Set(text string) error {
	kind, name, hasKind := strings.Cut(text, "/")
	if !hasKind {
		kind, name = "", text
	}
	kinds := trainjob.RuntimeKinds()
	if hasKind && !slices.Contains(kinds, kind) || filepath.Ext(name) == ".yaml" {
		near := DidYouMean(kind, kinds)
		if filepath.Ext(name) == ".yaml" {
			near = "; name files with -r"
		}
		return exit.Usage(
			fmt.Errorf("--runtime: %q is not [KIND/]NAME of a runtime, with the kind %s%s",
				text, strings.Join(kinds, " or "), near))
	}
	*r = Runtime{kind, name}
	return nil
}

func (r *Runtime) String() string { return strings.TrimPrefix(r.Kind+"/"+r.Name, "/") }

// Type returns the type in the help.
func (r *Runtime) Type() string { return "string" }
