// Package blame implements the command blame. It shows the layer that set each line of an object,
// and the history of a field.
//
// Its first file to read is blame.go.
package blame

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/cmd/internal/blameview"
	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// blameFlags are the flags of blame. Flags shared with render have the same meaning.
type blameFlags struct {
	option.Render
	option.Schema
	view   blameview.Options
	object string // of a build, as KIND/NAME; "" for all
	live   string // the objects of a cluster to join
}

// Command returns the command with its flags and its help.
func Command(p *host.Program, g *option.Global) *cobra.Command {
	flags := blameFlags{Render: option.Render{Global: g}}
	g.Inputs(&flags.Flags)
	cmd := &cobra.Command{
		Use: "blame PATH... [-k DIR] [-r PATH]... [--patch [NAME=]FILE]... [KIND/NAME] [FIELD] " +
			"[flags]",
		Short: "Show who set each line of the JobSet, a Job or a Pod, and the history of a field",
		Long: `Show the JobSet of a TrainJob, or with --to its Jobs or Pods. Each line begins with the layer that set it:
a manager's patch, the TrainJob's own sections (trainjob), the runtime's policy (policy/torch), a gang
scheduler, or the API server's defaults (default). In Jobs and Pods it may also be the controller that
creates them (jobset, job). A dot marks fields of the runtime. Other marks:

  !   managers disagree: the last one wins, and the others follow as comments
  ~   the value replaces another one
  +N  N other layers set the same value

A PATH is an argument that exists, ends in .yaml, .yml or .json, or is - for standard input. -f also
accepts globs. FIELD is a path as in a manifest, such as 'spec.replicatedJobs[name="node"].template.spec'.
You may omit its beginning and the items of lists. With a FIELD, blame shows the history of the field and
of its parts: the value of every layer in the order of writing, with its place in the files.

-o html is a page for a browser: docs/pages.md

On a terminal, blame shows a name only where it changes, and cuts lines at the width. Otherwise every line
has its name, for grep. Literal values of environment variables are masked unless you set --show-values.

Of a build (-k) without a TrainJob, or with KIND/NAME, blame shows objects of any kind, by the operations of
the kustomizations that set each line: see docs/builds.md.
With --old, it shows the objects as they are in a cluster: what Git says, and which manager wrote over it.
With --patch, one object of another kind merges as in the command merge.

If no TrainJob is in the inputs, blame shows the owners of other objects from their metadata.managedFields: the
last writers of each field, without values and history. Read the objects with
kubectl get -o yaml --show-managed-fields. A field with several owners has several lines.

Exit status: 0 done; 1 a finding is an error, and blame shows the rest; 2 usage, input or output failed.`,
		Example: `  # Who set each line of the JobSet
  trainweld blame job.yaml -r runtime.yaml

  # With the file and line that each comes from
  trainweld blame -f job.yaml -r runtime.yaml --show-origin

  # Why do the Pods run on these nodes?
  trainweld blame -f job.yaml -r runtime.yaml nodeSelector

  # What Kueue's patch would change
  trainweld blame -f job.yaml -r runtime.yaml --patch kueue.yaml | grep kueue

  # The same as a page
  trainweld blame -f job.yaml -r runtime.yaml -o html > page.html

  # The first Pod of the nodes
  trainweld blame -f job.yaml -r runtime.yaml --to=pods --job=node/0

  # Who set each field of the runtime that the teams' extended patches make?
  trainweld blame -f job.yaml -r runtime.yaml --patch teams.yaml --for=runtime

  # Who owns the replicas of a Deployment in a cluster?
  kubectl get deployment web -o yaml --show-managed-fields | trainweld blame -f - spec.replicas`,
		RunE: func(_ *cobra.Command, args []string) error {
			var fields []string
			for _, arg := range args {
				switch {
				case isPath(arg):
					flags.Files = append(flags.Files, arg)
				case flags.Builds() && flags.object == "" && origins.IsObject(arg):
					flags.object = arg
				default:
					fields = append(fields, arg)
				}
			}
			switch len(fields) {
			case 0:
			case 1:
				flags.view.Field = fields[0]
			default:
				return exit.Usage(
					fmt.Errorf("blame takes one FIELD, got %q; none of them is a file", fields))
			}
			return run(p, flags)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string,
			toComplete string) ([]string, cobra.ShellCompDirective) {
			for _, arg := range args {
				if !isPath(arg) {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				flags.Files = append(flags.Files, arg)
			}
			if len(flags.Files) == 0 {
				return nil, cobra.ShellCompDirectiveDefault // a path
			}
			return completeField(p, flags, toComplete),
				cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
	}
	f := cmd.Flags()
	option.AddInputs(f, &flags.Flags,
		"read TrainJobs, runtimes or live objects from a file, directory, glob or -; live "+
			"objects have managed fields (repeatable)",
		"apply the patches of `[NAME=]FILE` to every TrainJob, after its own (repeatable)")
	option.AddBuilds(f, &flags.Flags)
	f.StringVarP(&flags.view.Format, "output", "o", "text",
		"text, json, html (a page) or wide (a table)")
	option.AddWord(cmd, &flags.To, "to", []string{"jobset", "jobs", "pods"},
		"what to show: jobset, jobs or pods")
	option.AddWord(cmd, &flags.For, "for", []string{option.ForReview, option.ForRuntime},
		"review: what the controller applies, or runtime: of extended patches")
	option.AddAs(cmd, &flags.As)
	option.AddOnConflict(cmd, &flags.OnConflict, "last",
		"last: the last patch wins, or fail where managers disagree")
	option.AddForceManager(p, cmd, &flags.Force, &flags.Flags)
	flags.Schema.Add(cmd)
	flags.Children.Add(
		f, "with --to=jobs or pods: this Job, or a replicated job's; INDEX, of Pods, "+
			"is N, N..M or all")
	f.StringVar(&flags.live, "old", "",
		"with -k: show the objects of a dump of a cluster, and who wrote over Git; the dump "+
			"is of kubectl get -o yaml --show-managed-fields")
	f.BoolVar(&flags.view.ShowOrigin, "show-origin", false,
		"show the file and line that each line comes from")
	commandline.Words(cmd, "output", blameview.Formats()...)
	return cmd
}

// isPath reports whether an argument is a path and not a field. A path exists, is standard input,
// or has a manifest's extension.
func isPath(arg string) bool {
	_, err := os.Lstat(arg)
	return err == nil || arg == manifest.Stdin ||
		slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(arg))
}

func run(p *host.Program, flags blameFlags) error {
	format := flags.view.Format
	if err := option.OneOf("-o", format, blameview.Formats()...); err != nil {
		return exit.Usage(err)
	}
	if format != "text" && flags.view.ShowOrigin {
		return exit.Usage(fmt.Errorf("--show-origin has no effect on -o %s: remove it", format))
	}
	if err := flags.Color.Check(flags.view.Format); err != nil {
		return exit.Usage(err)
	}
	objects, findings, err := blameAll(p, flags)
	if err != nil {
		return err
	}
	findings = slices.DeleteFunc(codes.Distinct(findings), func(f finding.Finding) bool {
		return f.Severity < finding.Error && !codes.AssumesRuntime(f)
	})
	opts := flags.Report(p, p.Stderr)
	opts.Releases = []release.Release{*flags.Release.Or()}
	if err := report.WriteBeside(p.Stderr, findings, opts); err != nil {
		return err
	}
	selected, err := selectFields(objects, flags.view.Field)
	if err != nil {
		return err
	}
	shown := flags.view
	shown.ShowValues, shown.Color = flags.ShowValues, flags.Color
	shown.ShowOrigin = shown.ShowOrigin ||
		slices.ContainsFunc(objects, blameview.Blamed.IsBuilt)
	if err := blameview.Write(p, shown, selected); err != nil {
		return err
	}
	return exit.For(findings, false)
}

// selectFields finds the field in every object. It reports an unknown field only if every object
// lacks it.
func selectFields(objects []blameview.Blamed, field string) ([]blameview.Selection, error) {
	var selected []blameview.Selection
	var failed error
	for _, o := range objects {
		s := blameview.Selection{Blamed: o}
		if field != "" {
			var err error
			s.Fields, err = o.Object.Find(field)
			var unknown *blame.UnknownField
			switch {
			case err == nil:
			case errors.As(err, &s.Unset):
			case o.Entries != nil && errors.As(err, &unknown):
				if s.Fields = atomicAncestors(o, unknown.Path); s.Fields != nil {
					break
				}
				failed = cmp.Or(
					failed, error(
						exit.Usage(fmt.Errorf("%s: no manager owns %s", o.ID,
							strings.TrimPrefix(unknown.Error(), "there is no field ")))))
				continue
			case errors.As(err, &unknown):
				failed = cmp.Or(failed, error(exit.Usage(fmt.Errorf("%s: %w", o.ID, err))))
				continue
			default:
				return nil, exit.Usage(err)
			}
		}
		selected = append(selected, s)
	}
	if selected == nil {
		return nil, failed
	}
	return selected, nil
}

// completeField returns the paths of the rendered objects that start with word.
func completeField(p *host.Program, flags blameFlags, word string) []string {
	objects, _, err := blameAll(p, flags)
	if err != nil {
		return nil
	}
	dot := strings.HasPrefix(word, ".")
	var paths []string
	for _, o := range objects {
		for field := range o.Object.Fields() {
			for n := 1; n <= len(field.Path); n++ {
				text := field.Path[:n].String()
				if !dot {
					text = strings.TrimPrefix(text, ".")
				}
				if strings.HasPrefix(text, word) && !slices.Contains(paths, text) &&
					report.Printable(text) == text {
					paths = append(paths, text)
				}
			}
		}
	}
	return paths
}
