// Package check implements the command check. It reports whether the cluster would accept the
// objects and run them.
//
// Its first file to read is check.go.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/revision"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// checkFlags are the flags of check.
type checkFlags struct {
	workspace.Flags
	until      *release.Release // of --to-version, or nil
	old, git   string
	recreate   bool
	onConflict string
	force      []string
	severity   []string
	format     string
	*option.Global

	definitions []string // the paths of --crd
	flavors     []string // the paths of --flavors
	further     furtherKinds
	strict      bool
	counted     *counted
}

// Command returns the command with its flags and its help.
func Command(p *host.Program, g *option.Global) *cobra.Command {
	flags := checkFlags{Global: g}
	g.Inputs(&flags.Flags)
	cmd := &cobra.Command{
		Use: "check PATH... [-r PATH]... [--patch [NAME=]FILE]... [--git REV | --old PATH] " +
			"[flags]",
		Short: "Check whether the cluster accepts TrainJobs, runtimes and JobSets, and can run them",
		Long: `Check whether the cluster accepts TrainJobs, runtimes and JobSets, and can run them. The command reports all
findings of admission, the controllers and the API server at once, from the TrainJob to its Pods, each at its
line and column. It needs no cluster.

An error is an input that the cluster rejects, at admission or when a controller creates an object later, or that
can never run, or on which managers disagree. A warning is an input that the cluster accepts but that is probably a
mistake. Findings with one cause in several objects appear once. The codes: docs/findings.md

A PATH is a file, a directory, a quoted glob or - for standard input. Files hold TrainJobs, runtimes, JobSets,
PriorityClasses and RuntimeClasses as YAML or JSON. The command skips other kinds. It checks a runtime of -r
only if a TrainJob references it. With --crd it also checks objects of the kinds that definitions define: their
fields, types and rules, as on creation.

A policy file, trainweld.yaml or --policy FILE, lists the known managers and what each may set, adds patches to
TrainJobs, and sets severities. A violation is an error. The format: docs/policy.md

With --git, only the findings that the revision lacks are reported, and count for the exit status. A finding counts as
old even if its line or file has changed. An object of both versions is an update, as with --old.

With --old, an object in both states is an update of the old one, and an object that is only new is created. Without a
status, an old TrainJob that is not suspended counts as having active Pods. PATH may be a dump of a cluster: the
findings include what never takes effect. The details: docs/old.md

The report goes to standard output, a summary to standard error.

Exit status: 0 no finding is an error; 1 a finding is an error; 2 usage, input or output failed.`,
		Example: `  # One TrainJob, its runtime from another file
  trainweld check job.yaml -r runtime.yaml

  # Everything below a directory, with what the platform's patches make of it
  trainweld check -R manifests/ --patch platform.yaml

  # Only the findings that a branch brings
  trainweld check --git origin/main...HEAD jobs/ -r runtimes/

  # What a cluster rejects, and what never reaches the objects that exist
  kubectl get trainjobs,trainingruntimes,clustertrainingruntimes,jobsets,jobs,configmaps -A -o yaml --show-managed-fields > dump.yaml
  trainweld check jobs/ -r runtimes/ --old dump.yaml

  # For GitHub's code scanning; managers may overlap, and idle patches are no matter
  trainweld check jobs/ -r runtimes/ -o sarif --on-conflict=last --severity TW541=off > findings.sarif

  # Which flavors Kueue could give to each TrainJob, and what would conflict
  trainweld check jobs/ -r runtimes/ --flavors flavors/

  # The overlays of a repository
  trainweld check -k overlays/ -r runtimes/

  # Before an upgrade of the Trainer
  trainweld check jobs/ -r runtimes/ --to-version 2.4

  # From a pipe
  helm template chart/ | trainweld check -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.Files = append(flags.Files, args...)
			switch {
			case cmd.Flags().Changed("old") && flags.old == "":
				return exit.Usage(errors.New("--old: an empty path: give it a file or a directory"))
			case cmd.Flags().Changed("git") && flags.git == "":
				return exit.Usage(
					errors.New("--git: no revision; name a branch, a tag or a commit"))
			}
			return run(p, flags)
		},
	}
	f := cmd.Flags()
	option.AddInputs(f, &flags.Flags, "check a file, directory, glob or -, as a PATH (repeatable)",
		option.LaidOver)
	option.AddBuilds(f, &flags.Flags)
	f.StringVar(&flags.old, "old", "",
		"judge the change from the state of a file, a directory or a dump; the dump is of "+
			"kubectl get -o yaml")
	f.StringVar(&flags.git, "git", "",
		"report only findings that this revision of git lacks; REV..REV and REV...REV compare "+
			"revisions")
	option.AddRecreate(f, &flags.recreate)
	option.AddOnConflict(cmd, &flags.onConflict, "fail",
		"fail where managers disagree, or last: the last patch wins; with a warning, as in "+
			"the cluster")
	option.AddForceManager(p, cmd, &flags.force, &flags.Flags)
	option.AddVersion(cmd, &flags.until, "to-version",
		"also warn of what a later release of the Trainer refuses")
	option.AddDefinitions(f, &flags.definitions,
		"also check objects of the definitions in a file, directory or glob; a definition "+
			"is a CustomResourceDefinition (repeatable)")
	f.Var((*option.Paths)(&flags.flavors), "flavors",
		"list the ResourceFlavors that each TrainJob can have; they are in a file, "+
			"directory or glob (repeatable)")
	option.AddSeverity(cmd, &flags.severity)
	option.AddReportFormat(cmd, &flags.format)
	f.BoolVar(&flags.strict, "strict", false,
		"count warnings, and the note on a runtime of the release, as errors")
	return cmd
}

func run(p *host.Program, flags checkFlags) error {
	levels, err := flags.parse()
	if err != nil {
		return exit.Usage(err)
	}
	if flags.old != "" && flags.Builds() {
		return exit.Usage(
			errors.New("--old has no builds: compare with a revision, --git, or build first, and " +
				"name the files"))
	}
	if flags.flavors != nil {
		return runFlavors(p, flags, levels)
	}
	defer host.CollectLess()()
	flags.Decided = levels.Codes()
	ctx := context.Background()
	all := &report.Run{Rate: levels.Apply, Strict: flags.strict}
	var was *baseline
	if flags.git != "" {
		old, new, err := revision.Sides(p, flags.git, flags.Flags)
		if err != nil {
			return err
		}
		defer old.Close()
		defer new.Close()
		was = newBaseline(p, old, flags, all)
		p, flags.Flags = new.Program(p), new.Flags
	}
	first, second := p, p
	if flags.until != nil {
		if first, second, err = twice(p, flags); err != nil {
			return err
		}
	}
	j, err := checkParts(ctx, first, flags, was, all)
	if err != nil {
		return err
	}
	if err := flags.isLater(j.lines.Releases()); err != nil {
		return exit.Usage(err)
	}
	if was != nil && !was.hasObjects && !j.count.any(flags.Selector != nil) {
		all.ForgetBefore()
	}
	if found := all.Findings(); flags.until != nil {
		refused, err := refusedBy(ctx, second, flags, found)
		if err != nil {
			return err
		}
		all.AddLater(refused, j.lines.Order)
	}
	found := all.Joined()
	opts := flags.Report(p, p.Stdout)
	opts.Strict = flags.strict
	opts.Line, opts.Version, opts.Releases, opts.Files, opts.Rooted = j.lines.Line, p.Version(),
		j.lines.Releases(), j.lines.Order, host.Rooted()
	if err := report.Write(p.Stdout, flags.format, found, opts); err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "%s%s: %s%s\n", j.count, report.Releases(opts.Releases),
		cmp.Or(report.Summary(flags.format, found, opts), "nothing to report"), was)
	if flags.until != nil {
		if basis := release.Basis(*flags.until); basis != "" &&
			basis != release.Basis(opts.Releases...) {
			fmt.Fprintf(p.Stderr, "note: %s\n", basis)
		}
	}
	return all.Status()
}

// parse parses the flags with a fixed set of values.
func (flags checkFlags) parse() (option.Severities, error) {
	if flags.Empty() {
		return nil,
			errors.New("nothing to check: name files or directories, or - for standard input")
	}
	levels, err := option.ParseSeverities(flags.severity)
	if err := cmp.Or(option.KnownFormat(flags.format), err); err != nil {
		return nil, err
	}
	switch {
	case flags.git != "" && flags.old != "":
		return nil, errors.New("--git and --old exclude each other: use one of the two")
	case flags.recreate && flags.old == "" && flags.git == "":
		return nil,
			errors.New("--recreate has no effect without an old state: add --git or --old, or " +
				"remove it")
	case flags.old == manifest.Stdin:
		return nil,
			errors.New("--old: name a file or a directory; only the new state may come from " +
				"standard input")
	}
	return levels, cmp.Or(flags.Color.Check(flags.format),
		option.CheckDefinitions(flags.definitions), flags.CheckPaths())
}
