package option

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
)

// Render holds the flags of render. blame and fn share most of them.
type Render struct {
	workspace.Flags
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
	Color      Color
	Strict     bool
	ShowValues bool
	ShowNotes  bool
	All        bool

	Secrets         bool
	FluxTemplates   string
	FeatureGates    string
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
			return 0, opts, fmt.Errorf("-o %s is a table of Pods or Pod sets for standard output: add --to=pods or --to=podsets, and leave --output-dir out", flags.Format)
		}
	} else if flags.Format == NameFormat {
		if flags.OutputDir != "" {
			return 0, opts, errors.New("-o name writes names to standard output: leave --output-dir out")
		}
	} else {
		var err error
		if format, err = manifest.ParseFormat(flags.Format); err != nil {
			return 0, opts, OneOf("-o", flags.Format, "yaml", "json", NameFormat, TableFormat, WideFormat)
		}
	}
	var err error
	if opts.OnConflict, err = ParseOnConflict(flags.OnConflict); err != nil {
		return 0, opts, err
	}
	err = cmp.Or(OneOf("--to", flags.To, "jobset", "jobs", "pods", PodSets), OneOf("--as", flags.As, "applied", "stored"), flags.checkFor(), flags.checkIneffective())
	if err != nil {
		return 0, opts, err
	}
	if flags.As == "stored" {
		opts.As = render.Stored
	}
	switch {
	case flags.Old != "" && flags.Git != "":
		return 0, opts, errors.New("--git and --old exclude each other: use one of the two")
	case (flags.Old != "" || flags.Git != "") && flags.Builds():
		return 0, opts, errors.New("--old and --git render no builds: build first, and name the files")
	}
	if (flags.Old != "" || flags.Git != "") && (flags.To != "jobset" && flags.To != "jobs" || flags.As == "stored" || flags.For == ForApply || flags.For == ForRuntime) {
		return 0, opts, errors.New("--old and --git render a JobSet or Jobs as stored, --to=jobset or --to=jobs: leave --as and --for out; Pods that exist never change, and others follow their Job")
	}
	if opts.FeatureGates, err = ParseFeatureGates(flags.FeatureGates); err != nil {
		return 0, opts, err
	}
	if flags.Secrets {
		opts.Secrets = rand.Reader
	}
	if flags.FluxTemplates != "" {
		opts.FluxTemplates = os.DirFS(flags.FluxTemplates)
	}
	opts.OwnerReferences = flags.OwnerReferences
	return format, opts, flags.CheckPaths()
}

// The values of --for.
const (
	ForReview  = "review"
	ForApply   = "apply"
	ForRuntime = "runtime"
)

// NoExtended returns the error of --for=runtime without an extended patch.
func NoExtended() error {
	return errors.New("--for=runtime: no TrainJob gets an extended patch: name one with --patch, or in the policy file")
}

// checkFor returns an error for an unknown value of --for, and for objects that nobody applies.
func (flags Render) checkFor() error {
	switch {
	case flags.For == "":
		return nil
	case flags.For == ForRuntime && (flags.To != "jobset" || flags.As == "stored"):
		return errors.New("--for=runtime makes runtimes of TrainJobs: remove --to and --as")
	case flags.For == ForApply && flags.To != "jobset":
		return fmt.Errorf("--for=apply renders JobSets: the JobSet controller makes the %s of an applied JobSet; remove --to", strings.ToUpper(flags.To[:1])+flags.To[1:])
	}
	return OneOf("--for", flags.For, ForReview, ForApply, ForRuntime)
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
		{"--for=" + flags.For, flags.For == ForApply || flags.For == ForRuntime}, {"-o " + flags.Format, flags.Format == NameFormat},
		{"--as=" + flags.As, flags.As == "stored"}, {"--generate-secrets", flags.Secrets}, {"--owner-references", flags.OwnerReferences},
	} {
		if f.set {
			return fmt.Errorf("--to=podsets writes Pod sets, on which %s has no effect: use one of the two", f.flag)
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

// Children holds the flags that select Jobs and Pods for --to=jobs and --to=pods.
type Children struct {
	Job        string
	Index      string
	allIndexes bool
	jobSetUID  string
	Explain    bool
	MaxPods    podLimit
}

// Add adds the flags.
func (c *Children) Add(f *pflag.FlagSet) {
	f.StringVar(&c.Job, "job", "", "with --to=pods: only the Pods of this Job, or of this replicated job")
	f.StringVar(&c.Index, "index", "", "with --to=pods: only the Pods of this completion index, or of these: N or N..M")
	f.BoolVar(&c.allIndexes, "all-indexes", false, "with --to=pods: also the Pods that a Job creates only as others finish")
	f.BoolVar(&c.Explain, "explain", false, "with --to=jobs: say in a comment before each Job what it waits for")
	most := parsedFlag{text: strconv.Itoa(render.MaxPods), kind: "int", parse: func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("--max-pods: invalid value %q: must be a whole number of at least 1", text)
		}
		c.MaxPods = podLimit(n)
		return nil
	}}
	f.Var(&most, "max-pods", "with --to=pods: refuse a run of more Pods")
	f.StringVar(&c.jobSetUID, "jobset-uid", "", "the uid of the JobSet, for the labels that carry it")
}

// Check returns an error for flags without an effect on the output.
func (c *Children) Check(to, format string, jobs bool) error {
	for _, f := range []struct {
		flag string
		set  bool
		with []string
	}{
		{"--job", c.Job != "" && jobs, []string{"jobs", "pods"}},
		{"--job", c.Job != "" && !jobs, []string{"pods"}},
		{"--index", c.Index != "", []string{"pods"}},
		{"--all-indexes", c.allIndexes, []string{"pods"}},
		{"--jobset-uid", c.jobSetUID != "", []string{"jobs", "pods"}},
		{"--max-pods", c.MaxPods.Count() != render.MaxPods, []string{"pods"}},
		{"--explain", c.Explain, []string{"jobs"}},
	} {
		if f.set && !slices.Contains(f.with, to) {
			return fmt.Errorf("%s has no effect on --to=%s: add --to=%s, or remove it", f.flag, to, strings.Join(f.with, " or --to="))
		}
	}
	if c.Explain && format != "yaml" {
		return fmt.Errorf("--explain writes comments, and -o %s has none: use one of the two", format)
	}
	return nil
}

// Options returns the library's options for Pods, which include the options for Jobs.
func (c *Children) Options(view render.View, owners bool) (render.PodsOptions, error) {
	opts := render.PodsOptions{
		JobsOptions: render.JobsOptions{
			Stored: view == render.Stored, JobSetUID: types.UID(c.jobSetUID), OwnerReferences: owners,
		},
		Job: c.Job, AllIndexes: c.allIndexes,
	}
	if c.Index == "" {
		return opts, nil
	}
	var err error
	if opts.Indexes, err = render.ParseIndexRange(c.Index); err != nil {
		return opts, fmt.Errorf("--index: %w", err)
	}
	return opts, nil
}

// NoPods returns a usage error for an index that no Pod of the run has.
func (c *Children) NoPods(pods int64) error {
	if c.Index == "" || pods > 0 {
		return nil
	}
	return exit.Usage(fmt.Errorf("--index: no Pod has an index of %s", c.Index))
}

// podLimit is the value of a flag that limits the Pods of a run. Zero, as in commands without the flag, stands for
// render.MaxPods.
type podLimit int64

// Count returns the limit.
func (l podLimit) Count() int64 { return cmp.Or(int64(l), render.MaxPods) }
