package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/trainweld/internal/report"
	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/blame"
)

// blameFlags are the flags of blame. Those that it shares with render mean the same.
type blameFlags struct {
	renderFlags
	schemaFlags
	field      string
	format     string
	color      string
	showOrigin bool
}

func (p *program) blameCommand() *cobra.Command {
	flags := blameFlags{}
	cmd := &cobra.Command{
		Use:   "blame -f PATH... [-r PATH]... [--patch [NAME=]FILE]... [FIELD] [flags]",
		Short: "Show who set each line of the JobSet, a Job or a Pod, and the history of a field",
		Long: `Show the JobSet that the cluster makes of a TrainJob, or with --to its Jobs or Pods, each line led by
who set it: a manager's patch, the TrainJob's own sections (trainjob), the runtime's policy
(policy/torch), a gang scheduler, the API server's defaults (default), and in Jobs and Pods the
controllers that make them (jobset, job). What the runtime set stays quiet, marked by a dot. Marks:

  !   managers disagree: the last one wins, and the others follow as comments
  ~   the value replaces another one
  +N  N other layers set the same value

FIELD is a path as in a manifest, such as 'spec.replicatedJobs[name="node"].template.spec'; the items
of lists may be left out, and so may its beginning. It shows the history of the field and of all that is within it: every layer's
value in the order of writing, and where it stands in the files.

On a terminal a name stands where it changes, and lines are cut at its width; elsewhere every line has
its name, for grep. Literal values of environment variables are masked unless --show-values is given: the
output is a report, and no manifest to apply.

A single object of another kind with --patch merges as the command merge merges it.

If the inputs hold no TrainJob, blame shows the owners of other objects from their metadata.managedFields:
the last writers of each field, without values and history. Read the objects with
kubectl get -o yaml --show-managed-fields. Each line names the manager, its operation and subresource; a
field of several owners has several lines. With -o json each field has its path and its owners, each with
the place of its entry.

Exit status: 0 done, 1 a finding is an error (what can be shown is shown), 2 usage, input or output
failed.`,
		Example: `  # Who set each line of the JobSet
  trainweld blame -f job.yaml -r runtime.yaml

  # With the file and line that each comes from
  trainweld blame -f job.yaml -r runtime.yaml --show-origin

  # Why do the Pods run on these nodes?
  trainweld blame -f job.yaml -r runtime.yaml nodeSelector

  # What Kueue's patch would change
  trainweld blame -f job.yaml -r runtime.yaml --patch kueue.yaml | grep kueue

  # The first Pod of the nodes
  trainweld blame -f job.yaml -r runtime.yaml --to=pods --job=node --index=0

  # Who owns the replicas of a Deployment in a cluster?
  kubectl get deployment web -o yaml --show-managed-fields | trainweld blame -f - spec.replicas`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{fmt.Errorf("blame takes one FIELD, and was given %q; files are named with -f", args)}
			}
			if len(args) == 1 {
				flags.field = args[0]
			}
			return p.blame(flags)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.completeField(flags, toComplete), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
	}
	f := cmd.Flags()
	f.VarP((*repeated)(&flags.files), "filename", "f", "read TrainJobs and runtimes, or other objects with managed fields, from a file, directory, glob or - (repeatable)")
	f.VarP((*repeated)(&flags.runtimes), "runtime", "r", "read runtimes, also <trainjob>-runtime-snapshot ConfigMaps, from a file, directory or glob (repeatable)")
	f.Var((*repeated)(&flags.patches), "patch", "lay the managers' patches of `[NAME=]FILE` over every TrainJob, after its own (repeatable)")
	f.BoolVarP(&flags.recursive, "recursive", "R", false, "read directories below directories, too")
	f.StringVarP(&flags.namespace, "namespace", "n", "", `the namespace of objects that name none (default "default")`)
	f.StringVarP(&flags.format, "output", "o", "text", "text or json")
	f.StringVar(&flags.to, "to", "jobset", "what to show: jobset, jobs or pods")
	f.StringVar(&flags.as, "as", "applied", "applied: what the controllers send to the API server; stored: with what the API server and the webhooks fill in")
	f.StringVar(&flags.onConflict, "on-conflict", "last", "last: the last patch wins, as in the cluster; fail: managers that disagree are an error")
	p.addForceManager(cmd, &flags.force, &flags.inputFlags)
	flags.schemaFlags.add(cmd)
	f.StringVar(&flags.featureGates, "feature-gates", "", "feature gates of the Trainer's controller: TrainJobStatus=true")
	f.StringVar(&flags.children.job, "job", "", "with --to=jobs or --to=pods: only this Job, or those of this replicated job")
	f.StringVar(&flags.children.index, "index", "", "with --to=pods: only the Pods of this completion index, or of these: N or N..M")
	f.BoolVar(&flags.showOrigin, "show-origin", false, "show the file and line that each line comes from")
	f.BoolVar(&flags.showValues, "show-values", false, "show the values of environment variables")
	f.StringVar(&flags.color, "color", "auto", "auto: colours on a terminal, unless NO_COLOR is set; always; or never")
	for flag, words := range map[string][]string{
		"output": {"text", "json"}, "to": {"jobset", "jobs", "pods"}, "as": {"applied", "stored"},
		"on-conflict": {"last", "fail"}, "color": {"auto", "always", "never"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

// blamed is one object, by who set it.
type blamed struct {
	id     fieldpath.Object
	object *blame.Object
	// document and entries are those of an object with managed fields, nil for what a TrainJob becomes.
	document *manifest.Document
	entries  []managedEntry
}

func (p *program) blame(flags blameFlags) error {
	if flags.format != "text" && flags.format != "json" {
		return usageError{fmt.Errorf("unknown format %q: want text or json", flags.format)}
	}
	if !slices.Contains([]string{"auto", "always", "never"}, flags.color) {
		return usageError{fmt.Errorf("--color: %q is none of auto, always and never", flags.color)}
	}
	if flags.format == "json" && (flags.showOrigin || flags.color != "auto") {
		return usageError{errors.New("--show-origin and --color have no effect on -o json: leave them out")}
	}
	objects, findings, err := p.blameAll(flags)
	if err != nil {
		return err
	}
	findings = slices.DeleteFunc(findings.Distinct(), func(f finding.Finding) bool { return f.Severity < finding.Error })
	if err := report.Write(p.stderr, "text", findings, report.Options{ShowValues: flags.showValues}); err != nil {
		return err
	}
	if summary := report.Summary("text", findings); summary != "" {
		fmt.Fprintln(p.stderr, summary)
	}
	selected, err := p.selectFields(objects, flags.field)
	if err != nil {
		return err
	}
	if err := p.writeBlame(flags, selected); err != nil {
		return err
	}
	return failure(findings, false)
}

// blameAll blames the objects of every TrainJob of the inputs.
func (p *program) blameAll(flags blameFlags) ([]blamed, finding.List, error) {
	shared := flags.renderFlags
	shared.format = "yaml"
	if len(flags.files) == 0 {
		return nil, nil, usageError{errors.New("nothing to blame: name files with -f, or - for standard input")}
	}
	_, opts, err := shared.parse()
	if err != nil {
		return nil, nil, usageError{err}
	}
	if err := flags.children.check(flags.to, "yaml", true); err != nil {
		return nil, nil, usageError{err}
	}
	podOpts, err := flags.children.options(opts.As, false)
	if err != nil {
		return nil, nil, usageError{err}
	}
	if flags.to != "jobset" {
		shared.spelled, opts.As = true, render.Applied
	}
	opts.Owners, opts.ForceManagers = true, flags.force
	p, merges := p.mergesObject(flags.inputFlags, flags.schemaFlags)
	if merges {
		return p.blameObject(flags)
	}
	in := p.read(shared.inputFlags)
	if documents, live := in.managedDocuments(); documents != nil {
		err := flags.withoutManaged()
		switch {
		case err != nil && live:
			return nil, nil, usageError{err}
		case live, err == nil && in.findings.Err() == nil:
			objects, findings, err := blameManaged(documents)
			return objects, append(in.findings, findings...), err
		}
	}
	if err := in.unknownManager(flags.force); err != nil {
		return nil, nil, err
	}
	findings := in.findings
	further := in.furtherPatches()
	var objects []blamed
	for _, j := range in.jobs {
		found, out := in.renderJob(j, render.Input{TrainJob: j.TrainJob, Patches: further}, opts)
		findings = append(findings, found...)
		if out.jobSet == nil || flags.onConflict == "fail" && found.Err() != nil {
			continue
		}
		b := blamer{flags: flags, in: in, j: j, out: out, pods: podOpts}
		b.opts = blame.Options{ShowValues: flags.showValues, Locate: func(c engine.Claim) fieldpath.Position { return in.origin(j, c) }}
		if flags.to == "jobset" {
			for _, f := range found {
				if f.Code == finding.CodeOverlap || f.Code == finding.CodeUnion {
					b.opts.Disputed = append(b.opts.Disputed, f.Path)
				}
			}
		}
		b.found = func(more finding.List) {
			in.locate(j, more)
			findings = append(findings, more...)
		}
		made, err := b.objects()
		if err != nil {
			return nil, nil, err
		}
		objects = append(objects, made...)
	}
	if len(in.jobs) == 0 && findings.Err() == nil {
		findings = append(findings, finding.Finding{
			Code: finding.CodeNoTrainJob, Severity: finding.Error,
			Message: "the inputs hold no TrainJob", Remedy: finding.Remedy{Text: "name files with TrainJobs with -f; -r is for runtimes only, and -R descends into directories"},
		})
	}
	return objects, findings, nil
}

// blameObject blames an object that is not a TrainJob, and the patches to it.
func (p *program) blameObject(flags blameFlags) ([]blamed, finding.List, error) {
	m, found, err := p.readMerging(newInput(flags.inputFlags, &progress{}), flags.inputFlags, flags.schemaFlags)
	if err != nil {
		return nil, nil, err
	}
	if m != nil && m.id.Kind == "Secret" && !flags.showValues {
		return nil, nil, usageError{errors.New("the lines of a Secret are its values: add --show-values to see them")}
	}
	merged, more := m.apply(found)
	if found = append(found, more...); merged == nil {
		return nil, found, nil
	}
	conflicts := m.conflicts(merged.owners, render.Fail)
	if found = append(found, conflicts...); flags.onConflict == "fail" && conflicts != nil {
		return nil, found, nil
	}
	opts := blame.Options{ShowValues: flags.showValues, Locate: func(c engine.Claim) fieldpath.Position { return m.position(c.Layer, c.Source) }}
	for _, f := range conflicts {
		opts.Disputed = append(opts.Disputed, f.Path)
	}
	o, err := blame.New(merged.value, merged.typ, merged.owners.All(), opts)
	return []blamed{{id: m.id, object: o}}, found, err
}

// maxBlamed is how many Jobs or Pods of one TrainJob are blamed: nobody reads more, and each takes the
// memory of its whole history.
const maxBlamed = 1000

// blamer blames what becomes of one TrainJob.
type blamer struct {
	flags blameFlags
	in    *input
	j     job
	out   made
	pods  render.PodsOptions
	opts  blame.Options
	found func(finding.List) // takes what is found about Jobs and Pods
}

func (b blamer) objects() ([]blamed, error) {
	js := b.out.jobSet
	if b.flags.to == "jobset" {
		o, err := blame.New(js, merge.JobSetTemplate(), b.out.owners.All(), b.opts)
		return []blamed{{id: fieldpath.Object{Kind: jobSetKind, Namespace: js.Namespace, Name: js.Name}, object: o}}, err
	}
	made, err := render.Jobs(js, b.pods.JobsOptions)
	switch {
	case made == nil:
		return nil, err
	case err != nil:
		b.found(made.Findings)
		return nil, nil
	}
	owners, err := render.OwnersOfChildren(js, b.out.owners, b.pods.JobsOptions)
	if err != nil {
		return nil, err
	}
	if b.flags.to == "jobs" {
		return b.jobs(made, owners)
	}
	var objects []blamed
	for pod, err := range render.Pods(js, b.pods) {
		if err != nil {
			return nil, usageError{err}
		}
		if len(objects) == maxBlamed {
			return nil, usageError{fmt.Errorf("there are more than %d Pods, of which most are alike: select some with --job and --index", maxBlamed)}
		}
		history, err := owners.Pod(pod)
		if err != nil {
			return nil, err
		}
		o, err := blame.New(pod, blame.PodType(), history, b.opts)
		if err != nil {
			return nil, err
		}
		objects = append(objects, blamed{id: fieldpath.Object{Kind: "Pod", Namespace: pod.Namespace, Name: cmp.Or(pod.Spec.Hostname, pod.GenerateName)}, object: o})
	}
	return objects, nil
}

func (b blamer) jobs(out *render.JobsOutput, owners *render.ChildOwners) ([]blamed, error) {
	var objects []blamed
	var names []string
	for _, child := range slices.Concat(out.Jobs, out.Later) {
		names = append(names, child.Job.Name)
		if only := b.pods.Job; only != "" && only != child.ReplicatedJob && only != child.Job.Name {
			continue
		}
		if len(objects) == maxBlamed {
			return nil, usageError{fmt.Errorf("there are more than %d Jobs, of which most are alike: select one with --job", maxBlamed)}
		}
		history, err := owners.Job(child.Job)
		if err != nil {
			return nil, err
		}
		o, err := blame.New(child.Job, blame.JobType(), history, b.opts)
		if err != nil {
			return nil, err
		}
		objects = append(objects, blamed{id: fieldpath.Object{Kind: "Job", Namespace: child.Job.Namespace, Name: child.Job.Name}, object: o})
	}
	if objects == nil && b.pods.Job != "" {
		return nil, usageError{fmt.Errorf("--job: there is no Job %q%s", b.pods.Job, didYouMean(b.pods.Job, names))}
	}
	return objects, nil
}

// selection is an object, or the fields of it that were asked for.
type selection struct {
	blamed
	fields []*blame.Field // nil where none was asked for
	unset  *blame.UnsetField
}

// selectFields finds the field in every object. A field that some of them do not have is no mistake.
func (p *program) selectFields(objects []blamed, field string) ([]selection, error) {
	var selected []selection
	var failed error
	for _, o := range objects {
		s := selection{blamed: o}
		if field != "" {
			var err error
			s.fields, err = o.object.Find(field)
			var unknown *blame.UnknownField
			switch {
			case err == nil:
			case errors.As(err, &s.unset):
			case o.entries != nil && errors.As(err, &unknown):
				if s.fields = o.around(unknown.Path); s.fields != nil {
					break
				}
				failed = cmp.Or(failed, error(usageError{fmt.Errorf("%s: no manager owns %s%s", o.id, strings.TrimPrefix(unknown.Error(), "there is no field "), p.fileHint(field))}))
				continue
			case errors.As(err, &unknown):
				failed = cmp.Or(failed, error(usageError{fmt.Errorf("%s: %w%s", o.id, err, p.fileHint(field))}))
				continue
			default:
				return nil, usageError{err}
			}
		}
		selected = append(selected, s)
	}
	if selected == nil {
		return nil, failed
	}
	return selected, nil
}

// fileHint helps those who name a file as they do for other commands.
func (p *program) fileHint(field string) string {
	f, err := p.files.Open(field)
	if err != nil {
		return ""
	}
	_ = f.Close()
	return "; files are named with -f"
}

// completeField are the paths of the rendered object that begin as the word does.
func (p *program) completeField(flags blameFlags, word string) []string {
	objects, _, err := p.blameAll(flags)
	if err != nil {
		return nil
	}
	dot := strings.HasPrefix(word, ".")
	var paths []string
	for _, o := range objects {
		for field := range o.object.Fields() {
			for n := 1; n <= len(field.Path); n++ {
				text := field.Path[:n].String()
				if !dot {
					text = strings.TrimPrefix(text, ".")
				}
				if strings.HasPrefix(text, word) && !slices.Contains(paths, text) && report.Printable(text) == text {
					paths = append(paths, text)
				}
			}
		}
	}
	return paths
}
