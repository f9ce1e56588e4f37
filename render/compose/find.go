package compose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
)

// Composition is a field that a rule governs, and the value that the rule gives.
type Composition struct {
	// Rule governs the field at Path.
	Rule Rule
	Path fieldpath.Path
	// Claims are all claims on the field in the order of writing. The last one is in force.
	Claims []merge.Claim
	// Value is the composed value as JSON. If the rule gives none, Err has the reason.
	Value any
	Err   error
}

// Find returns a composition for each governed field that a manager sets. The merge needs Options.Owners, and no layer has written
// after the patches.
func Find(owners *merge.Ownership, rules Rules) []Composition {
	if len(rules) == 0 {
		return nil
	}
	var found []Composition
	ruleOf := rules.Finder()
	for path, claims := range owners.Reached() {
		rule, ok := ruleOf(path)
		c := Composition{Rule: rule, Path: path, Claims: claims}
		if !ok || len(c.Managers()) == 0 {
			continue
		}
		c.Value, c.Err = rule.Compose(claims...)
		found = append(found, c)
	}
	return found
}

// Managers returns the names of the managers that set the field, in the order of their claims.
func (c Composition) Managers() []string {
	var names []string
	for _, claim := range c.Claims {
		name, ok := claim.Layer.Manager()
		if ok && claim.Value != (merge.Presence{}) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// IsHeld reports whether the value in force is the one that the rule gives.
func (c Composition) IsHeld() bool {
	n := len(c.Claims)
	return c.Err == nil && n > 0 && c.Rule.IsSame(c.Claims[n-1].Value, c.Value)
}

// Layer is the layer of a composed value in the claims of a finding. No object has a value of it.
func (k Kind) Layer() merge.Layer { return merge.Layer(layerPrefix + k) }

const layerPrefix = "rule/"

// IsRule reports whether a claim of a finding holds a composed value.
func IsRule(c merge.Claim) bool { return strings.HasPrefix(string(c.Layer), layerPrefix) }

// Finding returns the composition as a finding on the rendered object. It is a note if the value in force is the composed one, and
// otherwise an error. The last claim of such an error is the composed value, unless the rule gives none. A caller whose rule lets the
// last patch win may lower an error with the code CodeNotComposed.
func (c Composition) Finding(object fieldpath.Object) finding.Finding {
	f := finding.Finding{Code: codes.Composed, Severity: finding.Note, Object: object, Path: c.Path, Claims: c.Claims}
	names := strings.Join(c.Managers(), ", ")
	switch {
	case c.Err != nil:
		f.Code, f.Severity = codes.NoComposition, finding.Error
		f.Message = fmt.Sprintf("%s%s: %s", c.Err, c.Rule.place(), names)
		f.Remedy = finding.Remedy{Text: c.Rule.remedy()}
	case c.IsHeld():
		f.Message = fmt.Sprintf("the last patch sets %s%s: %s", c.Rule.noun(), c.Rule.place(), names)
	default:
		f.Code, f.Severity = codes.NotComposed, finding.Error
		f.Message = fmt.Sprintf("the last patch does not set %s%s: %s", c.Rule.noun(), c.Rule.place(), names)
		f.Claims = append(slices.Clone(c.Claims), merge.Claim{Layer: c.Rule.Kind.Layer(), Value: c.Value, Position: c.Rule.Position})
		f.Remedy = finding.Remedy{Do: finding.Compose, Options: []string{encodeJSON(c.Value)}, IsCertain: c.Value != nil, Text: "set the policy's value in the last patch that sets the field"}
	}
	return f
}

// ConflictFinding returns the finding on managers that set the field to different values. An overlap stays one if the value in force is
// not the composed one. Otherwise, ConflictFinding returns the composition's own finding.
func (c Composition) ConflictFinding(overlap finding.Finding) finding.Finding {
	f := c.Finding(overlap.Object)
	if f.Code != codes.NotComposed {
		return f
	}
	overlap.Message = fmt.Sprintf("managers set different values, and the last one is not %s, %s%s: %s",
		c.Rule.noun(), finding.FormatValue(c.Path, c.Value, false), c.Rule.place(), strings.Join(c.Managers(), ", "))
	overlap.Remedy = f.Remedy
	return overlap
}

// noun describes the value that a rule gives.
func (r Rule) noun() string {
	switch r.Kind {
	case KindAgree:
		return "one value of all managers"
	case KindOwner:
		return "the value of " + r.Owner
	default:
		return "the " + string(r.Kind) + " of all values"
	}
}

// place returns the position of a rule in parentheses, or "".
func (r Rule) place() string {
	if r.Position == (fieldpath.Position{}) {
		return ""
	}
	return " (" + r.Position.String() + ")"
}

// remedy returns the fix where a rule gives no value.
func (r Rule) remedy() string {
	switch r.Kind {
	case KindUnion:
		return "set the same tolerationSeconds in all patches, or let the rule take their maximum"
	case KindOwner:
		return fmt.Sprintf("remove the field from the other patches, or set it in the patch of %s", r.Owner)
	case KindAgree:
		return "set the same value in all patches, or in one only"
	default:
		return "set a number or a quantity in all patches"
	}
}
