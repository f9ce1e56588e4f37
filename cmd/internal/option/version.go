package option

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/render/release"
)

// versionFlag is the name of the flag that selects a release.
const versionFlag = "trainer-version"

// AddTrainerVersion adds the flag --trainer-version. It leaves the release nil without the flag.
func AddTrainerVersion(cmd *cobra.Command, r **release.Release) {
	AddVersion(cmd, r, versionFlag, "the release of the Trainer, with its JobSet: 2.0, 2.1, 2.2, 2.3 or 2.4; the default is that of the nearest trainweld.yaml, else the latest one")
}

// AddVersion adds a flag that names a release. It leaves the release nil without the flag.
func AddVersion(cmd *cobra.Command, r **release.Release, name, usage string) {
	version := parsedFlag{kind: "version", parse: func(text string) error {
		parsed, err := release.Parse(text)
		if err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
		*r = parsed
		return nil
	}}
	cmd.Flags().Var(&version, name, usage)
	commandline.Complete(cmd, name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var versions []string
		for _, known := range release.Known() {
			about := fmt.Sprintf("Trainer %s, JobSet %s", known.Version, known.JobSetVersion)
			if known.Unread() {
				about += ", by its notes and guide"
			}
			versions = append(versions, known.Name+"\t"+about)
		}
		return versions, cobra.ShellCompDirectiveNoFileComp
	})
}
