// Package policy implements the command policy. It writes a policy file as objects that the API server enforces, and tests them.
package policy

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/policy"
)

// policyFlags are the flags of policy.
type policyFlags struct {
	workspace.Flags
	name, namespaces, jobs, format string
}

// Command returns the command with its flags and its help.
func Command(p *host.Program) *cobra.Command {
	flags := policyFlags{}
	cmd := &cobra.Command{
		Use:   "policy [-o vap] [--policy FILE] [flags]",
		Short: "Write a policy as objects that the API server enforces",
		Long: `Write the rules of a policy file as a ValidatingAdmissionPolicy with its binding, to standard output. The API server
then refuses a TrainJob whose patches break the rules: an unlisted manager, patches in another order, a field
that the manager may not set, a missing patch of a required manager, and managers that set different values of
one field. Where the file names users or service accounts of a manager, only they change its patch.

The file is that of --policy, or trainweld.yaml of the working directory. Its patches, compositions and lowered
severities stay with check. A note on standard error names each rule that the expressions cannot state.

The expressions need Kubernetes 1.33.

Exit status: 0 written; 1 the file has a mistake; 2 usage, input or output failed.`,
		Example: `  # Into force, in the namespaces of one team
  trainweld policy -o vap --namespace-selector team=research | kubectl apply -f -

  # What the expressions say of the TrainJobs of a repository, and of one user
  trainweld policy test jobs/ --user system:serviceaccount:ci:deployer`,
		Args: option.NoArguments,
		RunE: func(*cobra.Command, []string) error { return write(p, flags) },
	}
	f := cmd.Flags()
	option.AddPolicy(f, &flags.Flags)
	f.Lookup("policy").Usage = whichFile
	f.StringVar(&flags.name, "name", "trainweld", "the objects' name")
	f.StringVar(&flags.namespaces, "namespace-selector", "", "only for namespaces with these labels")
	f.StringVar(&flags.jobs, "object-selector", "", "only for TrainJobs with these labels")
	f.StringVarP(&flags.format, "output", "o", "vap", "vap, for the API server")
	commandline.Complete(cmd, "output", cobra.FixedCompletions([]string{"vap"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(testCommand(p))
	return cmd
}

// whichFile is the help of --policy: the file that holds for a TrainJob makes no difference here.
const whichFile = "rules of `FILE` (default " + workspace.ConfigName + ")"

// read returns the policy of a file, or the status of a file with mistakes, which it reports.
func read(p *host.Program, file string) (*policy.Policy, error) {
	files, stdin := p.Inputs()
	if file == "" {
		file, files = workspace.ConfigName, host.Bounded(files, ".") // nobody has named the file
	}
	data, unreadable := manifest.Read(files, stdin, file)
	if unreadable != nil {
		return nil, errors.New(unreadable.Error())
	}
	of, found := policy.Parse(file, data)
	if err := report.WriteBeside(p.Stderr, found, report.Options{}); err != nil {
		return nil, err
	}
	return of, exit.For(found, false)
}

func write(p *host.Program, flags policyFlags) error {
	if flags.format != "vap" {
		return exit.Usage(fmt.Errorf("-o: %q is not vap, the only form", flags.format))
	}
	if problems := validation.IsDNS1123Subdomain(flags.name); problems != nil {
		return exit.Usage(fmt.Errorf("--name: %s", problems[0]))
	}
	namespaces, err := selector("--namespace-selector", flags.namespaces)
	jobs, err2 := selector("--object-selector", flags.jobs)
	if err = cmp.Or(err, err2); err != nil {
		return exit.Usage(err)
	}
	of, err := read(p, flags.Policy)
	if err != nil {
		return err
	}
	vap, left := policy.AdmissionPolicy(of, flags.name)
	if vap == nil {
		return fmt.Errorf("the policy has no rule for the API server: %s", strings.Join(left, "; "))
	}
	if err := manifest.Encode(p.Stdout, manifest.YAML, vap, policy.AdmissionBinding(flags.name, namespaces, jobs)); err != nil {
		return err
	}
	for _, rule := range left {
		fmt.Fprintln(p.Stderr, "note:", rule)
	}
	return nil
}

// selector reads the label selector of a flag. It is nil without one.
func selector(flag, text string) (map[string]any, error) {
	if text == "" {
		return nil, nil
	}
	s, err := metav1.ParseToLabelSelector(text)
	if err != nil {
		return nil, fmt.Errorf("%s: invalid selector: %w", flag, err)
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(s)
}
