// Package create implements the command create. It writes a TrainJob from the options of the SDK.
package create

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/trainjob"
)

// createFlags are the flags of create.
type createFlags struct {
	workspace.Flags
	runtime             option.Runtime
	name, image         string
	labels, annotations []string
	command, args       []string
	env, resources      []string
	numNodes            int32
	deadline            int64
	format              string
	*option.Global
}

// Command returns the command with its flags and its help.
func Command(p *host.Program, g *option.Global) *cobra.Command {
	flags := createFlags{Global: g}
	g.Inputs(&flags.Flags)
	cmd := &cobra.Command{
		Use:   "create --runtime [KIND/]NAME --name NAME [flags]",
		Short: "Write a TrainJob from the options of the Kubeflow SDK",
		Long: `Write the TrainJob that the Kubeflow Python SDK sends for the same options to standard output. The command
applies the SDK's rules, and the cluster's rules that hold for every runtime. It rejects a value with the
reason. docs/create.md has the rules. The name is required: equal command lines write equal bytes.

Each --command and --args is one word. If the word begins with a dash, use an equals sign:
--args=--epochs --args=10.

Exit status: 0 written; 2 a value is invalid, or usage, input or output failed.`,
		Example: `  # A TrainJob on the runtime torch-distributed
  trainweld create --runtime torch-distributed --name llm --image registry.example.com/train:2 \
    --command torchrun --command train.py --num-nodes 4 --resources cpu=8,memory=64Gi,gpu=1

  # With variables, labels, and a patch of the runtime
  trainweld create --runtime torch --name llm --label team=ml --env LOG=debug --patch patch.yaml

  # What would become of it
  trainweld create --runtime torch-distributed --name llm | trainweld render -f - -r runtime.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.Usage(
					fmt.Errorf("create takes no arguments, got %q: use --name for the name, "+
						"--command and --args for the command", args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(p, flags, cmd.Flags().Changed)
		},
	}
	f := cmd.Flags()
	option.AddRuntime(cmd, &flags.runtime, "the runtime (required)")
	f.StringVar(&flags.name, "name", "", "the TrainJob's name (required)")
	f.Var((*option.Repeated)(&flags.labels), "label",
		"KEY=VALUE, a label of the TrainJob (repeatable)")
	f.Var((*option.Repeated)(&flags.annotations), "annotation",
		"KEY=VALUE, an annotation of the TrainJob (repeatable)")
	f.StringVar(&flags.image, "image", "", "the image of the trainer's container")
	f.Var((*option.Repeated)(&flags.command), "command",
		"a word of the trainer's command, which replaces the runtime's (repeatable)")
	f.Var((*option.Repeated)(&flags.args), "args",
		"a word of the trainer's arguments, which replace the runtime's (repeatable)")
	f.Int32Var(&flags.numNodes, "num-nodes", 0, "the number of training nodes")
	f.Var((*option.Repeated)(&flags.resources), "resources",
		"NAME=QUANTITY,..., requests and limits of each node: cpu, memory, gpu, storage, "+
			"mig-PROFILE, or another resource (repeatable)")
	f.Var((*option.Repeated)(&flags.env), "env",
		"NAME=VALUE, a variable of the trainer's container (repeatable)")
	f.Int64Var(&flags.deadline, "active-deadline-seconds", 0,
		"end the TrainJob after that many seconds")
	f.Var((*option.Repeated)(&flags.Patches), "patch",
		"add the patches of `[NAME=]FILE` or -: a RuntimePatch, a list of them, or a TrainJob's; "+
			"one without a manager is the SDK's (repeatable)")
	f.StringVarP(&flags.format, "output", "o", "yaml", "yaml or json")
	commandline.Words(cmd, "output", "yaml", "json")
	return cmd
}

func run(p *host.Program, flags createFlags, changed func(flag string) bool) error {
	format, err := manifest.ParseFormat(flags.format)
	if err != nil {
		return exit.Usage(fmt.Errorf("-o: %w", err))
	}
	options, err := flags.options(changed)
	if err = errors.Join(err, flags.CheckPaths()); err != nil {
		return exit.Usage(err)
	}
	in := workspace.New(flags.Flags)
	in.ReadPatches(p)
	findings := in.Findings
	if findings.Err() == nil {
		for _, patch := range in.Patches {
			if patch.Extended != nil {
				findings = append(findings, finding.Finding{
					Code: codes.Unpatchable, Severity: finding.Error, Object: patch.Document.ID,
					Position: patch.Document.Position(nil),
					Message:  "Forbidden: a TrainJob holds no extended patch",
					Remedy:   finding.Remedy{Text: "use it in trainweld render --for=runtime"},
				})
			}
			options = append(options, trainjob.RuntimePatch{
				Manager: patch.Patch.Manager, TrainingRuntimeSpec: patch.Patch.TrainingRuntimeSpec,
				Written: func(path fieldpath.Path) bool {
					return patch.Document.Has(patch.Base.Append(path...))
				},
			})
		}
	}
	job, found := trainjob.New(flags.runtime.Name, options...)
	locatePatches(in, found)
	findings = append(findings, found...)
	lacking, err := lackedBy(in.API(flags.Release), job)
	if err != nil {
		return err
	}
	findings = append(findings, lacking...)
	findings.Sort()
	shown := flags.Report(p, p.Stderr)
	shown.Releases = []release.Release{*flags.Release.Or()}
	if err := report.WriteBeside(p.Stderr, codes.Distinct(findings), shown); err != nil {
		return err
	}
	if findings.Err() != nil {
		return exit.Status(exit.Failed)
	}
	return manifest.Encode(p.Stdout, format, job)
}

// lackedBy returns the findings on fields of the TrainJob that a release lacks. The TrainJob has no
// file.
func lackedBy(api *manifest.API, job *trainer.TrainJob) (finding.List, error) {
	if api == nil || job == nil {
		return nil, nil
	}
	var b bytes.Buffer
	if err := manifest.Encode(&b, manifest.JSON, job); err != nil {
		return nil, err
	}
	_, findings, _ := api.Decode("", b.Bytes(), nil)
	for i := range findings {
		findings[i].Position = fieldpath.Position{}
	}
	return findings, nil
}

// options returns the SDK options that the flags set.
func (flags createFlags) options(changed func(string) bool) ([]trainjob.Option, error) {
	options := []trainjob.Option{trainjob.Name(flags.name), trainjob.Namespace(flags.Namespace)}
	var errs []error
	for _, required := range []struct{ flag, value string }{
		{"runtime", flags.runtime.Name}, {"name", flags.name}} {
		if required.value == "" {
			errs = append(errs, fmt.Errorf("--%s is required", required.flag))
		}
	}
	labels, err := keyValues("label", "KEY=VALUE", flags.labels)
	errs = append(errs, err)
	annotations, err := keyValues("annotation", "KEY=VALUE", flags.annotations)
	errs = append(errs, err)
	resources, err := keyValues("resources", "NAME=QUANTITY", commaSeparated(flags.resources))
	errs = append(errs, err)
	_, err = keyValues("env", "NAME=VALUE", flags.env)
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	options = append(options, trainjob.Labels(labels), trainjob.Annotations(annotations),
		trainjob.ResourcesPerNode(resources))
	for _, word := range flags.env {
		name, value, _ := strings.Cut(word, "=")
		options = append(options, trainjob.TrainerEnv{Name: name, Value: value})
	}
	if kind := flags.runtime.Kind; kind != "" {
		options = append(options, trainjob.RuntimeKind(kind))
	}
	given := []struct {
		flag   string
		option trainjob.Option
	}{
		{"image", trainjob.TrainerImage(flags.image)},
		{"command", trainjob.TrainerCommand(flags.command)},
		{"args", trainjob.TrainerArgs(flags.args)},
		{"num-nodes", trainjob.NumNodes(flags.numNodes)},
		{"active-deadline-seconds", trainjob.ActiveDeadlineSeconds(flags.deadline)},
	}
	for _, g := range given {
		if changed(g.flag) {
			options = append(options, g.option)
		}
	}
	return options, nil
}

// keyValues parses the KEY=VALUE words of a flag. It returns an error for a duplicate key, because
// the API keeps one.
func keyValues(flag, form string, words []string) (map[string]string, error) {
	all := map[string]string{}
	var errs []error
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		switch _, isDuplicate := all[key]; {
		case !ok || key == "":
			// The word may be a secret without its name.
			errs = append(errs, fmt.Errorf("--%s: invalid value: must be %s", flag, form))
		case isDuplicate:
			errs = append(errs, fmt.Errorf("--%s: duplicate %s", flag, key))
		default:
			all[key] = value
		}
	}
	return all, errors.Join(errs...)
}

func commaSeparated(words []string) []string {
	var all []string
	for _, word := range words {
		all = append(all, strings.Split(word, ",")...)
	}
	return all
}

// locatePatches sets the positions of findings on a TrainJob that is written from patches. The
// TrainJob's patches are the patches of in, in their order.
func locatePatches(in *workspace.Input, findings finding.List) {
	count := map[string]int{}
	for i := range in.Patches {
		count[patchManager(in, i)]++
	}
	for k := range findings {
		f := &findings[k]
		for i, patch := range in.Patches {
			list := fieldpath.Fields("spec", "runtimePatches")
			at := list.Append(fieldpath.Index(i))
			if named := list.Append(
				fieldpath.Item("manager", patchManager(in, i))); count[patchManager(in, i)] == 1 &&
				f.Path.HasPrefix(named) {
				at = named
			}
			if !f.Path.HasPrefix(at) {
				continue
			}
			f.Position = patch.Document.Position(patch.Base.Append(f.Path[len(at):]...))
			for c := range f.Claims {
				locatePatchClaim(in, &f.Claims[c])
			}
		}
	}
}

// locatePatchClaim sets the position of a claim whose source names a patch by index.
func locatePatchClaim(in *workspace.Input, claim *merge.Claim) {
	for i, patch := range in.Patches {
		at := fieldpath.Fields("spec", "runtimePatches").Append(fieldpath.Index(i))
		if claim.At.HasPrefix(at) {
			claim.Position = patch.Document.Position(patch.Base.Append(claim.At[len(at):]...))
		}
	}
}

// patchManager returns the manager of a patch in the files. The default is the SDK.
func patchManager(in *workspace.Input, i int) string {
	return cmp.Or(in.Patches[i].Patch.Manager, trainjob.SDKManager)
}
