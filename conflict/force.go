package conflict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// Decision records a conflict that Force decided.
type Decision struct {
	// Conflict is the conflict before the decision.
	Conflict Conflict
	// Manager names the winner.
	Manager string
	// Lost are the claims of the conflict that lost.
	Lost []merge.Claim
}

// Force lets managers win every conflict in which they take part. It returns the remaining patches
// and every decision. If two of the managers disagree, the one named first wins. A manager without
// a patch wins nothing. Force changes neither the base nor the patches, and returns the same list
// if there is nothing to decide.
//
// Force removes only the claims of other patches that oppose the manager's claims. In an overlap
// these are a claim with another value, and a null over the manager's field. If the manager's own
// null empties a field, they are all claims within it. In a union they are the members that the
// manager does not set. So the merge of the returned patches equals the merge of the patches
// without these claims. No conflict with the manager remains. The law holds for patches without
// directives in which each list names an item once.
//
// A Go patch cannot omit every field: some fields are always encoded, such as the claimName of a
// volume. Such a field takes the manager's value and shares the claim.
//
// The function merges patches, with the rules and options of the caller, and returns the history.
// Force returns its error.
func Force(merging func([]merge.Patch) (*merge.History, error), patches []merge.Patch,
	managers ...string) ([]merge.Patch, []Decision, error) {
	var decisions []Decision
	var history *merge.History // nil after a change of the patches
	var found Conflicts
	for _, manager := range managers {
		// One decision can reveal another conflict, such as a profile that another manager set for
		// the losing type. Each round removes something, so the loop ends.
		for {
			if history == nil {
				var err error
				if history, err = merging(patches); err != nil {
					return nil, nil, err
				}
				found = Find(history)
			}
			e := editor{t: history.Type(), patches: patches, winner: merge.Manager(manager)}
			more := decide(found, manager, e.removeField)
			if len(more) == 0 {
				break
			}
			decisions, patches, history = append(decisions, more...), e.result(), nil
		}
	}
	return patches, decisions, nil
}

// decide settles the conflicts in which the manager takes part.
func decide(found Conflicts, manager string,
	remove func(merge.Owner, fieldpath.Path) bool) []Decision {
	var decisions []Decision
	for _, c := range found {
		d := Decision{Conflict: c, Manager: manager}
		taken := map[string]bool{} // several claims lie within one field that goes
		for i, path := range c.against(manager) {
			field := string(c.Claims[i].Owner) + path.String()
			if path != nil && (taken[field] || remove(c.Claims[i].Owner, path)) {
				d.Lost, taken[field] = append(d.Lost, c.Claims[i]), true
			}
		}
		if d.Lost != nil {
			decisions = append(decisions, d)
		}
	}
	return decisions
}

// against returns, for each claim, the field of the template to remove from its patch so that the
// manager wins. It is nil for a claim that may stay. The field is the claim's field, or contains
// it.
func (c Conflict) against(manager string) []fieldpath.Path {
	layer, paths := merge.Manager(manager), make([]fieldpath.Path, len(c.Claims))
	if len(c.Fields) != len(c.Claims) {
		return paths // a conflict of another program
	}
	var own []int // the manager's claims
	for i := range c.Claims {
		if c.Claims[i].Owner == layer {
			own = append(own, i)
		}
	}
	for i, other := range c.Claims {
		if other.Owner == layer {
			continue
		}
		if c.Kind == Union {
			paths[i] = c.otherMember(i, own)
			continue
		}
		for _, j := range own {
			if paths[i] == nil {
				paths[i] = c.overlapping(i, j)
			}
		}
	}
	return paths
}

// overlapping returns the field of claim i that opposes claim j, or nil.
func (c Conflict) overlapping(i, j int) fieldpath.Path {
	theirs, own := c.Fields[i], c.Fields[j]
	switch {
	case c.Claims[i].Value == nil && c.Claims[j].Value == nil:
		return nil
	case c.Claims[j].Value == nil && theirs.HasPrefix(own):
		return own
	case c.Claims[i].Value == nil && own.HasPrefix(theirs):
		return theirs
	case slices.Equal(theirs, own) && !merge.SameValue(c.Claims[i].Value, c.Claims[j].Value):
		return theirs
	default:
		return nil
	}
}

// otherMember returns the union member of claim i. It returns nil if the manager itself claims that
// member, or takes no part in the union.
func (c Conflict) otherMember(i int, own []int) fieldpath.Path {
	member := c.Fields[i][:len(c.Path)+1]
	if len(own) == 0 || slices.ContainsFunc(own, func(j int) bool {
		return c.Fields[j].HasPrefix(member)
	}) {
		return nil
	}
	return member
}

// Finding returns the decision as a warning on the rendered object, because a cluster does not know
// the decision. The winner's claims come last.
func (d Decision) Finding(object fieldpath.Object) finding.Finding {
	layer := merge.Manager(d.Manager)
	claims := slices.Clone(d.Lost)
	for _, c := range d.Conflict.Claims {
		if c.Owner == layer {
			claims = append(claims, c)
		}
	}
	losers := strings.Join(Conflict{Claims: d.Lost}.Managers(), ", ")
	return finding.Finding{
		Code: finding.CodeForced, Severity: finding.Warning, Object: object, Path: d.Conflict.Path,
		Claims:  claims,
		Message: fmt.Sprintf("%s overrides %s (forced)", d.Manager, losers),
		Remedy: finding.Remedy{
			Text: fmt.Sprintf("%s: remove the field from the patch of %s", d.inCluster(), losers)},
	}
}

// inCluster states the outcome of the conflict without a decision.
func (d Decision) inCluster() string {
	if d.Conflict.Kind == Union {
		return "the cluster keeps both members and refuses the object"
	}
	if len(d.Conflict.Claims) == 0 {
		return "the cluster lets the last patch win"
	}
	last := d.Conflict.Claims[len(d.Conflict.Claims)-1].Owner
	name, _ := last.Manager()
	if last == merge.Manager(d.Manager) {
		return "the cluster lets it win, too, as long as its patch is the last one"
	}
	return fmt.Sprintf("the cluster lets the last patch win, which is %s's", name)
}
