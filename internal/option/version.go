package option

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/internal/exit"
	"github.com/trainweld/trainweld/release"
)

// versionFlag is the name of the flag that selects a release.
const versionFlag = "trainer-version"

// AddTrainerVersion adds the flag --trainer-version. It leaves the release nil without the flag.
func AddTrainerVersion(cmd *cobra.Command, r **release.Release) {
	cmd.Flags().Var(versionValue{r}, versionFlag, "the release of the Trainer, with its JobSet: 2.0, 2.1, 2.2 or 2.3; the default is that of the nearest trainweld.yaml, else the latest one")
	_ = cmd.RegisterFlagCompletionFunc(versionFlag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var versions []string
		for _, known := range release.Known() {
			versions = append(versions, fmt.Sprintf("%s\tTrainer %s, JobSet %s", known.Name, known.Version, known.JobSetVersion))
		}
		return versions, cobra.ShellCompDirectiveNoFileComp
	})
}

type versionValue struct{ release **release.Release }

func (v versionValue) String() string {
	if v.release == nil || *v.release == nil {
		return ""
	}
	return (*v.release).Name
}

func (v versionValue) Set(text string) error {
	r, err := ParseVersion(text)
	if err != nil {
		return exit.Usage(fmt.Errorf("--%s: %w", versionFlag, err))
	}
	*v.release = r
	return nil
}

// Type returns the placeholder in the help.
func (versionValue) Type() string { return "version" }

// ParseVersion parses a version of the Trainer. The error names the known ones, and a similar one.
func ParseVersion(text string) (*release.Release, error) {
	r, err := release.Parse(text)
	if err == nil {
		return r, nil
	}
	// Versions resemble each other too much for Nearest.
	numbers := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if len(numbers) == 1 {
		numbers = strings.Split(numbers[0], "")
	}
	for _, known := range release.Known() {
		if len(numbers) > 1 && known.Name == numbers[0]+"."+numbers[1] {
			return nil, fmt.Errorf("%w; did you mean %s?", err, known.Name)
		}
	}
	return nil, err
}
