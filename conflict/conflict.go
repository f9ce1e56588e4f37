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
// suffice. Of a manager with several patches, Find tries no order that separates them, and may miss
// an overlap. In a merge into a live object, an overlap is a field that a patch takes from another
// owner, as an API server reports it for an apply without force.
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
	"github.com/trainweld/trainweld/schema"
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
	disputes := owners.Disputes()
	left := make(map[string]int, len(disputes)) // their indexes, by path
	for i, d := range disputes {
		left[d.Path.String()] = i
	}
	for f := range owners.Patched() {
		claims := f.Displaced()
		if claims != nil {
			c := Conflict{Kind: Overlap, Path: f.Path()}
			c.add(c.Path, claims)
			found = append(found, c)
		}
		if len(left) > 0 {
			path := f.Path().String()
			i, isDispute := left[path]
			if isDispute && claims == nil {
				found = append(found, overlapOf(disputes[i]))
			}
			delete(left, path)
		}
		for _, u := range f.Type().Unions {
			if c, ok := union(f, u); ok {
				found = append(found, c)
			}
		}
	}
	for i, d := range disputes {
		if at, isLeft := left[d.Path.String()]; isLeft && at == i { // no patch reached the field
			found = append(found, overlapOf(d))
		}
	}
	return found
}

func overlapOf(d merge.Dispute) Conflict { return Conflict{Overlap, d.Path, d.Claims, d.Fields} }

func (c *Conflict) add(path fieldpath.Path, claims []merge.Claim) {
	for _, claim := range claims {
		c.Claims = append(c.Claims, claim)
		c.Fields = append(c.Fields, path)
	}
}

// union finds managers that set different members of a union.
func union(f merge.PatchedField, u schema.Union) (Conflict, bool) {
	var reached []merge.PatchedField
	for child := range f.Children() {
		if name := child.Name(); u.Has(name) || name == u.Discriminator {
			reached = append(reached, child)
		}
	}
	switch {
	case len(reached) < 2: // as in nearly all objects
		return Conflict{}, false
	case u.Discriminator != "":
		return discriminated(f.Path(), reached, u)
	}
	c := Conflict{Kind: Union, Path: f.Path()}
	isUnion := false
	for _, member := range reached {
		claims := firstClaims(member)
		isUnion = isUnion || slices.ContainsFunc(claims, func(own merge.Claim) bool {
			return slices.ContainsFunc(c.Claims, func(of merge.Claim) bool {
				return of.Owner != own.Owner
			})
		})
		c.add(member.Path(), claims)
	}
	return c, isUnion
}

// discriminated gathers the claims of a union whose discriminator names the member in use. Two
// managers that choose differently are an overlap on the discriminator, since the merge keeps only
// one choice. The union is broken if a manager sets a member that another manager's choice forbids.
// The first manager must make the same choice, or none.
func discriminated(path fieldpath.Path, reached []merge.PatchedField,
	u schema.Union) (Conflict, bool) {
	c := Conflict{Kind: Union, Path: path}
	var chosen, set []merge.Claim
	var chosenAt, setAt []fieldpath.Path
	for _, child := range reached {
		claims := setting(child.Claims())
		paths := slices.Repeat([]fieldpath.Path{child.Path()}, len(claims))
		if child.Name() == u.Discriminator {
			chosen, chosenAt = claims, paths
		} else {
			set, setAt = append(set, claims...), append(setAt, paths...)
		}
	}
	for i, member := range set {
		own := slices.IndexFunc(chosen, func(c merge.Claim) bool { return c.Owner == member.Owner })
		agrees := func(c merge.Claim) bool {
			return c.Value != u.When && (own < 0 || c.Value == chosen[own].Value)
		}
		if !slices.ContainsFunc(chosen, func(c merge.Claim) bool {
			return c.Owner != member.Owner && agrees(c)
		}) {
			continue
		}
		for j, choice := range chosen {
			if agrees(choice) {
				c.Claims, c.Fields = append(c.Claims, choice), append(c.Fields, chosenAt[j])
			}
		}
		c.Claims, c.Fields = append(c.Claims, member), append(c.Fields, setAt[i])
	}
	return c, len(c.Claims) > 0
}

// firstClaims returns the first claim of each manager that sets a field or a part of it. A null of
// a struct's field sets the struct, which the merge then leaves empty, unless the manager empties
// the struct too.
func firstClaims(f merge.PatchedField) []merge.Claim {
	own := managers(f.Claims())
	empties := func(c merge.Claim) bool {
		return slices.ContainsFunc(own, func(of merge.Claim) bool {
			return of.Owner == c.Owner && of.Value == nil
		})
	}
	firsts, nulls := setting(slices.Clone(own)), []merge.Claim(nil)
	for child := range f.Children() {
		firsts = append(firsts, firstClaims(child)...)
		nulls = append(nulls, slices.DeleteFunc(managers(child.Claims()), func(c merge.Claim) bool {
			return c.Value != nil || f.Type().Kind != schema.Struct || empties(c)
		})...)
	}
	firsts = append(firsts, nulls...)
	var seen []merge.Owner
	return slices.DeleteFunc(firsts, func(c merge.Claim) bool {
		if slices.Contains(seen, c.Owner) {
			return true
		}
		seen = append(seen, c.Owner)
		return false
	})
}

// managers removes the claims of layers other than managers.
func managers(claims []merge.Claim) []merge.Claim {
	return slices.DeleteFunc(claims, func(c merge.Claim) bool {
		_, ok := c.Owner.Manager()
		return !ok
	})
}

// setting removes the claims of other layers, and nulls: they set no member of a union.
func setting(claims []merge.Claim) []merge.Claim {
	return slices.DeleteFunc(managers(claims), func(c merge.Claim) bool { return c.Value == nil })
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
