// Package conflict finds disagreements between managers: patches that set one field to different
// values, or different members of one union.
//
//	result, err := merge.Strategic(&deployment, patches)
//	if err != nil {
//		return err
//	}
//	if err := conflict.Find(result.History).Err(); err != nil {
//		return err // names every field, every manager and every value
//	}
//
// # Kinds of conflicts
//
// In an Overlap, the order of the managers decides the outcome. If each manager has one patch, Find
// reports no overlap if and only if all orders of the patches give the same result. The order
// inside list-maps and sets does not count. Mostly two managers set one field to different values,
// or one manager's null empties a field that another sets in part.
//
// Find does not try all orders: [merge.History.Disputes] lists those that it tries. Where a patch
// acts on others, for example by a directive, only tests with random patches show that they
// suffice. Of the orders that separate the patches of one manager, Find tries the given one alone,
// and may miss an overlap. In a merge into a live object, an overlap is a field that a patch takes
// from another owner, as an API server reports it for an apply without force.
//
// In a Union, two managers claim different members of one union. The merge keeps both in any order,
// and the cluster then rejects the object.
//
// Managers share equal values and the presence of an item: two managers may name one container.
// Values are equal if their encodings are.
//
// # Resolving a conflict
//
// The cluster lets the last patch win an overlap, and rejects the object of a union. [Force] lets a
// manager win instead: it removes the opposing fields from the other patches.
//
// Its first file to read is conflict.go.
package conflict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// Kind is the kind of a Conflict. The zero value is invalid.
type Kind uint8

const (
	// Overlap is one field with several values: in the cluster, the last patch wins.
	Overlap Kind = iota + 1
	// Union is several members of one union, whatever the order of the patches.
	Union
)

// String returns "overlap" or "union".
func (k Kind) String() string {
	switch k {
	case Overlap:
		return "overlap"
	case Union:
		return "union"
	default:
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
}

// Conflict is one disagreement between managers.
type Conflict struct {
	// Kind states whether the order of the managers decides.
	Kind Kind
	// Path is the contested field of the template, or the object that holds the union.
	Path fieldpath.Path
	// Claims are the managers' claims in the order of writing. The last claim of an overlap wins in
	// the cluster. A union has one claim for each manager and member.
	Claims []merge.Claim
	// Fields are the places of the claims in the template, one for each claim. A place differs from
	// Path in a union. It also differs for a null that empties a field that another manager sets in
	// part.
	Fields []fieldpath.Path
}

// Conflicts holds the conflicts of a merge, in the order in which the patches reach them. A nil
// list means that the managers agree. Use Err to return it as an error.
type Conflicts []Conflict

var (
	_ error = Conflict{}
	_ error = Conflicts(nil)
)

// Find returns every conflict between the managers of a merge, or nil if they agree. For no
// history, Find returns one invalid conflict whose message says so.
func Find(owners *merge.History) Conflicts {
	if owners == nil {
		return Conflicts{{}}
	}
	var found Conflicts
	for _, d := range owners.Disputes() {
		kind := Overlap
		if d.IsUnion {
			kind = Union
		}
		found = append(found, Conflict{kind, d.Path, d.Claims, d.Fields})
	}
	return found
}

func hasNull(claims []merge.Claim) bool {
	return slices.ContainsFunc(claims, func(c merge.Claim) bool { return c.Value == nil })
}

// Managers returns the distinct names of the managers in conflict, in the order of their claims.
func (c Conflict) Managers() []string {
	var names []string
	for _, claim := range c.Claims {
		if name, ok := claim.Owner.Manager(); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Error returns the conflict on one line: the field, and every manager with its value. It masks
// values of environment variables.
func (c Conflict) Error() string { return c.Path.String() + ": " + c.detail() }

// detail states the problem and each manager's value.
func (c Conflict) detail() string {
	var b strings.Builder
	b.WriteString(c.message() + ": ")
	for i, claim := range c.Claims {
		if i > 0 {
			b.WriteString(", ")
		}
		name, _ := claim.Owner.Manager()
		fmt.Fprintf(&b, "%s sets ", name)
		field := c.Path
		if i < len(c.Fields) {
			field = c.Fields[i]
		}
		if len(field) > len(c.Path) {
			fmt.Fprintf(&b, "%s to ", field[len(c.Path):])
		}
		b.WriteString(finding.FormatValue(field, claim.Value, false))
	}
	return b.String()
}

func (c Conflict) message() string {
	switch {
	case c.Kind == Union:
		return "managers set different members of one union; the merge keeps both, and the " +
			"cluster rejects the object"
	case c.Kind != Overlap:
		return "unknown: there is no history of a merge"
	case hasNull(c.Claims):
		return "one manager empties what another sets"
	default:
		return "managers set different values"
	}
}

// remedy returns the fix. A program may add how it lets one of the managers win.
func (c Conflict) remedy() finding.Remedy {
	if len(c.Claims) == 0 {
		return finding.Remedy{Text: "pass the history of the merge"}
	}
	r := finding.Remedy{Do: finding.LetOneWin, Options: c.Managers(),
		Text: "set the field in one patch only"}
	if c.Kind == Union {
		r.Text = "keep one member, and remove the other from its patch"
	}
	return r
}

// Finding returns the conflict as a finding on the rendered object, with severity Error. A caller
// whose rule lets the last patch win may lower an overlap, never a union.
func (c Conflict) Finding(object fieldpath.Object) finding.Finding {
	code := finding.CodeOverlap
	if c.Kind == Union {
		code = finding.CodeUnion
	}
	return finding.Finding{
		Code: code, Severity: finding.Error, Object: object, Path: c.Path, Claims: c.Claims,
		Message: fmt.Sprintf("%s: %s", c.message(), strings.Join(c.Managers(), ", ")),
		Remedy:  c.remedy(),
	}
}

// Error returns the conflicts, one a line.
func (cs Conflicts) Error() string {
	lines := make([]string, len(cs))
	for i, c := range cs {
		lines[i] = c.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As reach each Conflict.
func (cs Conflicts) Unwrap() []error {
	errs := make([]error, len(cs))
	for i, c := range cs {
		errs[i] = c
	}
	return errs
}

// Err returns the list as an error, and an untyped nil if the managers agree.
func (cs Conflicts) Err() error {
	if len(cs) == 0 {
		return nil
	}
	return cs
}
