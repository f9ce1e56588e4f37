package option

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/render/release"
)

// versionFlag is the name of the flag that selects a release.
const versionFlag = "trainer-version"

// AddVersion adds a flag that names a release. It leaves the release nil without the flag.
func AddVersion(cmd *cobra.Command, r **release.Release, name, usage string) {
	addVersion(cmd, cmd.Flags(), name, usage, func(parsed *release.Release) { *r = parsed })
}

func addVersion(cmd *cobra.Command, f *pflag.FlagSet, name, usage string,
	set func(*release.Release)) {
	version := parsedFlag{kind: "version", parse: func(text string) error {
		parsed, err := release.Parse(text)
		if err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
		set(parsed)
		return nil
	}}
	f.Var(&version, name, usage)
	commandline.Complete(
		cmd, name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
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
