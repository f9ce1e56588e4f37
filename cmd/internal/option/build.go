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

// Forced collects which managers of a flag, such as --force-manager, the parts of a run know. Some
// parts may lack a manager.
type Forced struct {
	flag   string
	names  []string
	known  map[string]bool
	failed map[string]error
}

// NewForced returns a collection for the managers of a flag.
func NewForced(flag string, names []string) *Forced {
	return &Forced{flag, names, map[string]bool{}, map[string]error{}}
}

// Take takes the managers of a part. A nil Forced takes none.
func (f *Forced) Take(in *workspace.Input) {
	if f == nil {
		return
	}
	for _, name := range f.names {
		if err := UnknownManager(in, f.flag, []string{name}); err != nil {
			f.failed[name] = err
		} else {
			f.known[name] = true
		}
	}
}

// Err returns an error for a manager that every part lacks.
func (f *Forced) Err() error {
	if f == nil {
		return nil
	}
	for _, name := range f.names {
		if !f.known[name] && f.failed[name] != nil {
			return f.failed[name]
		}
	}
	return nil
}
