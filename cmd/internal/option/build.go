package option

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
