// Package conflict answers who disagrees with whom: which managers' patches set one field to
// different values, or different members of one union.
//
//	result, err := merge.Apply(&runtime.Spec.Template, job.Spec.RuntimePatches, merge.Options{Owners: true})
//	if err != nil {
//		return err
//	}
//	if err := conflict.Find(result.Owners).Err(); err != nil {
//		return err // names every field, every manager and every value
//	}
//
// # What a conflict is
//
// An Overlap: the order of the patches decides the outcome, because two managers claim one field
// with different values, or because one empties with a null what another sets in part. No overlap is
// reported if and only if every order of the patches gives the same template, up to the order inside
// list-maps and sets.
//
// A Union: two managers claim in different members of one union. The merge keeps both in any order,
// and the cluster then refuses the object.
//
// Equal values are shared, and so is the presence of an item: two managers may well name one
// container. Values are equal when their encodings are. Both laws hold for patches that
// check.Patches passes, and property tests hold them against the controller's own merge.
//
// # What to do about one
//
// The cluster lets the last patch win an overlap, and refuses the object of a union. [Force] lets a manager
// win instead, by taking from the patches of others what stands against its claims. [Conflicts.ErrorList]
// is what a validating webhook returns.
package conflict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/schema"
)

// Kind is the kind of a Conflict. The zero value is invalid.
type Kind uint8

const (
	// Overlap is one field with several values: the last patch wins in the cluster.
	Overlap Kind = iota + 1
	// Union is several members of one union: no order of the patches helps.
	Union
)

// String is "overlap" or "union".
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
	// Kind says whether the order of the patches decides, or nothing helps.
	Kind Kind
	// Path is the contested field of the template, or the object that holds the union.
	Path fieldpath.Path
	// Claims are the managers' claims, in the order in which they were written. Of an overlap the
	// last one wins in the cluster. Of a union it is one claim for each manager and member.
	Claims []engine.Claim
	// Fields are where the claims stand in the template, one for each: Path itself, but for a union
	// and for a null that empties what another manager sets in part.
	Fields []fieldpath.Path
}

// Conflicts are all disagreements of a merge, in the order in which the patches reach them. The nil
// list means that the managers agree; use Err to hand it on as an error.
type Conflicts []Conflict

var (
	_ error = Conflict{}
	_ error = Conflicts(nil)
)

// Find returns every conflict between the managers of a merge, nil when they agree. The merge must
// have been asked for its owners: without them an answer would be a guess, and Find returns one conflict of no
// kind that says so.
func Find(owners *engine.Ownership) Conflicts {
	if owners == nil {
		return Conflicts{{}}
	}
	var found Conflicts
	for f := range owners.Patched() {
		if f.Contested() {
			found = append(found, overlap(f, owners))
		} else if c, ok := emptied(f, owners); ok {
			found = append(found, c)
		}
		if !f.HasSeveral() {
			continue // a union takes two fields to break
		}
		for _, u := range f.Type().Unions {
			if c, ok := union(f, u); ok {
				found = append(found, c)
			}
		}
	}
	return found
}

// overlap is the conflict on a contested field.
func overlap(f engine.PatchedField, owners *engine.Ownership) Conflict {
	c := Conflict{Kind: Overlap, Path: f.Path()}
	c.add(c.Path, managers(f.Claims()))
	if hasNull(c.Claims) {
		c.addBelow(f)
		c.inOrder(owners.Layers())
	}
	return c
}

// emptied finds a null of one manager on a struct in which another sets a field.
func emptied(f engine.PatchedField, owners *engine.Ownership) (Conflict, bool) {
	if !f.HasNull() || !emptiesAnothers(f) {
		return Conflict{}, false
	}
	c := Conflict{Kind: Overlap, Path: f.Path()}
	c.add(c.Path, managers(f.Claims()))
	c.addBelow(f)
	c.inOrder(owners.Layers())
	return c, true
}

// inOrder brings the claims on several fields into the order in which they were written.
func (c *Conflict) inOrder(layers []engine.Layer) {
	order := make([]int, len(c.Claims))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(slices.Index(layers, c.Claims[i].Layer), slices.Index(layers, c.Claims[j].Layer))
	})
	claims, fields := c.Claims, c.Fields
	c.Claims, c.Fields = make([]engine.Claim, len(order)), make([]fieldpath.Path, len(order))
	for to, from := range order {
		c.Claims[to], c.Fields[to] = claims[from], fields[from]
	}
}

