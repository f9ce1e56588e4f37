package option

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
)

// Render holds the flags of render. blame and fn share most of them.
type Render struct {
	workspace.Flags
	*Global
	Format     string
	OutputDir  string
	Prune      bool
	ExitCode   bool
	To, As     string
	For        string
	OnConflict string
	Queued     []string // the paths of --flavors
	Assigned   []string // the values of --flavor
	Old, Git   string   // the state before
	Force      []string
	Severity   []string
	Strict     bool

	Secrets         bool
	FluxTemplates   string
	OwnerReferences bool
	Children        Children
}

// AsTable reports whether the format is a table of Pods.
func (flags Render) AsTable() bool {
	return flags.Format == TableFormat || flags.Format == WideFormat
}

// Parse parses the flags with a fixed set of values, and returns an error for an invalid one.
func (flags Render) Parse() (manifest.Format, render.Options, error) {
	var opts render.Options
	if flags.Empty() {
		return 0, opts, errors.New("nothing to render: name files with -f, or - for standard input")
	}
	var format manifest.Format
	if flags.AsTable() {
		if flags.To != "pods" && flags.To != PodSets || flags.OutputDir != "" {
			return 0, opts,
				fmt.Errorf("-o %s is a table of Pods or Pod sets for standard output: add "+
					"--to=pods or --to=podsets, and leave --output-dir out", flags.Format)
		}
	} else if flags.Format == NameFormat {
		if flags.OutputDir != "" {
			return 0, opts,
				errors.New("-o name writes names to standard output: leave --output-dir out")
		}
	} else {
		var err error
		if format, err = manifest.ParseFormat(flags.Format); err != nil {
			return 0, opts,
				OneOf("-o", flags.Format, "yaml", "json", NameFormat, TableFormat, WideFormat)
		}
	}
	if err := cmp.Or(flags.checkFor(), flags.checkIneffective()); err != nil {
		return 0, opts, err
	}
	opts = flags.Options()
	switch {
	case flags.Old != "" && flags.Git != "":
		return 0, opts, errors.New("--git and --old exclude each other: use one of the two")
	case (flags.Old != "" || flags.Git != "") && flags.Builds():
		return 0, opts,
			errors.New("--old and --git render no builds: build first, and name the files")
	}
	if (flags.Old != "" || flags.Git != "") &&
		(flags.To != "jobset" && flags.To != "jobs" || flags.As == "stored" ||
			flags.For == ForApply || flags.For == ForRuntime) {
		return 0, opts,
			errors.New("--old and --git render a JobSet or Jobs as stored, --to=jobset or " +
				"--to=jobs: leave --as and --for out; Pods that exist never change, and others " +
				"follow their Job")
	}
	if flags.Secrets {
		opts.Secrets = rand.Reader
	}
	if flags.FluxTemplates != "" {
		opts.FluxTemplates = os.DirFS(flags.FluxTemplates)
	}
	return format, opts, flags.CheckPaths()
}

// Options returns the library's options for a JobSet. For Jobs and Pods it is one as it is applied:
// the API server's defaults would look like values of its own.
func (flags Render) Options() render.Options {
	opts := render.Options{OnConflict: ParseOnConflict(flags.OnConflict),
		ForceManagers: flags.Force, FeatureGates: flags.FeatureGates,
		OwnerReferences: flags.OwnerReferences}
	if flags.As == "stored" && flags.To == "jobset" {
		opts.As = render.Stored
	}
	return opts
}

// Pods returns the library's options for Pods, which include the options for Jobs.
func (flags Render) Pods() render.PodsOptions {
	opts := flags.Children.pods
	opts.Stored, opts.OwnerReferences = flags.As == "stored", flags.OwnerReferences
	return opts
}

// AddResult adds the flags that say what a rendering makes. An options.yaml has them by name, and a
// RenderTrainJobs has most. kinds are the values of --to, the default first.
func (flags *Render) AddResult(p *host.Program, cmd *cobra.Command, kinds ...string) {
	f := cmd.Flags()
	AddWord(cmd, &flags.To, "to", kinds,
		"the objects to render: jobset, jobs, pods or podsets; jobset is with ConfigMaps, "+
			"Secrets and PodGroups, jobs with the Service and the volume claims, and Kueue "+
			"counts podsets")
	AddAs(cmd, &flags.As)
	AddOnConflict(cmd, &flags.OnConflict, "fail",
		"fail where managers disagree, or last: the last patch wins; with a warning, as in "+
			"the cluster")
	AddForceManager(p, cmd, &flags.Force, &flags.Flags)
	f.StringVar(&flags.FluxTemplates, "flux-templates", "",
		"the folder of Flux's scripts in the trainer module; "+
			"pkg/runtime/framework/plugins/flux/templates")
	f.BoolVar(&flags.OwnerReferences, "owner-references", false,
		"add the controllers' owner references, without uids of a cluster")
	f.StringVar((*string)(&flags.Children.pods.JobSetUID), "jobset-uid", "",
		"with --to=jobs or pods: the JobSet's uid, for the labels that carry it")
	flags.Children.Add(
		f, "with --to=pods: the Pods of this Job or replicated job; INDEX is N, N..M, or all, "+
			"also the Pods that a Job creates only as others finish")
}

