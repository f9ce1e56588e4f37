package report

import (
	"strings"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// place is the object and the field of a finding, as text.
func place(f finding.Finding) string {
	return strings.TrimSpace(f.Object.String() + " " + f.Path.String())
}

// claims are the claims that say more than the finding does: one of no manager that only stands where
// the finding does is left out of what people read.
func claims(f finding.Finding) []engine.Claim {
	if len(f.Claims) != 1 {
		return f.Claims
	}
	only := f.Claims[0]
	if _, manager := only.Layer.Manager(); !manager && only.Value == (engine.Presence{}) && only.Position == f.Position {
		return nil
	}
	return f.Claims
}

// value is a claim's value as text; of a union it is led by the member, which tells the claims apart.
func (o Options) value(f finding.Finding, c engine.Claim) string {
	text := merge.FormatClaim(pathOf(f, c), c, o.ShowValues)
	if tail := tailOf(f, c); len(tail) > 0 {
		text = strings.TrimPrefix(tail.String(), ".") + ": " + text
	}
	return text
}

// pathOf is the field of a claim, by which its value is shown or masked.
func pathOf(f finding.Finding, c engine.Claim) fieldpath.Path {
	if len(c.Source) == 0 || finding.IsSecret(f.Path) { // a variable's value may come from a field that is none
		return f.Path
	}
	return c.Source
}

// tailOf is how the claim's source goes on from where all claims of the finding are together.
func tailOf(f finding.Finding, c engine.Claim) fieldpath.Path {
	switch f.Code {
	case finding.CodeUnion, finding.CodeTwoSources, finding.CodeValueAndValueFrom:
		// The path may lead to the one member that the cluster will name.
		if common, ok := together(f.Claims); ok {
			return inTemplate(c)[common:]
		}
	}
	if len(f.Path) == 0 {
		return nil
	}
	last := f.Path[len(f.Path)-1]
	for i := len(c.Source) - 1; i > 0; i-- {
		if c.Source[i] == last && i+1 < len(c.Source) {
			return c.Source[i+1:]
		}
	}
	return nil
}

// together is how many steps the sources of several claims share, counted in the template; false where
// one of them is not of a template.
func together(claims []engine.Claim) (int, bool) {
	if len(claims) < 2 {
		return 0, false
	}
	first := inTemplate(claims[0])
	common := len(first)
	for _, c := range claims {
		path := inTemplate(c)
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

// inTemplate is where the source of a claim stands in the runtime's template, nil where it stands elsewhere.
func inTemplate(c engine.Claim) fieldpath.Path {
	root := fieldpath.Fields("spec", "template")
	if name, ok := c.Layer.Manager(); ok {
		root = merge.PatchPath(name)
	}
	if !c.Source.HasPrefix(root) {
		return nil
	}
	return c.Source[len(root):]
}

// mark says of the claim that wins why it does, "" of others: it is the last one.
func mark(f finding.Finding, claim int) string {
	switch {
	case claim < len(f.Claims)-1:
		return ""
	case f.Code == finding.CodeOverlap:
		return "wins in the cluster"
	case f.Code == finding.CodeForced:
		return "wins by force"
	default:
		return ""
	}
}
