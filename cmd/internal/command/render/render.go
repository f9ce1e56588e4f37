// Package render implements the command render. It renders TrainJobs to manifests.
//
// Its first file to read is render.go.
package render

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
)

// Command returns the command with its flags and its help.
func Command(p *host.Program, g *option.Global) *cobra.Command {
	flags := option.Render{Global: g}
	g.Inputs(&flags.Flags)
	cmd := &cobra.Command{
		Use:   "render [-f PATH]... [-k DIR]... [-r PATH]... [--patch [NAME=]FILE]... [flags]",
		Short: "Render TrainJobs to the JobSets, Jobs or Pods that the cluster creates",
		Long: `Render TrainJobs to the objects that the cluster creates. --to=jobset, the default, renders the objects that the
Trainer's controller applies. --to=jobs and --to=pods render the objects that the next controllers create. For
these two the input may also be a JobSet. --to=podsets renders what Kueue counts: docs/kueue.md.

A PATH is a file, a directory, a quoted glob or - for standard input. Files hold TrainJobs and runtimes as YAML
or JSON. The kind, namespace and name identify a TrainJob's runtime. Objects go to standard output or to
--output-dir, findings to standard error. If a finding is an error, no object is written.

Exit status: 0 done; 1 a finding is an error, or with --exit-code a file changes; 2 usage, input or output
failed; 130 and 143 interrupted by SIGINT and SIGTERM, with nothing written to --output-dir.`,
		Example: `  # One TrainJob, its runtime from another file
  trainweld render -f job.yaml -r runtime.yaml

  # What the platform's and Kueue's patches, laid over it in this order, make of it
  trainweld render -f job.yaml -r runtime.yaml --patch platform.yaml --patch kueue.yaml

  # Where managers disagree, let the last patch win, as the cluster does, with a warning
  trainweld render -f job.yaml -r runtime.yaml --on-conflict=last

  # Where managers disagree, let one manager win, with a warning for each value that is overridden
  trainweld render -f job.yaml -r runtime.yaml --force-manager=trainer.kubeflow.org/kubeflow-sdk

  # The runtime that patches of any of its fields make, and the TrainJob that refers to it
  trainweld render -f job.yaml -r runtime.yaml --patch extended.yaml --for=runtime

  # Every TrainJob below a directory to a file of its own
  trainweld render -R -f jobs/ -r runtimes/ --output-dir rendered/

  # The Pods of the first two nodes, as the cluster stores them
  trainweld render -f job.yaml -r runtime.yaml --to=pods --job=node/0..1 --as=stored

  # As Kueue admits it to a flavor
  trainweld render -f job.yaml -r runtime.yaml --flavors flavors.yaml --flavor node=spot

  # The overlays of a repository, one folder each
  trainweld render -k overlays/ -r runtimes/ --output-dir rendered/

  # From a pipe
  kustomize build . | trainweld render -f -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.Files = append(flags.Files, args...)
			switch {
			case cmd.Flags().Changed("output-dir") && flags.OutputDir == "":
				return exit.Usage(errors.New("--output-dir: an empty path; name a directory"))
			case flags.Prune && flags.OutputDir == "":
				return exit.Usage(errors.New("--prune needs --output-dir: name a directory"))
			case flags.ExitCode && flags.OutputDir == "":
				return exit.Usage(errors.New("--exit-code needs --output-dir: name a directory"))
			case cmd.Flags().Changed("old") && flags.Old == "":
				return exit.Usage(errors.New("--old: an empty path: name a file, a directory or -"))
			case cmd.Flags().Changed("git") && flags.Git == "":
				return exit.Usage(
					errors.New("--git: no revision; name a branch, a tag or a commit"))
			}
			return run(p, flags)
		},
	}
	f := cmd.Flags()
	option.AddInputs(f, &flags.Flags,
		"read TrainJobs and runtimes from a file, directory, glob or - (repeatable)",
		option.LaidOver)
	option.AddBuilds(f, &flags.Flags)
	f.StringVarP(&flags.Format, "output", "o", "yaml",
		"yaml, json, name, or, of Pods and Pod sets, table or wide")
	f.StringVar(&flags.OutputDir, "output-dir", "",
		"write one file per TrainJob into this directory, once all are rendered")
	f.BoolVar(&flags.Prune, "prune", false,
		"with --output-dir: remove obsolete files, unless they have edits")
	f.BoolVar(&flags.ExitCode, "exit-code", false,
		"with --output-dir: list the files that change, and end with status 1; they are "+
			"written, removed or untracked by git")
	flags.AddResult(p, cmd, "jobset", "jobs", "pods", option.PodSets)
	option.AddWord(cmd, &flags.For, "for",
		[]string{option.ForReview, option.ForApply, option.ForRuntime},
		"review, apply or runtime; review is what the controller applies, apply the same to "+
			"apply instead of the TrainJobs, with a warning for each loss, and runtime the "+
			"TrainJobs, with the runtimes of their extended patches")
	f.Var((*option.Paths)(&flags.Queued), "flavors",
		"read ResourceFlavors and Workloads of Kueue; admit each TrainJob by its Workload, "+
			"or by --flavor (repeatable)")
	f.StringArrayVar(&flags.Assigned, "flavor", nil,
		"admit the Pod set to the ResourceFlavor of --flavors: PODSET=FLAVOR (repeatable)")
	f.StringVar(&flags.Old, "old", "",
		"render the objects that exist as the controllers change them; the state before is "+
			"a file, a directory or a dump of kubectl get -o yaml")
	f.StringVar(&flags.Git, "git", "",
		"like --old, with the state before in this revision of git; REV..REV and REV...REV "+
			"compare revisions")
	f.BoolVar(&flags.Secrets, "generate-secrets", false,
		"generate the controller's Secrets: MPI's SSH keys, Flux's certificate; new ones on "+
			"every run")
	option.AddSeverity(cmd, &flags.Severity)
	f.BoolVar(&flags.Strict, "strict", false,
		"count warnings, and the note on a runtime of the release, as errors")
	commandline.Words(cmd, "output", "yaml", "json", option.NameFormat, option.TableFormat,
		option.WideFormat)
	_ = cmd.MarkFlagDirname("output-dir")
	return cmd
}
