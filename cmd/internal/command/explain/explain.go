// Package explain implements the command explain. It shows how patches to a field merge, and which
// layers write it.
//
// Its first file to read is explain.go.
package explain

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/explain"
)

// Command returns the command with its flags and its help.
func Command(p *host.Program) *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use:   "explain {FIELD|CODE} [-o text|json]",
		Short: "Explain how a field merges and who may set it, or what a finding means",
		Long: `Explain a field of a TrainJob's JobSet: how its patches merge, which fields exclude it, who may set it, when it
can change, and which policies replace it. FIELD is a path as findings show it. You may omit the leading dot,
the items of lists, or the beginning if the end names one field only.

A field of a TrainJob or of a runtime is a path from its root, such as spec.runtimePatches. The command shows its
kind and the releases of the Trainer that have it.

CODE is the code of a finding, such as TW300. The command explains it, and says what to do. If releases differ,
it says which release changed what.

Exit status: 0 done; 2 no such field or code.`,
		Example: `  # What becomes of two managers' node selectors
  trainweld explain nodeSelector

  # Who sets the command of the trainer's container
  trainweld explain 'containers[name="node"].command'

  # What a finding means
  trainweld explain TW300

  # Which releases have a field of a TrainJob
  trainweld explain spec.trainer.numProcPerNode

  # From the root, as kubectl explain takes it
  trainweld explain spec.replicatedJobs.template.spec.template.spec.volumes`,
		ValidArgsFunction: func(_ *cobra.Command, args []string,
			typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			if strings.HasPrefix(strings.ToUpper(typed), "TW") {
				return option.CodeNames(), cobra.ShellCompDirectiveNoFileComp
			}
			return fieldCompletions(typed),
				cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usage(fmt.Errorf("explain takes one field or code, got %d", len(args)))
			}
			if format != "json" && format != "text" {
				return exit.Usage(
					fmt.Errorf("--output: %q is not a format; use text or json", format))
			}
			if isCode(args[0]) {
				return writeCode(p.Stdout, args[0], format)
			}
			rule, err := explain.Field(args[0])
			if path, failed := fieldpath.ParsePath(args[0]); err != nil && failed == nil {
				if defined := define(path); defined != nil {
					if format == "json" {
						return writeDefinedJSON(p.Stdout, defined)
					}
					return writeDefined(p.Stdout, defined)
				}
				if parent := parentOf(path); parent != nil {
					return fmt.Errorf("no field of a JobSet is called %s: use %s", args[0],
						parent.Append(path...))
				}
				err = cmp.Or(misnamed(path), err)
			}
			switch {
			case err != nil:
				return err
			case format == "json":
				return writeRuleJSON(p.Stdout, rule)
			default:
				return writeRule(p.Stdout, rule)
			}
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "text", "text or json")
	commandline.Words(cmd, "output", "text", "json")
	return cmd
}

// fieldCompletions returns the fields that continue the typed path by one step. All fields would be
// a thousand.
func fieldCompletions(typed string) []string {
	var found []string
	dotted := strings.HasPrefix(typed, ".")
	typed = strings.TrimPrefix(typed, ".")
	for _, path := range explain.Paths() {
		rest, ok := strings.CutPrefix(path, typed)
		if !ok || strings.Contains(strings.TrimPrefix(rest, "."), ".") {
			continue
		}
		if dotted {
			path = "." + path
		}
		found = append(found, path)
	}
	return found
}

// writeRule writes a rule for people.
func writeRule(w io.Writer, rule explain.Rule) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(out, "  %s\t%s\n", what, text)
		}
	}
	fmt.Fprintf(out, "%s\n\n", rule.Path)
	line("kind", rule.Kind)
	line("merges", rule.Merge)
	line("union", rule.Union)
	line("in", sinceOf(rule))
	line("set by", rule.Set)
	if len(rule.Fields) > 0 {
		fmt.Fprintf(out, "\n  field\tkind\tin a patch\n")
	}
	for _, f := range rule.Fields {
		patch := "no"
		if f.Patchable {
			patch = "yes"
		}
		fmt.Fprintf(out, "  %s\t%s\t%s\n", f.Name, f.Kind, patch)
	}
	return out.Flush()
}

