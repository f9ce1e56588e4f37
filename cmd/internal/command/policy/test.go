package policy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/policy"
	"github.com/trainweld/trainweld/render/release"
)

// policyTestFlags are the flags of policy test.
type policyTestFlags struct {
	workspace.Flags
	user, old string
}

func testCommand(p *host.Program, g *option.Global) *cobra.Command {
	var flags policyTestFlags
	g.Inputs(&flags.Flags)
	cmd := &cobra.Command{
		Use:   "test PATH... [--user USER] [--old PATH] [--policy FILE] [flags]",
		Short: "Judge TrainJobs by the expressions of a policy, without a cluster",
		Long: `Judge TrainJobs by the expressions of policy -o vap, and compare with check.
A TrainJob that is also below --old is an update of it, and any other one is created. An update that changes neither
patches nor labels is admitted. The Trainer's webhook sets the times of patches first.

Exit status: 0 all TrainJobs are admitted; 1 one is refused, or the expressions and check disagree; 2 usage, input or
output failed.`,
		Example: `  # Who may change what
  trainweld policy test jobs/ --old ../main/jobs --user system:serviceaccount:kueue-system:kueue

  # With a policy of another name
  trainweld policy test jobs/ --policy platform.yaml`,
		RunE: func(_ *cobra.Command, args []string) error {
			flags.Files = append(flags.Files, args...)
			if flags.Empty() {
				return exit.Usage(
					errors.New("nothing to judge: name files or directories, or - for standard " +
						"input"))
			}
			return test(p, flags)
		},
	}
	f := cmd.Flags()
	option.AddPolicy(f, &flags.Flags)
	f.Lookup("policy").Usage = whichFile
	option.AddRecursive(f, &flags.Flags)
	f.StringVar(&flags.user, "user", "",
		"the user that sends the requests, as the API server knows it")
	f.StringVar(&flags.old, "old", "", "a file or directory with the TrainJobs before")
	return cmd
}

func test(p *host.Program, flags policyTestFlags) error {
	of, err := readPolicy(p, flags.Policy)
	if err != nil {
		return err
	}
	generated := policy.AdmissionPolicies(of, "policy")
	expressions, err := compile(p, of, generated, cmp.Or(flags.Policy, workspace.ConfigName))
	if err != nil {
		return err
	}
	before := map[fieldpath.Object]map[string]any{}
	if flags.old != "" {
		old := flags.Flags
		old.Files = []string{flags.old}
		if _, err := each(
			p, old, nil, func(j workspace.Job, id fieldpath.Object, fields map[string]any) {
				before[id] = fields
			}); err != nil {
			return err
		}
	}
	var out bytes.Buffer
	say := func(format string, args ...any) {
		fmt.Fprintln(&out, report.Line(fmt.Sprintf(format, args...)))
	}
	jobs, rejected, differ := 0, 0, 0
	releases, err := each(p, flags.Flags, before,
		func(j workspace.Job, id fieldpath.Object, fields map[string]any) {
			jobs++
			at := printable.Position(j.Document.Position(nil))
			if invalid := admission.Invalid(context.Background(), j.Release(), before[id],
				fields, id.Namespace); invalid != nil {
				rejected++
				say("%s: %s: refused before any policy: %s: %s", at, id, invalid[0].Path,
					invalid[0].Message)
				return
			}
			verdict := expressions.Validate(context.Background(), fields, before[id], flags.user)
			if verdict.Skipped {
				return
			}
			byRules, beyond := false, false
			for _, r := range verdict.Rejected {
				byRules = byRules || !policy.IsBeyondCheck(r.Expression)
				beyond = beyond || policy.IsBeyondCheck(r.Expression)
				say("%s: %s: refused: %s", at, id, r.Message)
			}
			if len(verdict.Rejected) > 0 {
				rejected++
			}
			found := violations(of, j)
			if byRules && found == nil || found != nil && !byRules && !beyond {
				differ++
				say("%s: %s: check disagrees: %d errors of the same rules", at, id, len(found))
			}
		})
	if err == nil {
		_, err = out.WriteTo(p.Stdout)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "judged %s%s: %d refused, %d on which check disagrees\n",
		report.Count(jobs, "TrainJob"), report.Releases(releases), rejected, differ)
	if rejected+differ > 0 {
		return exit.Status(exit.Findings)
	}
	return nil
}

// each calls use for the TrainJobs of the files, with their fields after the Trainer's mutating
// webhook. It reports the files that cannot be read, and returns the releases that the input names.
func each(p *host.Program, flags workspace.Flags, before map[fieldpath.Object]map[string]any,
	use func(j workspace.Job, id fieldpath.Object, fields map[string]any)) ([]release.Release,
	error) {
	in := workspace.Read(p, flags)
	if err := report.WriteBeside(p.Stderr, codes.Distinct(in.Findings),
		report.Options{}); err != nil {
		return nil, err
	}
	if in.Findings.Err() != nil {
		return nil, exit.Status(exit.Failed)
	}
	for _, j := range in.Jobs {
		fields, err := j.Document.Content()
		if err != nil {
			return nil, err
		}
		id := render.ObjectOf(j.TrainJob)
		if mutated, err := admission.Mutated(j.Release(), before[id], fields,
			id.Namespace); err == nil {
			fields = mutated
		} else if stored, ok := admission.Stored(j.Release(), fields, id.Namespace); ok {
			fields = stored
		}
		use(j, id, fields)
	}
	return in.Releases(), nil
}

// violations returns what check reports by the rules that the expressions state.
func violations(of *policy.Policy, j workspace.Job) finding.List {
	found := of.Check(j.TrainJob, j.TrainJob.Spec.RuntimePatches)
	found = append(
		found, render.Conflicts(render.Input{TrainJob: j.TrainJob},
			render.Options{Release: j.Release()}).Of(codes.Overlap)...)
	return found.Where(func(f finding.Finding) bool { return of.Severity(f) == finding.Error })
}
