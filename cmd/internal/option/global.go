package option

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/minor"
)

// Global holds the flags of the program. They mean the same in each command.
type Global struct {
	Color Color
	// All shows each finding: also notes, and each of those with one cause.
	All          bool
	ShowValues   bool
	FeatureGates render.FeatureGates
	inputs       []*workspace.Flags
}

// Inputs sets the namespace and the release of the input by the flags of the program.
func (g *Global) Inputs(flags *workspace.Flags) { g.inputs = append(g.inputs, flags) }

// Add adds the flags to the program.
func (g *Global) Add(root *cobra.Command) {
	g.Color = autoColor
	f := root.PersistentFlags()
	color := parsedFlag{text: string(autoColor), kind: "string", parse: func(text string) error {
		g.Color = Color(text)
		return OneOf("--color", text, colorWords()...)
	}}
	f.Var(&color, "color",
		"color the text: auto, always or never; auto is for a terminal unless NO_COLOR is set")
	commandline.Words(root, "color", colorWords()...)
	f.BoolVar(&g.All, "all", false,
		"show each finding, also notes; and all findings and TrainJobs with one cause")
	f.BoolVar(&g.ShowValues, "show-values", false, "show the values of environment variables")
	gates := parsedFlag{kind: "string", parse: func(text string) (err error) {
		if g.FeatureGates, err = render.ParseFeatureGates(text); err != nil {
			return fmt.Errorf("--feature-gates: %w", err)
		}
		return nil
	}}
	f.Var(&gates, "feature-gates",
		"feature gates of the controller, such as TrainJobStatus=true; since 2.4 also "+
			"DynamicResourceAllocation=true")
	namespace := parsedFlag{kind: "string", parse: func(text string) error {
		for _, in := range g.inputs {
			in.Namespace = text
		}
		return workspace.CheckNamespace(text)
	}}
	f.VarP(&namespace, "namespace", "n",
		`the namespace of objects that name none (default "default")`)
	addVersion(root, f, versionFlag,
		"the release of the Trainer, with its JobSet: 2.0, 2.1, 2.2, 2.3 or 2.4; the default is "+
			"that of the nearest "+workspace.ConfigName+", else the latest one",
		func(r *release.Release) {
			for _, in := range g.inputs {
				in.Release = r
			}
		})
	kubernetes := parsedFlag{kind: "version", parse: func(text string) error {
		name, err := minor.Parse(text)
		if err != nil {
			return fmt.Errorf("--kubernetes-version: %w", err)
		}
		for _, in := range g.inputs {
			in.Kubernetes = name
		}
		return nil
	}}
	f.Var(&kubernetes, "kubernetes-version",
		"the minor version of Kubernetes: "+strings.Join(minor.Names(), ", ")+"; the default is "+
			"that of the nearest "+workspace.ConfigName+", else that of the release")
	commandline.Words(root, "kubernetes-version", minor.Names()...)
}

// Report returns the options of a report that goes to out.
func (g *Global) Report(p *host.Program, out io.Writer) report.Options {
	return report.Options{
		ShowValues: g.ShowValues, ShowNotes: g.All, All: g.All, More: ShowsAll,
		Color: g.Color.Screen(p, out).Color,
	}
}

// Color is the value of --color.
type Color string

const autoColor Color = "auto"

func colorWords() []string { return []string{string(autoColor), "always", "never"} }

// Check returns an error for a color of a format other than text.
func (c Color) Check(format string) error {
	if c == autoColor || format == "text" {
		return nil
	}
	return fmt.Errorf("--color has no effect on -o %s: remove it", format)
}

// Screen returns the capabilities of an output of the program. The flag decides on colors.
func (c Color) Screen(p *host.Program, out io.Writer) host.Screen {
	s := p.Screen(out)
	if c != autoColor {
		s.Color = c == "always"
	}
	return s
}

// Painter returns what adds the colors to the text of an output.
func (c Color) Painter(p *host.Program, out io.Writer) host.Painter {
	return host.Painter(c.Screen(p, out).Color)
}

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
