package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// revision is set by the Makefile's build: the revision that a binary was built from is not
// recorded where stamping is switched off. tag is set by its release.
var revision, tag string

// What this version renders for; the modules' versions in go.mod are the same.
const renders = "Trainer 2.3.0, JobSet 0.12.0, Kubernetes 1.36"

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the revision it was built from, and what it renders for",
		Example: "  trainweld version",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			rev := revision
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" && rev == "" {
						rev = s.Value
					}
				}
			}
			if rev == "" {
				rev = "unknown"
			}
			_, err := fmt.Fprintf(p.stdout, "trainweld %s\nrevision %s\nrenders for %s\nbuilt with %s for %s/%s\n",
				programVersion(), rev, renders, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// programVersion is the version of the release, or of the module, that the program was built from.
func programVersion() string {
	if tag != "" {
		return tag
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
