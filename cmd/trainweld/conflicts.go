package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/cmd/trainweld/internal/report"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/render"
)

// conflictsFlags are the flags of conflicts.
type conflictsFlags struct {
	inputFlags
	schemaFlags
	force      []string
	format     string
	showValues bool
}

func (p *program) conflictsCommand() *cobra.Command {
	var flags conflictsFlags
	cmd := &cobra.Command{
		Use:   "conflicts PATH... [-r PATH]... [--patch [NAME=]FILE]... [flags]",
		Short: "List what the managers of TrainJobs disagree on",
		Long: `List what the managers of TrainJobs disagree on, and nothing else: the object, the field, every manager
with its value and its place, who would win in the cluster, and the ways out.

An overlap is one field with several values: the cluster lets the last patch win in silence. A union is
several members of which an object may have only one, such as two sources of a volume: the cluster keeps
all of them, and refuses the object.

A PATH is a file, a directory, a quoted glob or - for standard input. Files hold TrainJobs and runtimes, as
YAML or JSON; other kinds are passed over. What keeps a TrainJob from being looked at, such as an unreadable
file or a missing runtime, is reported, too. The report goes to standard output, a summary to standard error.

A single object of another kind with --patch merges as the command merge merges it.

Exit status: 0 no conflict, 1 conflicts, or a TrainJob that cannot be looked at, 2 usage, input or output failed.`,
		Example: `  # One TrainJob, its runtime from another file
  trainweld conflicts job.yaml -r runtime.yaml

  # Everything below a directory, with the platform's and Kueue's patches laid over it
  trainweld conflicts -R manifests/ --patch platform.yaml --patch kueue.yaml

  # What is left to settle when Kueue wins where it takes part
  trainweld conflicts jobs/ -r runtimes/ --force-manager=kueue.x-k8s.io/manager

  # Beside the lines of a pull request on GitHub
  trainweld conflicts jobs/ -r runtimes/ -o github`,
		RunE: func(_ *cobra.Command, args []string) error {
			flags.files = append(flags.files, args...)
			return p.conflicts(flags)
		},
	}
	f := cmd.Flags()
	f.VarP((*repeated)(&flags.files), "filename", "f", "look at a file, directory, glob or -, as at a PATH (repeatable)")
	f.VarP((*repeated)(&flags.runtimes), "runtime", "r", "read runtimes, also <trainjob>-runtime-snapshot ConfigMaps, from a file, directory or glob (repeatable)")
	f.Var((*repeated)(&flags.patches), "patch", "lay the managers' patches of `[NAME=]FILE` over every TrainJob, after its own: a RuntimePatch, a list of them, or a TrainJob (repeatable)")
	f.BoolVarP(&flags.recursive, "recursive", "R", false, "read directories below directories, too")
	f.StringVarP(&flags.namespace, "namespace", "n", "", `the namespace of objects that name none (default "default")`)
	p.addForceManager(cmd, &flags.force, &flags.inputFlags)
	flags.schemaFlags.add(cmd)
	f.StringVarP(&flags.format, "output", "o", report.Formats()[0], "the format of the report: "+strings.Join(report.Formats(), ", "))
	f.BoolVar(&flags.showValues, "show-values", false, "show the values of environment variables")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(report.Formats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (p *program) conflicts(flags conflictsFlags) error {
	if err := flags.check(); err != nil {
		return usageError{err}
	}
	p, merges := p.mergesObject(flags.inputFlags, flags.schemaFlags)
	if merges {
		return p.conflictsOfObject(flags)
	}
	in := p.read(flags.inputFlags)
	if err := in.unknownManager(flags.force); err != nil {
		return err
	}
	found := inOrder(in.conflicts(flags.force, flags.namespaceOf("")), in.order).Distinct()
	return p.reportConflicts(flags, in, found, report.Count(len(in.jobs), "TrainJob"))
}

// conflictsOfObject reports what managers disagree on in an object that is not a TrainJob.
func (p *program) conflictsOfObject(flags conflictsFlags) error {
	if len(flags.force) > 0 || len(flags.runtimes) > 0 || flags.namespace != "" || flags.recursive {
		return usageError{errors.New("-r, -n, -R and --force-manager are for TrainJobs: leave them out")}
	}
	in := newInput(flags.inputFlags, &progress{})
	m, found, err := p.readMerging(in, flags.inputFlags, flags.schemaFlags)
	if err != nil {
		return err
	}
	merged, more := m.apply(found)
	if found = append(found, more...); merged != nil {
		found = append(found, m.conflicts(merged.owners, render.Fail)...)
	}
	found = slices.DeleteFunc(found, func(f finding.Finding) bool { return f.Severity < finding.Error })
	return p.reportConflicts(flags, in, found, "1 object")
}

func (p *program) reportConflicts(flags conflictsFlags, in *input, found finding.List, of string) error {
	opts := report.Options{
		ShowValues: flags.showValues, Color: p.color, Line: in.line, Quote: in.quote, Version: programVersion(), Files: in.order,
	}
	if err := report.Write(p.stdout, flags.format, found, opts); err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "looked at %s: %s\n", of, cmp.Or(report.Summary(flags.format, found), "no conflict"))
	return failure(found, false)
}

// check refuses what can only be a mistake.
func (flags conflictsFlags) check() error {
	if len(flags.files) == 0 {
		return errors.New("nothing to look at: name files or directories, or - for standard input")
	}
	if err := knownFormat(flags.format); err != nil {
		return err
	}
	if err := flags.schemaFlags.check(); err != nil {
		return err
	}
	return flags.checkPaths()
}

// knownFormat refuses formats that reports do not have.
func knownFormat(format string) error {
	formats := report.Formats()
	if slices.Contains(formats, format) {
		return nil
	}
	return fmt.Errorf("-o: %q is none of %s%s", format, strings.Join(formats, ", "), didYouMean(format, formats))
}

// conflicts are the conflicts of all TrainJobs, and what kept one from being looked at.
func (in *input) conflicts(force []string, namespace string) finding.List {
	var found finding.List
	for _, f := range in.findings {
		if f.Severity >= finding.Error {
			found = append(found, f)
		}
	}
	further := in.furtherPatches()
	for _, j := range in.jobs {
		found = append(found, in.conflictsOf(j, further, force)...)
	}
	for _, d := range in.refused {
		if job := in.salvaged(d, namespace); job != nil {
			found = append(found, disagreements(in.conflictsOf(*job, further, force))...)
		}
	}
	if len(in.jobs) == 0 && found == nil {
		found = append(found, finding.Finding{
			Code: finding.CodeNoTrainJob, Severity: finding.Error,
			Message: "the inputs hold no TrainJob", Remedy: finding.Remedy{Text: "name files that hold some; -r is for runtimes only, and -R descends into directories"},
		})
	}
	return found
}

// salvaged is a TrainJob that cannot be decoded as a whole, with what can be decoded of its patches: managers may well
// disagree there, too. It is nil where nothing can.
func (in *input) salvaged(d *manifest.Document, namespace string) *job {
	fields, err := d.Fields()
	if err != nil {
		return nil
	}
	of := outline(fields, namespace)
	entries, _, _ := unstructured.NestedSlice(fields, "spec", "runtimePatches")
	for i := range of.Spec.RuntimePatches {
		// The error has been reported; what stands in front of it, and most of what is behind it, is decoded.
		if data, err := json.Marshal(entries[i]); err == nil {
			_ = kjson.UnmarshalCaseSensitivePreserveInts(data, &of.Spec.RuntimePatches[i])
		}
	}
	render.DefaultTrainJob(of)
	return &job{of, d}
}

// conflictsOf are the conflicts of one TrainJob, and why there may be more: a missing runtime, or a patch that cannot be
// merged. What managers disagree on does not hang on the runtime, so that an empty one takes the place of a missing one.
func (in *input) conflictsOf(j job, further []trainer.RuntimePatch, force []string) finding.List {
	spec, missing := in.runtimes.Find(j.TrainJob)
	if missing != nil {
		spec = &trainer.TrainingRuntimeSpec{}
	}
	found := render.Conflicts(render.Input{TrainJob: j.TrainJob, Runtime: spec, Patches: further, Overrides: j.overrides()}, render.Options{ForceManagers: force})
	if missing != nil {
		found = disagreements(found)
		if !in.broken[render.RuntimeOf(j.TrainJob)] { // a broken one has findings of its own
			found = append(found, *missing)
		}
	}
	in.locate(j, found)
	found.Sort()
	return found
}

// disagreements are the findings on managers that disagree.
func disagreements(found finding.List) finding.List {
	return slices.DeleteFunc(found, func(f finding.Finding) bool {
		return f.Code != finding.CodeOverlap && f.Code != finding.CodeUnion && f.Code != finding.CodeForced
	})
}
