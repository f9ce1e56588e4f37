// Package policy implements the command policy. It writes a policy file as objects that the API
// server enforces, and tests them.
//
// Its first file to read is policy.go.
package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/vap"
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
func Command(p *host.Program, g *option.Global) *cobra.Command {
	flags := policyFlags{}
	cmd := &cobra.Command{
		Use:   "policy [FILE...] [-o vap] [flags]",
		Short: "Write a policy as objects that the API server enforces",
		Long: `Write the rules of a policy file as a ValidatingAdmissionPolicy with its binding, to standard output. The API server
then rejects a TrainJob whose patches break the rules: an unlisted manager, patches in another order, a field
that the manager may not set, a missing patch of a required manager, and managers that set different values of
one field. Where the file names users or service accounts of a manager, only they change its patch.

Without a file, it is trainweld.yaml of the working directory. The field cluster of a file, or flags, select namespaces
and TrainJobs. Several files may overlap: notes name them, and warnings what one lists and another rejects.

Patches and lowered severities stay with check, as notes and warnings say. No patch may have a directive such as
$patch. A large policy becomes several objects. A rule that no API server compiles is an error.

The expressions need Kubernetes 1.35.

Exit status: 0 written; 1 the file has a mistake, or a rule is too large; 2 usage, input or output failed.`,
		Example: `  # Into force, in the namespaces of one team
  trainweld policy --namespace-selector team=research | kubectl apply --server-side -f -

  # The policies of several teams
  trainweld policy teams/*/trainweld.yaml | kubectl apply --server-side -f -

  # What the expressions say of the TrainJobs of a repository, and of one user
  trainweld policy test jobs/ --user system:serviceaccount:ci:deployer`,
		RunE: func(_ *cobra.Command, files []string) error { return write(p, flags, files) },
	}
	f := cmd.Flags()
	option.AddPolicy(f, &flags.Flags)
	f.Lookup("policy").Usage = whichFile
	f.StringVar(&flags.name, "name", "", "the objects' name (default trainweld)")
	f.StringVar(&flags.namespaces, "namespace-selector", "",
		"only for namespaces with these labels")
	f.StringVar(&flags.jobs, "object-selector", "", "only for TrainJobs with these labels")
	f.StringVarP(&flags.format, "output", "o", "vap", "vap, for the API server")
	commandline.Words(cmd, "output", "vap")
	cmd.AddCommand(testCommand(p, g))
	return cmd
}

// whichFile is the help of --policy: the file that holds for a TrainJob makes no difference here.
const whichFile = "rules of `FILE` (default " + workspace.ConfigName + ")"

// readPolicy returns the policy of a file, or the status of a file with mistakes, which it reports.
func readPolicy(p *host.Program, file string) (*policy.Policy, error) {
	files, stdin := p.Inputs()
	if file == "" {
		file, files = workspace.ConfigName, host.Bounded(files, ".") // nobody has named the file
	}
	data, unreadable := manifest.Read(files, stdin, file)
	if unreadable != nil {
		return nil, errors.New(unreadable.Error())
	}
	of, found := policy.Parse(file, data)
	return of, report.WriteResult(p.Stderr, found, report.Options{}, false)
}

