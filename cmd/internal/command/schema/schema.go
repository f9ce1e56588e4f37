// Package schema implements the command schema. It writes the JSON Schemas that editors read.
package schema

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/editor"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// schemaFlags are the flags of schema.
type schemaFlags struct {
	workspace.Flags
	kind string
}

// Command returns the command with its flags and its help.
func Command(p *host.Program) *cobra.Command {
	var flags schemaFlags
	cmd := &cobra.Command{
		Use:   "schema [KIND] [-f PATH]... [-r PATH]... [flags]",
		Short: "Print the JSON Schema of a kind, for editors",
		Long: `Print a JSON Schema to standard output. An editor with a language server for YAML completes and checks files by
it while you type. docs/editor.md has the settings of editors.

KIND is one of these. Without a KIND, the schema is for files of any objects, and checks each by its kind.

  TrainJob, TrainingRuntime, ClusterTrainingRuntime, JobSet   objects of a release
  RuntimePatch   a file for --patch: a patch, a list of patches, or a TrainJob
  policy         trainweld.yaml
  options        options.yaml of golden cases

The schema has the descriptions of the release. An unknown field is a problem, and so is a field that no patch may set:
the problem names the API that sets it. In the patches of a TrainJob the names of jobs and containers are those of its
runtime. In any other patch they are those of all runtimes. The runtimes are those of the files and those that the
release ships. Runtimes of the files replace shipped ones of the same name.

The schema holds for the files that the command reads. Run it again when the runtimes change. What needs more than the
file and the names of runtimes, such as a conflict, only check finds.

Exit status: 0 done; 1 a runtime has an error, and nothing is printed; 2 usage, input or output failed.`,
		Example: `  # For all manifests of a repository, with the names of its runtimes
  trainweld schema -r runtimes/ > .trainweld/manifests.json

  # For TrainJobs of a cluster with Trainer 2.2
  trainweld schema TrainJob --trainer-version 2.2 > trainjob.json

  # For trainweld.yaml
  trainweld schema policy > policy.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usage(fmt.Errorf("schema takes one KIND, got %q: files go with -f, runtimes with -r", args))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return editor.Kinds(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			kind, err := kindOf(args)
			if err != nil {
				return exit.Usage(err)
			}
			flags.kind = kind
			return run(p, flags)
		},
	}
	f := cmd.Flags()
	f.VarP((*option.Paths)(&flags.Files), "filename", "f", "read runtimes, and the managers of patches, from a file, directory, glob or - (repeatable)")
	f.VarP((*option.Paths)(&flags.Runtimes), "runtimes", "r", "read runtimes from a file, directory, glob or - (repeatable)")
	option.AddPolicy(f, &flags.Flags)
	option.AddScope(f, &flags.Flags)
	option.AddTrainerVersion(cmd, &flags.Release)
	return cmd
}

// kindOf returns the kind that the arguments name. Case does not matter.
func kindOf(args []string) (string, error) {
	if len(args) == 0 {
		return editor.Manifests, nil
	}
	kinds := editor.Kinds()
	for _, kind := range kinds {
		if strings.EqualFold(kind, args[0]) {
			return kind, nil
		}
	}
	return "", fmt.Errorf("there is no schema of %q%s; the kinds are %s", args[0], option.DidYouMean(args[0], kinds), strings.Join(kinds, ", "))
}

func run(p *host.Program, flags schemaFlags) error {
	if err := flags.CheckPaths(); err != nil {
		return exit.Usage(err)
	}
	in := workspace.Read(p, flags.Flags)
	r := flags.Release
	if r == nil {
		files, _ := p.Inputs()
		r = in.APIOf(files, ".").Release()
	}
	found := slices.DeleteFunc(in.Findings, func(f finding.Finding) bool { return !isOfNames(f) })
	found.Sort()
	if err := report.WriteResult(p.Stderr, codes.Distinct(found), report.Options{}, false); err != nil {
		return err
	}
	schema, err := editor.Schema(flags.kind, r, repositoryNames(in, r))
	if err != nil {
		return exit.Usage(err)
	}
	return report.EncodeJSON(p.Stdout, schema)
}

// isOfNames reports whether a finding may hide names. Such a finding is on a runtime, on a policy or on a file as a whole. A patch in
// its own file is not an object, and hides none.
func isOfNames(f finding.Finding) bool {
	isPatch := f.Code == codes.NotAnObject && f.Severity < finding.Error
	return workspace.IsRuntime(f.Object) || f.Object.Kind == "" && !isPatch
}

// repositoryNames returns the names of the input.
func repositoryNames(in *workspace.Input, r *release.Release) editor.Names {
	all := editor.Names{Managers: in.KnownManagers()}
	for _, runtime := range in.NamedRuntimes(r) {
		origin := runtime.Position.String()
		if runtime.Position.File == "" {
			origin = "ships with Trainer " + r.Or().Version
		}
		named := editor.Runtime{Kind: runtime.Kind, Name: runtime.Name, Origin: origin}
		for i := range runtime.Spec.Template.Spec.ReplicatedJobs {
			job := &runtime.Spec.Template.Spec.ReplicatedJobs[i]
			pod := &job.Template.Spec.Template.Spec
			named.Jobs = append(named.Jobs, editor.Job{Name: job.Name, Containers: containerNames(pod.Containers), InitContainers: containerNames(pod.InitContainers)})
		}
		all.Runtimes = append(all.Runtimes, named)
	}
	return all
}

func containerNames(containers []corev1.Container) []string {
	var names []string
	for i := range containers {
		names = append(names, containers[i].Name)
	}
	return names
}
