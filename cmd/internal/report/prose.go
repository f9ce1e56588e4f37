package report

import (
	"fmt"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
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
	if codes.AssumesRuntime(f) {
		return "set stock: true in trainweld.yaml"
	}
	switch f.Remedy.Do {
	case finding.SetValue:
		if f.Code == codes.NoRuntime {
			return f.Remedy.Text + " with -r FILE"
		}
	case finding.Provide:
		return f.Remedy.Text + provide[strings.Join(f.Remedy.Options, ",")]
	case finding.Migrate:
		return f.Remedy.Text + " with trainweld migrate"
	}
	return f.Remedy.Text
}

// provide maps a kind of object to the flag that provides it.
var provide = map[string]string{
	"ClusterTrainingRuntime": " with -r FILE",
	"TrainingRuntime":        " with -r FILE",
	"RuntimePatch":           " with --patch",
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

// objectAndField returns the object and the field of a finding.
func objectAndField(f finding.Finding) string {
	where := strings.TrimSpace(f.Object.String() + " " + f.Path.String())
	return strings.TrimPrefix(where+builtFrom(f), ", ")
}

// builtFrom names the builds of a finding's object, or returns "".
func builtFrom(f finding.Finding) string {
	if f.Build == "" {
		return ""
	}
	var builds []string
	for _, dir := range append([]string{f.Build}, f.MoreBuilds...) {
		builds = append(builds, printable.Name(dir))
	}
	if more := len(builds) - mostNamed; more > 0 {
		builds = append(builds[:mostNamed], fmt.Sprintf("%d more", more))
	}
	last := len(builds) - 1
	return ", built from " +
		strings.TrimPrefix(strings.Join(builds[:last], ", ")+" and "+builds[last], " and ")
}

// claims returns the claims to show. It omits a single claim without a manager that only repeats
// the finding's position.
func claims(f finding.Finding) []merge.Claim {
	if len(f.Claims) != 1 {
		return f.Claims
	}
	only := f.Claims[0]
	if _, manager := only.Owner.Manager(); !manager && only.Value == (merge.Presence{}) &&
		only.Position == f.Position {
		return nil
	}
	return f.Claims
}

// Claim is a claim of a finding for people. None of its strings is escaped.
type Claim struct {
	Layer merge.Owner
	// Value is masked unless Options.ShowValues is set. Place is the position, and Mark tells why
	// the claim wins; both may be empty.
	Value, Place, Mark string
}

// Claims returns the claims of a finding in their order.
func (o Options) Claims(f finding.Finding) []Claim {
	var all []Claim
	for i, c := range claims(f) {
		all = append(all, Claim{c.Owner, o.value(f, c), printable.Position(c.Position), winReason(f, i)})
	}
	return all
}

// value formats a claim's value. For a union, it starts with the member, which distinguishes the
// claims.
func (o Options) value(f finding.Finding, c merge.Claim) string {
	text := runtimepatch.FormatClaim(pathOf(f, c), c, o.ShowValues)
	if tail := tailOf(f, c); len(tail) > 0 {
		text = strings.TrimPrefix(tail.String(), ".") + ": " + text
	}
	return text
}

// pathOf returns the field that decides whether a claim's value is masked.
func pathOf(f finding.Finding, c merge.Claim) fieldpath.Path {
	// a variable's value may come from a field that is not secret
	if len(c.At) == 0 || finding.IsSecret(f.Path) {
		return f.Path
	}
	return c.At
}

// tailOf returns the part of the claim's source behind the steps that all claims of the finding
// share.
func tailOf(f finding.Finding, c merge.Claim) fieldpath.Path {
	switch f.Code {
	case codes.Union, codes.TwoSources, codes.ValueAndValueFrom:
		// The cluster may report a path to one member only.
		if common, ok := sharedSteps(f.Claims); ok {
			return runtimepatch.InTemplate(c)[common:]
		}
	}
	if len(f.Path) == 0 {
		return nil
	}
	last := f.Path[len(f.Path)-1]
	for i := len(c.At) - 1; i > 0; i-- {
		if c.At[i] == last && i+1 < len(c.At) {
			return c.At[i+1:]
		}
	}
	return nil
}

// sharedSteps returns the number of steps in the template that the claims' sources share. It
// returns false if a source lies outside a template.
func sharedSteps(claims []merge.Claim) (int, bool) {
	if len(claims) < 2 {
		return 0, false
	}
	first := runtimepatch.InTemplate(claims[0])
	common := len(first)
	for _, c := range claims {
		path := runtimepatch.InTemplate(c)
		if path == nil {
			return 0, false
		}
		n := 0
		for n < min(common, len(path)) && path[n] == first[n] {
			n++
		}
		common = n
	}
	return common, true
}

// winReason returns the reason why the last claim wins, and "" for other claims.
func winReason(f finding.Finding, claim int) string {
	switch {
	case claim < len(f.Claims)-1:
		return ""
	case f.Code == codes.Overlap:
		return "wins in the cluster"
	case f.Code == codes.Forced:
		return "forced"
	default:
		return ""
	}
}