// FieldReport is a rule for programs.
type FieldReport struct {
	Path      string       `json:"path" doc:"The field of the JobSet."`
	Kind      string       `json:"kind" doc:"The kind of the field, such as struct or list-map by name."`
	Merge     string       `json:"merge" doc:"How patches merge."`
	Union     string       `json:"union,omitempty" doc:"The union that the field is a member of."`
	Releases  string       `json:"releases,omitempty" doc:"The releases of the Trainer that have the field, unless all have it."`
	Patchable bool         `json:"patchable" doc:"A patch may set the field."`
	SetBy     string       `json:"setBy" doc:"Who may set the field."`
	Fields    []memberJSON `json:"fields,omitempty" doc:"The fields below it."`
}

type memberJSON struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Patchable bool   `json:"patchable"`
}

func writeRuleJSON(w io.Writer, rule explain.Rule) error {
	out := FieldReport{
		Path: rule.Path.String(), Kind: rule.Kind, Merge: rule.Merge, Union: rule.Union,
		Patchable: rule.Patchable, SetBy: rule.Set, Releases: sinceOf(rule),
	}
	for _, f := range rule.Fields {
		out.Fields = append(out.Fields, memberJSON(f))
	}
	return report.EncodeReport(w, out)
}

// isCode reports whether an argument is the code of a finding, perhaps a misspelt one, and not a
// field.
func isCode(arg string) bool {
	number, ok := strings.CutPrefix(strings.ToUpper(arg), "TW")
	return ok && number != "" && strings.ContainsRune("0123456789", rune(number[0]))
}

// CodeReport is the meaning of a code for programs. The tags doc are the descriptions of the JSON
// Schema.
type CodeReport struct {
	Code    finding.Code        `json:"code"`
	Title   string              `json:"title" doc:"The problem in a few words."`
	Meaning string              `json:"meaning" doc:"The severity, and what the code says."`
	Fix     string              `json:"fix" doc:"What to do."`
	Changes []jsonReleaseChange `json:"changes,omitempty" doc:"The releases of the Trainer that changed what the code is about."`
}

// jsonReleaseChange is a change in a release of the Trainer.
type jsonReleaseChange struct {
	Since  string `json:"since"`
	Change string `json:"change"`
	Link   string `json:"link,omitempty"`
}

// writeCode writes the meaning of a code and its remedy.
func writeCode(w io.Writer, name, format string) error {
	code := finding.Code(strings.ToUpper(name))
	page, ok := codes.Of(code)
	if instead := codes.Removed(code); instead != "" {
		return exit.Usage(fmt.Errorf("%s is gone: %s", code, instead))
	}
	if !ok {
		return exit.Usage(fmt.Errorf("no finding has the code %s%s", code, didYouMean(code)))
	}
	var b bytes.Buffer
	var changes []jsonReleaseChange
	for _, change := range changesOf(code) {
		changes = append(changes, jsonReleaseChange{change.In, change.Why, change.Link})
	}
	if format == "json" {
		return report.EncodeReport(w, CodeReport{code, page.Title, page.Meaning, page.Fix, changes})
	}
	fmt.Fprintf(&b, "%s: %s\n\n%s\n", code, page.Title, page.Markdown)
	for i, c := range changes {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "Since Trainer %s, %s.\n", c.Since, c.Change)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// didYouMean returns the hint at the first code that begins with an unknown code, or else at the
// nearest code.
func didYouMean(code finding.Code) string {
	all := option.CodeNames()
	for _, name := range all {
		if strings.HasPrefix(name, string(code)) {
			return fmt.Sprintf("; did you mean %s?", name)
		}
	}
	return option.DidYouMean(string(code), all)
}