func (c *Conflict) add(path fieldpath.Path, claims []engine.Claim) {
	for _, claim := range claims {
		c.Claims = append(c.Claims, claim)
		c.Fields = append(c.Fields, path)
	}
}

func (c *Conflict) addBelow(f engine.PatchedField) {
	for child := range f.Children() {
		c.add(child.Path(), managers(child.Claims()))
		c.addBelow(child)
	}
}

// union finds two managers in different members of a union.
func union(f engine.PatchedField, u schema.Union) (Conflict, bool) {
	if !severalOf(f, u) {
		return Conflict{}, false
	}
	if u.Discriminator != "" {
		return discriminated(f, u)
	}
	c := Conflict{Kind: Union}
	var members []string // of c.Claims, one for each
	for child := range f.Children() {
		member := child.Name()
		if u.Has(member) {
			for _, claim := range firstClaims(child) {
				c.Claims = append(c.Claims, claim)
				c.Fields = append(c.Fields, child.Path())
				members = append(members, member)
			}
		}
	}
	for i := range members {
		for j := range i {
			if members[i] != members[j] && c.Claims[i].Layer != c.Claims[j].Layer {
				c.Path = f.Path()
				return c, true
			}
		}
	}
	return Conflict{}, false
}

// severalOf reports whether patches reached two fields that a union is about. It is the quick answer
// for nearly all objects.
func severalOf(f engine.PatchedField, u schema.Union) bool {
	reached := 0
	for child := range f.Children() {
		if name := child.Name(); u.Has(name) || name == u.Discriminator {
			reached++
		}
	}
	return reached > 1
}

// discriminated gathers the claims of a union whose discriminator says which member is in use. Two
// managers that choose differently are an overlap on the discriminator, since the merge keeps only
// one choice; the union is broken where a manager sets a member, and it and another agree on a choice
// that does not allow the member.
func discriminated(f engine.PatchedField, u schema.Union) (Conflict, bool) {
	c := Conflict{Kind: Union}
	var chosen, set []engine.Claim
	var chosenAt, setAt []fieldpath.Path
	for child := range f.Children() {
		claims := managers(child.Claims())
		paths := slices.Repeat([]fieldpath.Path{child.Path()}, len(claims))
		switch {
		case child.Name() == u.Discriminator:
			chosen, chosenAt = claims, paths
		case u.Has(child.Name()):
			set, setAt = append(set, claims...), append(setAt, paths...)
		}
	}
	for i, member := range set {
		own := slices.IndexFunc(chosen, func(c engine.Claim) bool { return c.Layer == member.Layer })
		agrees := func(c engine.Claim) bool { return c.Value != u.When && (own < 0 || c.Value == chosen[own].Value) }
		if !slices.ContainsFunc(chosen, func(c engine.Claim) bool { return c.Layer != member.Layer && agrees(c) }) {
			continue
		}
		for j, choice := range chosen {
			if agrees(choice) {
				c.Claims, c.Fields = append(c.Claims, choice), append(c.Fields, chosenAt[j])
			}
		}
		c.Claims, c.Fields = append(c.Claims, member), append(c.Fields, setAt[i])
	}
	c.Path = f.Path()
	return c, len(c.Claims) > 0
}

// firstClaims returns the first claim of each manager on a field or within it.
func firstClaims(f engine.PatchedField) []engine.Claim {
	firsts := managers(f.Claims())
	for child := range f.Children() {
		firsts = append(firsts, firstClaims(child)...)
	}
	var seen []engine.Layer
	return slices.DeleteFunc(firsts, func(c engine.Claim) bool {
		if slices.Contains(seen, c.Layer) {
			return true
		}
		seen = append(seen, c.Layer)
		return false
	})
}

// managers drops the claims of other layers than managers'.
func managers(claims []engine.Claim) []engine.Claim {
	return slices.DeleteFunc(claims, func(c engine.Claim) bool {
		_, ok := c.Layer.Manager()
		return !ok
	})
}

func hasNull(claims []engine.Claim) bool {
	return slices.ContainsFunc(claims, func(c engine.Claim) bool { return c.Value == nil })
}

