// Package conflicts implements the command conflicts. It lists the disagreements between managers
// of TrainJobs.
//
// Its first file to read is conflicts.go.
package conflicts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/objectmerge"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// conflictsFlags are the flags of conflicts.
type conflictsFlags struct {
	workspace.Flags
	option.Schema
	force  []string
	format string
	*option.Global
}

// Command returns the command with its flags and its help.
func Command(p *host.Program, g *option.Global) *cobra.Command {
	flags := conflictsFlags{Global: g}
	g.Inputs(&flags.Flags)
	cmd := &cobra.Command{
		Use:   "conflicts PATH... [-k DIR]... [-r PATH]... [--patch [NAME=]FILE]... [flags]",
		Short: "List the fields on which managers of TrainJobs disagree",
		Long: `List the conflicts between the managers of TrainJobs, and nothing else. Each has the object, the field, every
manager with its value and its place, the manager that wins in the cluster, and a remedy.

An overlap is one field with several values: in the cluster the last patch wins silently. A union is a group
of members of which an object may have only one, such as the sources of a volume. The cluster keeps all of
them, and rejects the object. A conflict that several TrainJobs share appears once, with the first three.

A PATH is a file, a directory, a quoted glob or - for standard input. Files hold TrainJobs and runtimes as YAML
or JSON. The command skips other kinds. It also reports why it cannot examine a TrainJob, such as an unreadable
file or a missing runtime. The report goes to standard output, a summary to standard error.

With -k, each kustomization in or below a directory is an input of its own, together with the other files. A finding names the build, and its place in the sources. docs/builds.md has the details.

The values of other objects of a build on which components or patches disagree are warnings, and those that
an overlay replaces are notes.

With --patch, one object of another kind merges as in the command merge.

Exit status: 0 no conflict; 1 a conflict, or a TrainJob that cannot be examined; 2 usage, input or output failed.`,
		Example: `  # One TrainJob, its runtime from another file
  trainweld conflicts job.yaml -r runtime.yaml

  # Everything below a directory, with the platform's and Kueue's patches laid over it
  trainweld conflicts -R manifests/ --patch platform.yaml --patch kueue.yaml

  # What is left to settle when Kueue wins where it takes part
  trainweld conflicts jobs/ -r runtimes/ --force-manager=kueue.x-k8s.io/manager

  # Beside the lines of a pull request on GitHub
  trainweld conflicts jobs/ -r runtimes/ -o github`,
		RunE: func(_ *cobra.Command, args []string) error {
			flags.Files = append(flags.Files, args...)
			return run(p, flags)
		},
	}
	f := cmd.Flags()
	option.AddInputs(f, &flags.Flags,
		"look at a file, directory, glob or -, as at a PATH (repeatable)", option.LaidOver)
	option.AddBuilds(f, &flags.Flags)
	option.AddForceManager(p, cmd, &flags.force, &flags.Flags)
	flags.Schema.Add(cmd)
	option.AddReportFormat(cmd, &flags.format)
	return cmd
}

func run(p *host.Program, flags conflictsFlags) error {
	if err := flags.check(); err != nil {
		return exit.Usage(err)
	}
	p, merges := objectmerge.Applies(p, flags.Flags, flags.Schema)
	if merges {
		return conflictsOfObject(p, flags)
	}
	found, all, of, err := conflictsOfAll(p, flags)
	if err != nil {
		return err
	}
	return reportConflicts(p, flags, all, found, of)
}

// conflictsOfAll returns the conflicts of all parts, the lines of all files, and how many objects
// may have some.
func conflictsOfAll(p *host.Program,
	flags conflictsFlags) (found finding.List, all *workspace.Input, of string, err error) {
	jobs := 0
	all = workspace.New(flags.Flags)
	forced, built := option.NewForced(flags.force), 0
	err = build.Parts(p, flags.Flags, func(part workspace.Flags) error {
		in := workspace.Read(p, part)
		forced.Take(in)
		conflicts, objects := conflictsIn(in, flags), 0
		if part.Built != nil && part.Built.Text != nil {
			var more finding.List
			var err error
			if more, objects, err = conflictsInGit(part.Built); err != nil {
				return err
			}
			conflicts = append(conflicts, more...)
		}
		in.Label(conflicts)
		found = append(found, report.InOrder(conflicts, in.Order)...)
		all.AddPart(in)
		jobs, built = jobs+len(in.Jobs), built+objects
		return nil
	})
	if err := cmp.Or(err, forced.Err()); err != nil {
		return nil, nil, "", err
	}
	if jobs+built == 0 && found.Err() == nil {
		found = append(
			found, flags.NoTrainJob("no TrainJob in the inputs",
				"name files with TrainJobs; -r is for runtimes only, and -R descends into "+
					"directories"))
	}
	of = report.Count(jobs, "TrainJob")
	if jobs == 0 && built > 0 {
		of = report.Count(built, "object")
	}
	return codes.Distinct(found), all, of, nil
}

