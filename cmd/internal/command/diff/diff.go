// Package diff implements the command diff. It shows the differences between two versions of the
// inputs.
//
// Its first file to read is diff.go.
package diff

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/comparison"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/revision"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// exitDiffers is diff's exit status for differences.
const exitDiffers = 1

// diffFlags are the flags of diff.
type diffFlags struct {
	workspace.Flags
	old, git   string
	format     string
	to, as     string
	onConflict string
	force      []string
	*option.Global
	exitZero    bool
	rest        string // the file for what a comment lacks
	from, until string
	recreate    bool
}

// Command returns the command with its flags and its help.
func Command(p *host.Program, g *option.Global) *cobra.Command {
	flags := diffFlags{Global: g}
	g.Inputs(&flags.Flags)
	cmd := &cobra.Command{
		Use: "diff {OLD NEW | --git REV PATH... | --from-version X --to-version Y PATH...} " +
			"[flags]",
		Short: "Show the changes in the JobSets, Jobs or Pods of TrainJobs, and their causes",
		Long: `Render two versions of the inputs, and show the changes of each TrainJob in its JobSet and related objects, or
with --to in its Jobs or Pods. Items of lists match by their merge keys, never by position. Each change has
its cause: the layer that sets the value, and its place. A change that several TrainJobs, Jobs or Pods share
appears once, apart from names and indexes. JSON and --all have all of them.

OLD and NEW are files, directories, quoted globs or - for standard input. --old names OLD, as in check and
render. The inputs of -f, -r and --patch belong to both; OLD takes a runtime of its own before that of -r. --git REV reads all paths in that revision and in the working tree.
REV..REV compares two revisions. REV...REV compares the second one with their merge base, as a pull request
does. A path that one version lacks is empty there. With -l, each version has its own labels.

With -k, the command builds both versions, and compares the builds of each directory. docs/builds.md
has the details.

With --from-version and --to-version, the old version has the verdicts of one release of the Trainer, and the
new one those of the other. Without --git or --old both have the same files. The causes are the behaviours that
changed between the releases. A TrainJob may be refused or accepted from now on. docs/versions.md lists the
behaviours.

If managers disagree, the last patch wins, as in the cluster. Standard error has the conflicts of the new
version. Literal values of environment variables are masked. A changed one reads "*** (before)" and
"*** (after)".

The report begins with the effects: JobSets that are replaced, kept or updated if the TrainJobs exist, and
updates that the cluster rejects. An update that the cluster rejects differs, also if no object changes. With
--recreate, TrainJobs are deleted and created again instead. If OLD is a dump of a cluster, its objects say
what runs: each change of the JobSet and its Jobs comes now, at resume, waits for other Jobs, or never comes.
docs/review.md has the rules.

-o html is a page for a browser. -o markdown is a comment on a pull request of at most 60,000 characters: what the change does, who causes it,
who disagrees, what to do, and the changes. --rest FILE gets what does not fit.

Exit status: 0 nothing differs; 1 something differs; 2 usage, input or output failed, or an input does not
render. The report then names the TrainJobs that do not render, and compares the others.`,
		Example: `  # What the working tree changes over the main branch
  trainweld diff --git origin/main jobs/ -r runtimes/

  # What it changes in the overlays of a repository
  trainweld diff --git origin/main -k overlays/ -r runtimes/

  # What another version of a runtime does to the TrainJobs of a directory
  trainweld diff torch-1.yaml torch-2.yaml -f jobs/

  # What an upgrade of the Trainer does to a repository
  trainweld diff --from-version 2.1 --to-version 2.3 jobs/ -r runtimes/

  # Two directories, down to the Pods
  trainweld diff before/ after/ -R --to=pods

  # A comment for a pull request
  trainweld diff --git origin/main...HEAD jobs/ -r runtimes/ -o markdown --rest rest.md --exit-zero > comment.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("git") && flags.git == "" {
				return exit.Usage(
					errors.New("--git: no revision; name a branch, a tag or a commit"))
			}
			if cmd.Flags().Changed("old") {
				switch {
				case flags.git != "":
					return exit.Usage(errors.New("--old names the old version: remove --git"))
				case flags.Builds():
					return exit.Usage(
						errors.New("--old has no builds: compare with a revision, --git, or " +
							"build first, and name the files"))
				}
				args = append([]string{flags.old}, args...)
			}
			return run(p, flags, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.git, "git", "",
		"compare the paths in this revision of git with the working tree; REV..REV and "+
			"REV...REV compare revisions")
	f.StringVar(&flags.old, "old", "",
		"OLD: the state before, from a file, a directory or a dump; the dump is of kubectl "+
			"get -o yaml")
	f.StringVar(&flags.from, "from-version", "",
		"compare the renderings of this release of the Trainer and of --to-version; 2.2/1.34 names "+
			"the version of Kubernetes as well")
	f.StringVar(&flags.until, "to-version", "", "the release of the Trainer to upgrade to")
	f.VarP((*option.Paths)(&flags.Files), "filename", "f",
		"read a file, directory or glob of TrainJobs and runtimes; for both versions "+
			"(repeatable)")
	f.VarP((*option.Paths)(&flags.Runtimes), "runtimes", "r",
		"read only runtimes from a file, directory or glob, for both versions (repeatable)")
	f.Var((*option.Repeated)(&flags.Patches), "patch",
		"add the patches of `[NAME=]FILE` to every TrainJob of both versions (repeatable)")
	option.AddPolicy(f, &flags.Flags)
	option.AddRecursive(f, &flags.Flags)
	option.AddBuilds(f, &flags.Flags)
	option.AddSelector(f, &flags.Flags)
	f.StringVarP(&flags.format, "output", "o", "text",
		"text, json, markdown for a pull request, or html")
	option.AddWord(cmd, &flags.to, "to", []string{"jobset", "jobs", "pods"},
		"what to compare: jobset, jobs or pods; a JobSet has its ConfigMaps and PodGroups, Jobs "+
			"their Service and volume claims")
	option.AddAs(cmd, &flags.as)
	option.AddOnConflict(cmd, &flags.onConflict, "last",
		"last: the last patch wins, or fail where managers disagree")
	option.AddForceManager(p, cmd, &flags.force, &flags.Flags)
	f.StringVar(&flags.rest, "rest", "",
		"with -o markdown: write the rest of a long comment to this `FILE`")
	option.AddRecreate(f, &flags.recreate)
	f.BoolVar(&flags.exitZero, "exit-zero", false, "end with status 0 also if objects differ")
	commandline.Words(cmd, "output", "text", "json", "markdown", "html")
	return cmd
}

func run(p *host.Program, flags diffFlags, args []string) error {
	flags.Advisory = true
	opts, err := flags.options()
	if err != nil {
		return exit.Usage(err)
	}
	old, new, err := readVersions(p, flags, args)
	if err != nil {
		return err
	}
	defer old.side.Close()
	defer new.side.Close()
	c, findings, err := compareParts(p, flags, opts, old, new)
	if err != nil {
		return err
	}
	if new.release != nil && !c.Differs() { // its notes say so otherwise
		if basis := release.Basis(*old.release, *new.release); basis != "" {
			fmt.Fprintf(p.Stderr, "note: %s\n", basis)
		}
	}
	beside := flags.Report(p, p.Stderr)
	beside.Releases = []release.Release{*flags.Release.Or()}
	if err := report.WriteBeside(p.Stderr, findings, beside); err != nil {
		return err
	}
	if err := flags.write(p, c); err != nil {
		return err
	}
	switch {
	case findings.Err() != nil:
		return exit.Status(exit.Failed)
	case !c.Differs():
		_, err := fmt.Fprintln(p.Stderr, report.Line(c.Compared()))
		return err
	case flags.exitZero:
		return nil
	default:
		return exit.Status(exitDiffers)
	}
}

// write writes the report. The file of --rest is empty if a comment shows all.
func (flags diffFlags) write(p *host.Program, c *comparison.Comparison) error {
	switch {
	case flags.format == "json":
		return c.WriteJSON(p.Stdout)
	case flags.format == "html":
		return c.WriteHTML(p.Stdout, p.Version())
	case flags.format == "text":
		return c.WriteText(p.Stdout, flags.Color.Painter(p, p.Stdout))
	case flags.rest == "":
		return c.WriteMarkdown(p.Stdout, nil, "")
	}
	err := output.WriteAll(p, func(w *output.Writing) error {
		var rest bytes.Buffer
		if err := c.WriteMarkdown(p.Stdout, &rest, flags.rest); err != nil {
			return err
		}
		changes, err := w.In(filepath.Dir(flags.rest))
		if err == nil {
			changes.Put(filepath.Base(flags.rest), rest.Bytes())
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("--rest: %w", err)
	}
	return nil
}

// errorsAndConflicts returns the errors of both versions, and the conflicts of the new one. The
// commands render and check report all others.
func errorsAndConflicts(old, new finding.List) finding.List {
	return append(old.Where(isError), new.Where(func(f finding.Finding) bool {
		return isError(f) || isConflict(f) || isForReview(f) || codes.AssumesRuntime(f)
	})...)
}

// isConflict reports whether managers disagree.
func isConflict(f finding.Finding) bool {
	return codes.IsDispute(f.Code) || f.Code == codes.Forced
}

// isForReview reports whether a finding is about the patches that a policy or an overlay wants.
func isForReview(f finding.Finding) bool {
	return slices.Contains([]finding.Code{codes.UnlistedManager, codes.PatchOrder,
		codes.ForbiddenField, codes.MissingManager, codes.LostPatch}, f.Code)
}

// options parses the flags with a fixed set of values.
func (flags *diffFlags) options() (render.Options, error) {
	opts := render.Options{ForceManagers: flags.force,
		OnConflict: option.ParseOnConflict(flags.onConflict)}
	if err := option.OneOf("-o", flags.format, "text", "json", "markdown", "html"); err != nil {
		return opts, err
	}
	if flags.rest != "" && flags.format != "markdown" {
		return opts, fmt.Errorf("--rest has no effect on -o %s: add -o markdown, or remove it",
			flags.format)
	}
	if err := cmp.Or(flags.Color.Check(flags.format),
		workspace.CheckNamespace(flags.Namespace)); err != nil {
		return opts, err
	}
	opts.FeatureGates = flags.FeatureGates
	if flags.as == "stored" {
		opts.As = render.Stored
	}
	return opts, nil
}

// readVersions returns the two versions that the command line names, each with the release whose
// verdicts it has: two revisions, one input that releases tell apart, or OLD and NEW.
func readVersions(p *host.Program, flags diffFlags, args []string) (old, new *version, err error) {
	from, to, err := flags.releases()
	if err != nil {
		return nil, nil, exit.Usage(err)
	}
	if err := flags.checkPaths(args, from != nil); err != nil {
		return nil, nil, exit.Usage(err)
	}
	side := func(name string, paths []string) *revision.Side {
		in := flags.Flags
		in.Files = slices.Concat(paths, flags.Files)
		return &revision.Side{Name: name, Files: p.Files, Flags: in}
	}
	switch {
	case flags.git != "":
		before, after, err := revision.Sides(p, flags.git, side("", args).Flags)
		if err != nil {
			return nil, nil, err
		}
		old, new = unreadVersion(p, before), unreadVersion(p, after)
	case from != nil && flags.old == "":
		old, new = unreadVersion(p, side("", args)), unreadVersion(p, side("", args))
		if slices.Contains(slices.Concat(args, flags.shared()), manifest.Stdin) {
			data, err := io.ReadAll(p.Stdin)
			if err != nil {
				return nil, nil, err
			}
			old.source = again{p.Files, data}
			new.source = old.source
		}
	default:
		before := side(args[0], args[:1])
		before.Flags.PrefersFiles = true // -r names the runtimes of NEW that OLD lacks
		old, new = unreadVersion(p, before),
			unreadVersion(p, side(strings.Join(args[1:], ", "), args[1:]))
		old.root, new.root = args[0], args[1]
	}
	if from != nil {
		old.as(from)
		new.as(to)
	}
	return old, new, nil
}

// checkPaths returns an error for paths that name no two versions. Releases need none, and --old
// names one: then NEW may be several paths.
func (flags *diffFlags) checkPaths(args []string, hasReleases bool) error {
	isNamed, shared := flags.old != "", flags.shared()
	switch {
	case slices.Contains(slices.Concat(args, shared), ""):
		return errors.New("an empty path: name a file, a directory, a glob or -")
	case flags.git != "" || hasReleases && !isNamed && len(args)+len(flags.Files) > 0:
		return nil
	case hasReleases && !isNamed:
		return errors.New("nothing to compare: name files or directories with TrainJobs")
	case isNamed && len(args) < 2:
		return errors.New("--old compares OLD with NEW: name files or directories")
	case !isNamed && len(args) != 2:
		return fmt.Errorf("diff compares OLD with NEW, got %s; or compare paths with a revision: "+
			"--git REV PATH", report.Count(len(args), "path"))
	case args[0] == manifest.Stdin && slices.Contains(args[1:], manifest.Stdin):
		return errors.New("standard input can be read once: use - as OLD or as NEW")
	case slices.Contains(shared, manifest.Stdin):
		return errors.New("-f, -r and --patch are read for both versions, and standard input can " +
			"be read once: name a file")
	}
	return nil
}

// shared returns the paths that both versions read.
func (flags *diffFlags) shared() []string {
	return slices.Concat(flags.Files, flags.Runtimes, flags.PatchFiles())
}