// emptiesAnothers reports whether a null of a manager on a field empties what another sets within it, and the first does
// not set to the same value itself. Where no base has the field, upstream drops a patch's $patch with all beside it unless
// another patch comes before; so that patch must not set more either.
func emptiesAnothers(f engine.PatchedField) bool {
	kind := f.Type().Kind
	mayDrop := f.IsMade() && f.Name() != "" && (kind == schema.Struct || kind == schema.Map)
	for _, claim := range managers(f.Claims()) {
		isOwn := func(layer engine.Layer) bool { return layer == claim.Layer }
		isOther := func(layer engine.Layer) bool { return layer != claim.Layer }
		if claim.Value == nil && (lacks(f, isOwn, f.IsByValue()) || mayDrop && sets(f, isOther) && lacks(f, isOther, true)) {
			return true
		}
	}
	return false
}

// lacks reports whether some layers do not set all that is set within a field. isThere says that the field is there
// nevertheless, so that an empty value in it is none.
func lacks(f engine.PatchedField, of func(engine.Layer) bool, isThere bool) bool {
	isThere = isThere || sets(f, of)
	for child := range f.Children() {
		claims := managers(child.Claims())
		for _, claim := range claims {
			isSame := slices.ContainsFunc(claims, func(own engine.Claim) bool {
				return of(own.Layer) && own.Value != nil && engine.SameValue(own.Value, claim.Value)
			})
			switch {
			case of(claim.Layer) || isSame:
			case claim.Value == nil && (isThere || f.IsEmptied(claim.Layer)):
			case isThere && child.IsEmpty(claim.Value):
			case claim.Value == engine.Presence{} && sets(child, of):
			default:
				return true
			}
		}
		if lacks(child, of, isThere && child.IsByValue()) {
			return true
		}
	}
	return false
}

// sets reports whether some layers set a field or something within it.
func sets(f engine.PatchedField, of func(engine.Layer) bool) bool {
	if slices.ContainsFunc(managers(f.Claims()), func(c engine.Claim) bool { return of(c.Layer) && c.Value != nil }) {
		return true
	}
	for child := range f.Children() {
		if sets(child, of) {
			return true
		}
	}
	return false
}

// Managers returns the names of the managers in conflict, each once, in the order of their claims.
func (c Conflict) Managers() []string {
	var names []string
	for _, claim := range c.Claims {
		if name, ok := claim.Layer.Manager(); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Error is the conflict on one line: the field, every manager with its value, and who would win.
// Values of environment variables are masked.
func (c Conflict) Error() string { return c.Path.String() + ": " + c.detail() }

// detail is what is wrong, and what each manager sets.
func (c Conflict) detail() string {
	var b strings.Builder
	b.WriteString(c.message() + ": ")
	for i, claim := range c.Claims {
		if i > 0 {
			b.WriteString(", ")
		}
		name, _ := claim.Layer.Manager()
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
		return "managers set different members of one union; the merge keeps both and the cluster refuses the object"
	case c.Kind != Overlap:
		return "unknown: the merge was made without Options.Owners"
	case hasNull(c.Claims):
		return "one manager empties what another sets"
	default:
		return "managers set different values"
	}
}

// remedy returns what to do. A program may add how it lets one of the managers win.
func (c Conflict) remedy() finding.Remedy {
	if len(c.Claims) == 0 {
		return finding.Remedy{Text: "set Options.Owners"}
	}
	r := finding.Remedy{
		Do: finding.LetOneWin, Options: c.Managers(),
		Text: "keep the one member that is meant and drop the other from its patch; no order of the patches helps",
	}
	if c.Kind != Union {
		last, _ := c.Claims[len(c.Claims)-1].Layer.Manager()
		r.Text = fmt.Sprintf("drop the field from all patches but one, agree on one value, or set it in the runtime; in the cluster the last patch wins, which is %s's", last)
	}
	return r
}

// Finding is the conflict as a finding on the rendered object. Severity is Error; under a rule that
// lets the last patch win, a caller may lower an overlap, never a union.
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

// Error is every conflict on a line of its own.
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

// Err is the list as an error: nil, and not a typed nil, when the managers agree.
func (cs Conflicts) Err() error {
	if len(cs) == 0 {
		return nil
	}
	return cs
}
