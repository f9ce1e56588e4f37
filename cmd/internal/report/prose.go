package report

import (
	"fmt"
	"strings"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// prose returns the lines of a finding for formats with a text field. They hold the message, the
// object and the field, every claim, and the help.
func (o Options) prose(f finding.Finding) []string {
	lines := []string{Printable(f.Message)}
	if where := objectAndField(f); where != "" {
		lines = append(lines, "in "+Printable(where))
	}
	for _, c := range o.Claims(f) {
		line := Printable(string(c.Layer)) + ": " + Printable(c.Value)
		if c.Place != "" {
			line += fmt.Sprintf(" (%s)", Printable(c.Place))
		}
		if c.Mark != "" {
			line += ", " + c.Mark
		}
		lines = append(lines, line)
	}
	if help := o.help(f); help != "" {
		lines = append(lines, "help: "+Printable(help))
	}
	return lines
}

func (o Options) help(f finding.Finding) string {
	if o.Help != nil {
		return o.Help(f)
	}
	return Help(f)
}

// Help returns the remedy of a finding, with the flag or the command that applies it.
func Help(f finding.Finding) string {
	if f.Code == codes.NoRuntime && f.Remedy.Do == finding.SetValue {
		return f.Remedy.Text + " with -r FILE" + shippedBy
	}
	if codes.AssumesRuntime(f) {
		return "set stock: true in trainweld.yaml to " + f.Remedy.Text +
			", set the release with --trainer-version, or add the cluster's runtime with -r FILE"
	}
	switch f.Remedy.Do {
	case finding.LetOneWin:
		if f.Code == codes.Union {
			return f.Remedy.Text + "; to render with one manager's member, use --force-manager=NAME"
		}
		if f.Severity < finding.Error { // the run renders the last patch's value already
			return f.Remedy.Text + "; to let another manager win, use --force-manager=NAME"
		}
		last := "the last patch"
		if n := len(f.Remedy.Options); n > 0 {
			last = f.Remedy.Options[n-1]
		}
		return fmt.Sprintf(
			"%s; to let %s win, as in the cluster, use --on-conflict=last; to let another "+
				"manager win, use --force-manager=NAME", f.Remedy.Text, last)
	case finding.Provide:
		return f.Remedy.Text + provide[strings.Join(f.Remedy.Options, ",")]
	case finding.Migrate:
		return f.Remedy.Text + " with trainweld migrate"
	default:
		return f.Remedy.Text
	}
}

// shippedBy completes the remedy of a missing runtime.
const shippedBy = ", or name the release that ships it with --trainer-version"

// provide maps a kind of object to the flag that provides it.
var provide = map[string]string{
	"ClusterTrainingRuntime": " with -r FILE" + shippedBy,
	"TrainingRuntime":        " with -r FILE",
	"RuntimePatch":           "; if it is a manager's patch, use --patch",
	"Secret":                 " with --generate-secrets",
	"ConfigMap":              " with --flux-templates",
}

// Title returns the code with its short description.
func Title(code finding.Code) string {
	page, ok := codes.Of(code)
	if !ok {
		return string(code)
	}
	return string(code) + ": " + page.Title
}
