package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/trainweld/internal/report"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/schema"
	"github.com/trainweld/trainweld/schema/manifest"
)

// renderFlags are the flags of render.
type renderFlags struct {
	inputFlags
	format     string
	outputDir  string
	to, as     string
	onConflict string
	force      []string
	strict     bool
	showValues bool
	showNotes  bool

	secrets         bool
	fluxTemplates   string
	featureGates    string
	ownerReferences bool
	children        childFlags
}

func (p *program) renderCommand() *cobra.Command {
	var flags renderFlags
	cmd := &cobra.Command{
		Use:   "render [-f PATH]... [-r PATH]... [--patch FILE]... [flags]",
		Short: "Render TrainJobs to the JobSets, Jobs or Pods that the cluster makes of them",
		Long: `Render TrainJobs to what the cluster makes of them: with --to=jobset, the default, what the Trainer's
controller applies; with --to=jobs and --to=pods what the controllers after it create. For these two a
JobSet may also be given itself.

A PATH is a file, a directory, a quoted glob or - for standard input. Files hold TrainJobs and
runtimes, as YAML or JSON; a TrainJob's runtime is looked up by kind, namespace and name. Objects go to
standard output or to --output-dir, findings to standard error. When anything is an error, nothing is
written.

Exit status: 0 done, 1 a finding is an error, 2 usage, input or output failed.`,
		Example: `  # One TrainJob, its runtime from another file
  trainweld render -f job.yaml -r runtime.yaml

  # What the platform's and Kueue's patches, laid over it in this order, make of it
  trainweld render -f job.yaml -r runtime.yaml --patch platform.yaml --patch kueue.yaml

  # As the cluster would, also where managers disagree: the last patch wins, with a warning
  trainweld render -f job.yaml -r runtime.yaml --on-conflict=last

  # As if one manager's patch won wherever managers disagree, with a warning for each value that gives way
  trainweld render -f job.yaml -r runtime.yaml --force-manager=trainer.kubeflow.org/kubeflow-sdk

  # Every TrainJob below a directory to a file of its own
  trainweld render -R -f jobs/ -r runtimes/ --output-dir rendered/

  # The Pods of the first two nodes, as the cluster stores them
  trainweld render -f job.yaml -r runtime.yaml --to=pods --job=node --index=0..1 --as=stored

  # Who runs where, at a glance
  trainweld render -f job.yaml -r runtime.yaml --to=pods -o table

  # From a pipe
  kustomize build . | trainweld render -f -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.files = append(flags.files, args...)
			if cmd.Flags().Changed("output-dir") && flags.outputDir == "" {
				return usageError{errors.New("--output-dir: an empty path; name a directory")}
			}
			return p.render(flags)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&flags.files, "filename", "f", nil, "read TrainJobs and runtimes from a file, directory, glob or - (repeatable)")
	f.StringArrayVarP(&flags.runtimes, "runtime", "r", nil, "read runtimes, also <trainjob>-runtime-snapshot ConfigMaps, from a file, directory or glob (repeatable)")
	f.StringArrayVar(&flags.patches, "patch", nil, "lay the managers' patches of a file over every TrainJob, after its own: a RuntimePatch, a list of them, or a TrainJob (repeatable)")
	f.BoolVarP(&flags.recursive, "recursive", "R", false, "read directories below directories, too")
	f.StringVarP(&flags.namespace, "namespace", "n", "", `the namespace of objects that name none (default "default")`)
	f.StringVarP(&flags.format, "output", "o", "yaml", "yaml, json, or, of Pods, table or wide")
	f.StringVar(&flags.outputDir, "output-dir", "", "write one file per TrainJob into this directory, all or none")
	f.StringVar(&flags.to, "to", "jobset", "what to render: jobset, with the ConfigMaps, Secrets and PodGroups beside it; jobs, with the Service and the volume claims; or pods")
	f.StringVar(&flags.as, "as", "applied", "applied: what the controllers send to the API server; stored: with what the API server and the webhooks fill in")
	f.StringVar(&flags.onConflict, "on-conflict", "fail", "fail: managers that disagree are an error; last: the last patch wins, as in the cluster, with a warning")
	p.addForceManager(cmd, &flags.force, &flags.inputFlags)
	f.BoolVar(&flags.secrets, "generate-secrets", false, "make the Secrets that the controller makes: MPI's SSH keys, Flux's certificate; new ones on every run")
	f.StringVar(&flags.fluxTemplates, "flux-templates", "", "the folder of Flux's scripts: pkg/runtime/framework/plugins/flux/templates of the trainer module")
	f.StringVar(&flags.featureGates, "feature-gates", "", "feature gates of the Trainer's controller: TrainJobStatus=true")
	f.BoolVar(&flags.ownerReferences, "owner-references", false, "add the controllers' owner references, without the uids that only a cluster has")
	flags.children.add(f)
	f.BoolVar(&flags.strict, "strict", false, "count warnings as errors")
	f.BoolVar(&flags.showValues, "show-values", false, "show the values of environment variables in findings")
	f.BoolVar(&flags.showNotes, "show-notes", false, "show notes, too: what is worth knowing and no problem")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"yaml", "json", tableFormat, wideFormat}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("on-conflict", cobra.FixedCompletions([]string{"fail", "last"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions([]string{"jobset", "jobs", "pods"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions([]string{"applied", "stored"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagDirname("output-dir")
	return cmd
}

// rendered is what one TrainJob, or a JobSet that was given itself, becomes.
type rendered struct {
	job     job
	objects iter.Seq2[any, error]
	table   podTable
}

// The formats of a table of Pods, besides those of manifests.
const (
	tableFormat = "table"
	wideFormat  = "wide"
)

func (flags renderFlags) asTable() bool {
	return flags.format == tableFormat || flags.format == wideFormat
}

func (p *program) render(flags renderFlags) error {
	format, opts, err := flags.parse()
	if err != nil {
		return usageError{err}
	}
	podOpts, err := flags.children.options(opts.As, opts.OwnerReferences)
	if err != nil {
		return usageError{err}
	}
	if flags.to != "jobset" {
		// What the API server fills in when it stores the JobSet would look as if the JobSet said it.
		flags.spelled, opts.As = true, render.Applied
	}
	opts.ForceManagers = flags.force
	in := p.read(flags.inputFlags)
	if err := in.unknownManager(flags.force); err != nil {
		return err
	}
	findings := in.findings
	further := in.furtherPatches()
	var all []rendered
	for _, j := range in.jobs {
		found, out := in.renderJob(j, render.Input{TrainJob: j.TrainJob, Patches: further}, opts)
		objects, table := each(out.objects()), podTable{}
		if flags.to != "jobset" && out.jobSet != nil && found.Err() == nil {
			f := children(out.jobSet, out.companions, flags, podOpts)
			in.locate(j, f.findings)
			found, objects, table = append(found, f.findings...), f.objects, f.table
		}
		findings = append(findings, found...)
		all = append(all, rendered{j, objects, table})
	}
	if flags.to != "jobset" {
		for _, js := range in.jobSets {
			f := children(js.JobSet, nil, flags, podOpts)
			for i := range f.findings {
				f.findings[i].Position = js.document.Position(f.findings[i].Path)
			}
			findings = append(findings, f.findings...)
			all = append(all, rendered{job{TrainJob: js.asTrainJob(), document: js.document}, f.objects, f.table})
		}
	}
	if len(all) == 0 && findings.Err() == nil {
		findings = append(findings, schema.Finding{
			Code: schema.CodeNoTrainJob, Severity: schema.Error,
			Message: "the inputs hold no TrainJob", Help: "name files with TrainJobs with -f; -r is for runtimes only, and -R descends into directories",
		})
	}
	if flags.outputDir != "" {
		findings = append(findings, unsafeNames(all)...)
	}
	findings = report.Distinct(findings)
	if err := p.report(findings, report.Options{ShowValues: flags.showValues, ShowNotes: flags.showNotes}); err != nil {
		return err
	}
	if err := failure(findings, flags.strict); err != nil {
		return err
	}
	if flags.outputDir != "" {
		files, err := encodeFiles(all, format)
		if err != nil {
			return err
		}
		if err := writeDir(flags.outputDir, files); err != nil {
			return fmt.Errorf("--output-dir: %w", err)
		}
		return nil
	}
	if flags.asTable() {
		for _, r := range all {
			if err := r.table.write(p.stdout); err != nil {
				return err
			}
		}
		return nil
	}
	streams := make([]iter.Seq2[any, error], len(all))
	for i := range all {
		streams[i] = all[i].objects
	}
	return encodeStream(p.stdout, format, chain(streams))
}

// report writes the findings to standard error, as text. They stand beside the objects, so they go
// without source lines.
func (p *program) report(findings schema.Findings, opts report.Options) error {
	const format = "text"
	if err := report.Write(p.stderr, format, findings, opts); err != nil {
		return err
	}
	if summary := report.Summary(format, findings); summary != "" {
		fmt.Fprintln(p.stderr, summary)
	}
	return nil
}

// parse reads the flags that have words for values.
func (flags renderFlags) parse() (manifest.Format, render.Options, error) {
	var opts render.Options
	if len(flags.files) == 0 {
		return 0, opts, errors.New("nothing to render: name files with -f, or - for standard input")
	}
	var format manifest.Format
	if flags.asTable() {
		if flags.to != "pods" || flags.outputDir != "" {
			return 0, opts, fmt.Errorf("-o %s is a table of Pods for standard output: add --to=pods, and leave --output-dir out", flags.format)
		}
	} else {
		var err error
		if format, err = manifest.ParseFormat(flags.format); err != nil {
			return 0, opts, fmt.Errorf("-o: %w", err)
		}
	}
	var err error
	if opts.OnConflict, err = parseOnConflict(flags.onConflict); err != nil {
		return 0, opts, err
	}
	if flags.to != "jobset" && flags.to != "jobs" && flags.to != "pods" {
		return 0, opts, fmt.Errorf("--to: %q is none of jobset, jobs and pods", flags.to)
	}
	switch flags.as {
	case "applied":
	case "stored":
		opts.As = render.Stored
	default:
		return 0, opts, fmt.Errorf("--as: %q is neither applied nor stored", flags.as)
	}
	if opts.FeatureGates, err = render.ParseFeatureGates(flags.featureGates); err != nil {
		return 0, opts, fmt.Errorf("--feature-gates: %w", err)
	}
	if flags.secrets {
		opts.Secrets = rand.Reader
	}
	if flags.fluxTemplates != "" {
		opts.FluxTemplates = os.DirFS(flags.fluxTemplates)
	}
	opts.OwnerReferences = flags.ownerReferences
	return format, opts, flags.checkPaths()
}

// parseOnConflict reads the value of --on-conflict.
func parseOnConflict(word string) (render.OnConflict, error) {
	switch word {
	case "fail":
		return render.Fail, nil
	case "last":
		return render.Last, nil
	default:
		return 0, fmt.Errorf("--on-conflict: %q is neither fail nor last", word)
	}
}

// made is what the library made of one TrainJob.
type made struct {
	jobSet     *jobset.JobSet
	companions []runtime.Object
	owners     *merge.Ownership // where they were asked for
}

func (m made) objects() []any {
	var objects []any
	if m.jobSet != nil {
		objects = append(objects, m.jobSet)
	}
	for _, companion := range m.companions {
		objects = append(objects, companion)
	}
	return objects
}

// renderJob renders one TrainJob and says where its findings stand.
func (in *input) renderJob(j job, input render.Input, opts render.Options) (schema.Findings, made) {
	spec, missing := in.runtimes.Find(j.TrainJob)
	if missing != nil {
		if in.broken[render.RuntimeOf(j.TrainJob)] {
			return nil, made{} // its own findings say what is wrong with it
		}
		findings := schema.Findings{*missing}
		in.locate(j, findings)
		return findings, made{}
	}
	input.Runtime, input.Overrides = spec, j.document.Overrides.DeepCopy()
	render.DefaultOverrides(input.Overrides)
	// The error is the findings once more.
	out, _ := render.JobSet(input, opts)
	in.locate(j, out.Findings)
	out.Findings.Sort()
	if in.spelled && out.JobSet != nil {
		before := out.JobSet.Spec.DeepCopy()
		spellPorts(out.JobSet, spec)
		if out.Owners != nil {
			out.Owners.WriteChanges(schema.Default, schema.Fields("spec"), *before, out.JobSet.Spec)
		}
	}
	return out.Findings, made{out.JobSet, out.Companions, out.Owners}
}

// failure is the exit status that findings ask for: 2 when an input could not be read at all, 1 for
// any other error.
func failure(findings schema.Findings, strict bool) error {
	worst := schema.Severity(0)
	for _, f := range findings {
		if f.Code == schema.CodeUnreadable {
			return exitStatus(exitFailed)
		}
		worst = max(worst, f.Severity)
	}
	if worst >= schema.Error || strict && worst >= schema.Warning {
		return exitStatus(exitFindings)
	}
	return nil
}

// encodeFiles encodes each TrainJob's objects as a file of its own.
func encodeFiles(all []rendered, format manifest.Format) ([]outputFile, error) {
	files := make([]outputFile, len(all))
	for i, r := range all {
		var b bytes.Buffer
		if err := encodeStream(&b, format, r.objects); err != nil {
			return nil, err
		}
		files[i] = outputFile{name: fileName(r.job, format), data: b.Bytes()}
	}
	return files, nil
}
