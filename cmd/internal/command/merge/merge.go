// Package merge implements the command merge. It merges the patches of several managers into any
// object.
package merge

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/objectmerge"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// mergeFlags are the flags of merge.
type mergeFlags struct {
	workspace.Flags
	option.Schema
	option.Merge
	format string
	object string // of a build, as KIND/NAME
	*option.Global
	policies option.Policies
}

// Command returns the command with its flags and its help.
func Command(p *host.Program, g *option.Global) *cobra.Command {
	flags := mergeFlags{Global: g}
	g.Inputs(&flags.Flags)
	cmd := &cobra.Command{
		Use:   "merge -f BASE | -k DIR KIND/NAME --patch [NAME=]FILE... [--crd PATH]... [flags]",
		Short: "Merge the patches of several managers into any object",
		Long: `Merge the patches of several managers into an object of any kind, in the order given. Managers that disagree are
an error. BASE is a file with one object, or - for standard input. NAME is the manager of the patch, any string. It
defaults to the name of the file. A patch may omit apiVersion, kind and name. With -k, BASE is an object of a
build, and findings have the places that set its fields: docs/builds.md

--type says how the patches merge:

  strategic  as strategic merge patches. $patch, $retainKeys and the other directives work, and a null removes a
             field. This is the default for Kubernetes' own kinds.
  apply      as forced server-side applies in order, by the schema of a CustomResourceDefinition. This is the
             default for TrainJobs, runtimes, JobSets and kinds that a --crd defines.
  merge      as JSON merge patches (RFC 7386). They replace lists whole, and a null removes a field. This is the
             default for all other kinds, with a warning.

--on-conflict, --force-manager, --protected and --option merge as a program that merges Pod templates may want. Without
them the merge is the cluster's. What they decide is a warning, beside the conflict.

-o managed adds metadata.managedFields: who owns which field after the merge.

A result that the API server rejects is an error, unless the base is invalid: a Pod template, a Job or a JobSet, and
the names, ports and unions of a Service, Ingress, NetworkPolicy or PersistentVolumeClaim.

The object goes to standard output, findings to standard error. If a finding is an error, no object is written.

Exit status: 0 done; 1 a finding is an error; 2 usage, input or output failed.`,
		Example: `  # A Deployment, and what two teams want of it
  trainweld merge -f deployment.yaml --patch web=web.yaml --patch security=security.yaml

  # A custom resource, by its definition
  trainweld merge -f workflow.yaml --crd crds/ --patch team.yaml

  # An object of an overlay
  trainweld merge -k overlays/prod Deployment/web --patch team.yaml

  # The last patch wins where the two disagree, with a warning
  trainweld merge -f deployment.yaml --patch a.yaml --patch b.yaml --on-conflict=last`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if flags.Builds() && flags.object == "" && origins.IsObject(arg) {
					flags.object = arg
					continue
				}
				flags.Files = append(flags.Files, arg)
			}
			return run(cmd.Context(), p, flags)
		},
	}
	f := cmd.Flags()
	f.VarP((*option.Repeated)(&flags.Files), "filename", "f", "the file of the base, or -")
	option.AddKustomize(f, &flags.Kustomize,
		"build the kustomizations in or below a directory; the base is their object KIND/NAME")
	f.Var((*option.Repeated)(&flags.Patches), "patch",
		"apply the patch of `[NAME=]FILE` to the base in the order given (repeatable)")
	flags.Schema.Add(cmd)
	flags.Merge.Add(cmd)
	f.StringVarP(&flags.format, "output", "o", "yaml",
		"yaml, json, or managed, YAML with metadata.managedFields")
	commandline.Words(cmd, "output", "yaml", "json", "managed")
	return cmd
}

func run(ctx context.Context, p *host.Program, flags mergeFlags) error {
	format, rule, err := flags.parse()
	if err != nil {
		return exit.Usage(err)
	}
	b, err := build.New(p, p.Files, flags.Flags)
	if err != nil {
		return err
	}
	defer b.Close()
	m, found, err := flags.read(p, b)
	if err != nil {
		return err
	}
	if found.Err() == nil {
		m.Policies = flags.policies
		if err := m.Check(); err != nil {
			return err
		}
	}
	merged, more := m.Apply(found)
	if found = append(found, more...); merged != nil {
		found = append(found, m.Conflicts(merged, rule)...)
		found = append(found, m.Rejected(merged, found)...)
		found = append(found, m.LateVariables(merged)...)
		found = append(found, m.Admit(ctx, merged, found)...)
		found = append(found, m.Leftovers(merged, found)...)
	}
	var all codes.Report
	all.Add(found...)
	found = all.List()
	if err := report.WriteResult(p.Stderr, found, flags.Report(p, p.Stderr), false); err != nil {
		return err
	}
	if flags.format == "managed" {
		if err := m.AddManagedFields(merged); err != nil {
			return err
		}
	}
	encoder := manifest.Encoder{KeepStatus: true}
	return encoder.Encode(p.Stdout, format, merged.Fields)
}

// read reads the base and the patches. The builder is nil for a base in a file.
func (flags *mergeFlags) read(p *host.Program,
	b *build.Builder) (*objectmerge.Object, finding.List, error) {
	in := workspace.New(flags.Flags)
	if b == nil {
		return objectmerge.Read(p, in, flags.Flags, flags.Schema, nil)
	}
	if len(flags.Files) > 0 {
		return nil, nil, exit.Usage(fmt.Errorf("%s: the base is an object of -k: remove the file",
			flags.Files[0]))
	}
	base, found, err := objectmerge.Built(b, flags.object)
	if err != nil || base == nil {
		return nil, found, err
	}
	m, more, err := objectmerge.Read(p, in, flags.Flags, flags.Schema, base)
	return m, append(found, more...), err
}

// parse parses the flags with a fixed set of values.
func (flags *mergeFlags) parse() (manifest.Format, render.OnConflict, error) {
	format := manifest.YAML
	if flags.format != "managed" {
		var err error
		if format, err = manifest.ParseFormat(flags.format); err != nil {
			return 0, 0, fmt.Errorf("-o: %w", err)
		}
	}
	policies, rule, wrong := flags.Merge.Parse()
	if len(wrong) > 0 {
		first := wrong[0]
		if strings.HasPrefix(first.Field, "protected") {
			first.Field = "protected" // the flag repeats
		}
		return 0, 0, first
	}
	flags.policies = policies
	if err := flags.Schema.Check(); err != nil {
		return 0, 0, err
	}
	return format, rule, flags.CheckPaths()
}