// AddAs adds the flag --as.
func AddAs(cmd *cobra.Command, as *string) {
	AddWord(cmd, as, "as", []string{"applied", "stored"},
		"applied, or stored, with the defaults of the API server and the webhooks; applied "+
			"is as the controllers send objects to the API server")
}

// The values of --for.
const (
	ForReview  = "review"
	ForApply   = "apply"
	ForRuntime = "runtime"
)

// NoExtended returns the error of --for=runtime without an extended patch.
func NoExtended() error {
	return errors.New(
		"--for=runtime: no TrainJob gets an extended patch: name one with --patch, or in the " +
			"policy file")
}

// checkFor returns an error for objects that nobody applies.
func (flags Render) checkFor() error {
	switch {
	case flags.For == ForRuntime && (flags.To != "jobset" || flags.As == "stored"):
		return errors.New("--for=runtime makes runtimes of TrainJobs: remove --to and --as")
	case flags.For == ForApply && flags.To != "jobset":
		return fmt.Errorf(
			"--for=apply renders JobSets: the JobSet controller makes the %s of an applied "+
				"JobSet; remove --to", strings.ToUpper(flags.To[:1])+flags.To[1:])
	}
	return nil
}

// checkIneffective returns an error for flags that have no effect on Pod sets.
func (flags Render) checkIneffective() error {
	if flags.To != PodSets {
		return nil
	}
	for _, f := range []struct {
		flag string
		set  bool
	}{
		{"--for=" + flags.For, flags.For == ForApply || flags.For == ForRuntime},
		{"-o " + flags.Format, flags.Format == NameFormat},
		{"--as=" + flags.As, flags.As == "stored"}, {"--generate-secrets", flags.Secrets},
		{"--owner-references", flags.OwnerReferences},
	} {
		if f.set {
			return fmt.Errorf(
				"--to=podsets writes Pod sets, on which %s has no effect: use one of the two",
				f.flag)
		}
	}
	return nil
}

// PodSets is the value of --to for what Kueue counts.
const PodSets = "podsets"

// The formats in addition to the manifests' formats: two tables of Pods, and the names of objects.
const (
	TableFormat = "table"
	WideFormat  = "wide"
	NameFormat  = "name"
)

// Children holds the flags of Jobs and Pods for --to=jobs and --to=pods.
type Children struct {
	selection string
	pods      render.PodsOptions
}

// Add adds the flag --job.
func (c *Children) Add(f *pflag.FlagSet, help string) {
	flag := parsedFlag{parse: func(text string) error {
		c.selection = text
		if err := c.pods.Select(text); err != nil {
			return fmt.Errorf("--job: %w", err)
		}
		return nil
	}}
	f.Var(&flag, "job", "`JOB[/INDEX]`: "+help)
}

// Check returns an error for a selection of objects that are not among the rendered kinds.
func (c *Children) Check(to string, kinds ...string) error {
	if c.pods.JobSetUID != "" && to != "jobs" && to != "pods" {
		return fmt.Errorf(
			"--jobset-uid has no effect on --to=%s: add --to=jobs or --to=pods, or remove it", to)
	}
	if c.selection == "" || slices.Contains(kinds, to) {
		return nil
	}
	return fmt.Errorf("--job has no effect on --to=%s: add --to=%s, or remove it", to,
		strings.Join(kinds, " or --to="))
}

// NoPods returns a usage error for indexes that no Pod of the run has.
func (c *Children) NoPods(pods int64) error {
	if !strings.Contains(c.selection, "/") || pods > 0 {
		return nil
	}
	return exit.Usage(fmt.Errorf("--job: no Pod has an index of %s", c.selection))
}

// IsSet reports whether the flag selects Jobs or Pods.
func (c *Children) IsSet() bool { return c.selection != "" }