// conflictsOfObject reports the disagreements on an object that is not a TrainJob.
func conflictsOfObject(p *host.Program, flags conflictsFlags) error {
	if len(flags.force) > 0 || len(flags.Runtimes) > 0 || flags.Namespace != "" ||
		flags.Recursive || flags.Selector != nil {
		return exit.Usage(
			errors.New("-r, -n, -R, -l and --force-manager are for TrainJobs: remove them"))
	}
	in := workspace.New(flags.Flags)
	m, found, err := objectmerge.Read(p, in, flags.Flags, flags.Schema, nil)
	if err != nil {
		return err
	}
	merged, more := m.Apply(found)
	if found = append(found, more...); merged != nil {
		found = append(found, m.Conflicts(merged, render.Fail)...)
	}
	found = slices.DeleteFunc(found, func(f finding.Finding) bool {
		return f.Severity < finding.Error
	})
	return reportConflicts(p, flags, in, found, "1 object")
}

func reportConflicts(p *host.Program, flags conflictsFlags, in *workspace.Input, found finding.List,
	of string) error {
	found = codes.JoinBuilds(found)
	opts := flags.Report(p, p.Stdout)
	opts.Line, opts.Version, opts.Releases, opts.Files, opts.Rooted = in.Line, p.Version(),
		in.Releases(), in.Order, host.Rooted()
	opts.ShowNotes = true // a note tells which rule settles a conflict
	if err := report.Write(p.Stdout, flags.format, found, opts); err != nil {
		return err
	}
	none := "no conflict"
	if slices.ContainsFunc(found, func(f finding.Finding) bool {
		return !codes.AssumesRuntime(f) && f.Code != codes.GitOverride
	}) {
		none = "the policy's rules settle every conflict"
	}
	fmt.Fprintf(p.Stderr, "looked at %s%s: %s\n", of, report.Releases(opts.Releases),
		cmp.Or(report.Summary(flags.format, found, opts), none))
	return exit.For(found, false)
}

// check returns an error for invalid flags.
func (flags conflictsFlags) check() error {
	if flags.Empty() {
		return errors.New("nothing to look at: name files or directories, or - for standard input")
	}
	return cmp.Or(option.KnownFormat(flags.format), flags.Schema.Check(),
		flags.Color.Check(flags.format), flags.CheckPaths())
}

// conflictsIn returns the conflicts of all TrainJobs, and the errors that hide others.
func conflictsIn(in *workspace.Input, flags conflictsFlags) finding.List {
	found := in.Findings.Where(func(f finding.Finding) bool { return f.Severity >= finding.Error })
	for _, j := range in.Jobs {
		found = append(found, conflictsOf(in, j, flags)...)
	}
	for _, d := range in.Rejected {
		if job := decodableJob(d, flags.NamespaceOf("")); job != nil {
			found = append(found, disagreements(conflictsOf(in, *job, flags))...)
		}
	}
	return found
}

// decodableJob returns a TrainJob that fails to decode, with the decodable parts of its patches,
// since managers may disagree there. It returns nil if nothing is decodable.
func decodableJob(d *manifest.Document, namespace string) *workspace.Job {
	fields, err := d.Fields()
	if err != nil {
		return nil
	}
	of := workspace.Outline(fields, namespace)
	of.Spec.RuntimePatches = workspace.Decodable(fields)
	render.DefaultTrainJob(of, nil)
	return &workspace.Job{TrainJob: of, Document: d}
}

// conflictsOf returns the conflicts of one TrainJob. It also returns errors that may hide others: a
// missing runtime, or a patch that fails to merge. Disagreements do not depend on the runtime, so
// an empty one replaces a missing one.
func conflictsOf(in *workspace.Input, j workspace.Job, flags conflictsFlags) finding.List {
	spec, missing := in.RuntimeOf(j)
	hasRuntime := spec != nil
	if !hasRuntime {
		spec = &trainer.TrainingRuntimeSpec{}
	}
	input := render.Input{TrainJob: j.TrainJob, Runtime: spec, Patches: in.PatchesFor(j),
		Layers: j.Layers(), Earlier: in.Earlier(j)}
	found := render.Conflicts(
		input, render.Options{Release: j.Release(), ForceManagers: flags.force})
	if !hasRuntime {
		found = disagreements(found)
	}
	if missing != nil {
		found = append(found, *missing)
	}
	found = append(
		found, slices.DeleteFunc(in.ReleaseFindings(j, render.Fail), func(f finding.Finding) bool {
			return f.Severity < finding.Error && !codes.AssumesRuntime(f)
		})...)
	found = in.Locate(j, found)
	found.Sort()
	return found
}

// disagreements returns the findings on managers that disagree.
func disagreements(found finding.List) finding.List {
	return slices.DeleteFunc(found, func(f finding.Finding) bool {
		return !codes.IsDispute(f.Code) && f.Code != codes.Forced
	})
}
