// Package version implements the command version. It prints the version of this build and the API
// versions that it renders for.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/minor"
)

// renders lists the versions that this program renders for. The modules' versions in go.mod are the
// same.
const renders = "Trainer 2.3.0, JobSet 0.12.0, Kubernetes " + minor.Linked

// Report is the report of -o json. The tags doc are the descriptions of the JSON Schema.
type Report struct {
	Version  string            `json:"version"`
	Revision string            `json:"revision" doc:"The commit of the build, or unknown."`
	Renders  map[string]string `json:"renders" doc:"The versions that the latest release stands for: trainer, jobset and kubernetes."`
	Releases []jsonRelease     `json:"releases" doc:"The releases of the Trainer that can be rendered for."`
	Minors   []string          `json:"kubernetes" doc:"The minor versions of Kubernetes that --kubernetes-version takes."`
	Go       string            `json:"go"`
	Platform string            `json:"platform" doc:"The operating system and the architecture, such as linux/amd64."`
}

// jsonRelease is a release that --trainer-version takes, with its JobSet.
type jsonRelease struct {
	Trainer string `json:"trainer"`
	JobSet  string `json:"jobset"`
	Minor   string `json:"kubernetes" doc:"The minor version of Kubernetes that applies without --kubernetes-version."`
	Basis   string `json:"basis,omitempty" doc:"What the knowledge of the release rests on, if its source was not compared."`
}

// Command returns the command with its flags and its help.
func Command(p *host.Program) *cobra.Command {
	format := ""
	formats := []string{"text", "json"}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the revision, and the versions that it renders for",
		Long:  "Print the version, the revision, and the versions that it renders for.",
		Example: `  trainweld version

  # For a script
  trainweld version -o json`,
		Args: option.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			switch format {
			case "text":
				return Print(p)
			case "json":
				return output(p)
			default:
				return exit.Usage(option.OneOf("-o", format, formats...))
			}
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", formats[0], "text or json")
	commandline.Words(cmd, "output", formats...)
	return cmd
}

// Print writes the version as text.
func Print(p *host.Program) error {
	_, err := fmt.Fprintf(
		p.Stdout, "trainweld %s\nrevision %s\nrenders for %s\nbuilt with %s for %s/%s\n",
		p.Version(), revision(p), renders, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// output writes the version as JSON.
func output(p *host.Program) error {
	versions := map[string]string{}
	for _, of := range strings.Split(renders, ", ") {
		name, version, _ := strings.Cut(of, " ")
		versions[strings.ToLower(name)] = version
	}
	var releases []jsonRelease
	for _, r := range release.Known() {
		releases = append(releases, jsonRelease{r.Version, r.JobSetVersion, r.Kubernetes,
			release.Basis(r)})
	}
	return report.EncodeReport(
		p.Stdout, Report{p.Version(), revision(p), versions, releases, minor.Names(),
			runtime.Version(),
			runtime.GOOS + "/" + runtime.GOARCH})
}

// revision returns the commit of this build.
func revision(p *host.Program) string {
	if p.Revision != "" {
		return p.Revision
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}