func write(p *host.Program, flags policyFlags, files []string) error {
	switch {
	case flags.format != "vap":
		return exit.Usage(fmt.Errorf("-o: unsupported value %q: must be vap", flags.format))
	case len(files) > 0 && flags.Policy != "":
		return exit.Usage(errors.New("--policy: name the file once"))
	case len(files) > mostFiles:
		return exit.Usage(fmt.Errorf("%d files: name at most %d", len(files), mostFiles))
	case len(files) > 1 && cmp.Or(flags.name, flags.namespaces, flags.jobs) != "":
		return exit.Usage(
			errors.New("--name and the selectors work for one file only: set the field cluster " +
				"of each file"))
	case len(files) == 0:
		files = []string{flags.Policy}
	}
	var policies []*policy.Policy
	var mistakes error
	for _, file := range files {
		of, err := readPolicy(p, file)
		policies, mistakes = append(policies, of), cmp.Or(mistakes, err)
	}
	if mistakes != nil {
		return mistakes
	}
	var objects []any
	var rules []string // that expressions cannot state, and the names of their policies
	of := map[string][]string{}
	named := map[string]string{} // the file of each name
	for i, one := range policies {
		scope, err := flags.scope(one.Scope())
		if err != nil {
			return exit.Usage(err)
		}
		file := printable.Line(cmp.Or(files[i], workspace.ConfigName))
		if other, is := named[scope.Name]; is {
			return fmt.Errorf("%s and %s both write objects called %s: set .cluster.name", other,
				file, scope.Name)
		}
		named[scope.Name] = file
		generated := policy.AdmissionPolicies(one, scope.Name)
		if generated.Policies == nil {
			return fmt.Errorf("%s: the policy has no rule for the API server: %s", file,
				strings.Join(append(generated.Lowered, generated.Left...), "; "))
		}
		if _, err := compile(p, one, generated, file); err != nil {
			return err
		}
		for _, object := range generated.Policies {
			objects = append(objects, object, policy.AdmissionBinding(scope, object))
		}
		for i, rule := range append(generated.Lowered, generated.Left...) {
			if rule = "note: " + rule; i < len(generated.Lowered) {
				rule = "warning" + strings.TrimPrefix(rule, "note")
			}
			if of[rule] == nil {
				rules = append(rules, rule)
			}
			of[rule] = append(of[rule], scope.Name)
		}
	}
	if err := manifest.Encode(p.Stdout, manifest.YAML, objects...); err != nil {
		return err
	}
	for _, rule := range rules {
		if len(of[rule]) < len(policies) {
			severity, rest, _ := strings.Cut(rule, ": ")
			fmt.Fprintf(p.Stderr, "%s: %s: %s\n", severity, strings.Join(of[rule], ", "), rest)
		} else {
			fmt.Fprintln(p.Stderr, rule)
		}
	}
	return report.WriteBeside(p.Stderr, policy.Overlaps(policies), report.Options{ShowNotes: true})
}

// compile compiles what the API server will compile, and evaluates it for a TrainJob with the
// patches of several managers: the API server limits the cost of a request. It reports the rule
// that is too large.
func compile(p *host.Program, of *policy.Policy, generated policy.Admission,
	file string) (*vap.Expressions, error) {
	expressions, err := vap.Compile(generated.Policies...)
	if unfit := (vap.CompileError{}); errors.As(err, &unfit) {
		err = fmt.Errorf("%s: too large: the API server does not compile the variable %s: %w",
			generated.Rule(unfit.Name), unfit.Name, unfit.Err)
	} else if err == nil {
		const most = 16 // patches of a TrainJob
		var patches []any
		for _, name := range of.Managers()[:min(most, len(of.Managers()))] {
			patches = append(
				patches, map[string]any{"manager": name, "trainingRuntimeSpec": sample()})
		}
		verdict := expressions.Validate(context.Background(), map[string]any{
			"metadata": map[string]any{"name": "sample", "namespace": "default"},
			"spec": map[string]any{"runtimeRef": map[string]any{"name": "sample"},
				"runtimePatches": patches},
		}, nil, "")
		if verdict.Cost.IsTooHigh() {
			err = fmt.Errorf("%s: too large: the API server ends the evaluation for its cost",
				generated.Rule(verdict.Dearest))
		}
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "trainweld: %s: %s\n", file, printable.Line(err.Error()))
		return nil, exit.Status(exit.Findings)
	}
	return expressions, nil
}

// sample is what each manager sets.
func sample() map[string]any {
	type object = map[string]any
	labels := object{"labels": object{"a": "b"}}
	pod := object{
		"nodeSelector": object{"a": "b"},
		"tolerations":  []any{object{"key": "a", "operator": "Exists"}},
		"containers": []any{
			object{"name": "node", "env": []any{object{"name": "A", "value": "b"}}}},
	}
	jobs := []any{
		object{"name": "node",
			"template": object{
				"spec": object{"template": object{"metadata": labels, "spec": pod}}}}}
	return object{"template": object{"metadata": labels, "spec": object{"replicatedJobs": jobs}}}
}

// mostFiles bounds the pairs of files.
const mostFiles = 64

// scope returns the scope of a file with what flags set.
func (flags policyFlags) scope(s policy.Scope) (policy.Scope, error) {
	s.Name = cmp.Or(flags.name, s.Name)
	if problems := validation.IsDNS1123Subdomain(s.Name); problems != nil {
		return s, fmt.Errorf("--name: %s", problems[0])
	}
	for _, f := range []struct {
		flag, text string
		of         **metav1.LabelSelector
	}{{"--namespace-selector", flags.namespaces, &s.Namespaces},
		{"--object-selector", flags.jobs, &s.TrainJobs}} {
		if f.text == "" {
			continue
		}
		var err error
		if *f.of, err = policy.ParseSelector(f.text); err != nil {
			return s, fmt.Errorf("%s: invalid selector: %w", f.flag, err)
		}
	}
	return s, nil
}
