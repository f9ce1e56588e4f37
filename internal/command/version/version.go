// Package version is the command version: what this build is called, and for which versions of the API it renders.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/internal/option"
)

// What this version renders for; the modules' versions in go.mod are the same.
const renders = "Trainer 2.3.0, JobSet 0.12.0, Kubernetes 1.36"

// Command returns the command, with its flags and its help.
func Command(p *host.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the revision it was built from, and what it renders for",
		Example: "  trainweld version",
		Args:    option.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			rev := p.Revision
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
			_, err := fmt.Fprintf(p.Stdout, "trainweld %s\nrevision %s\nrenders for %s\nbuilt with %s for %s/%s\n",
				p.Version(), rev, renders, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
