package conflict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// Decision is a conflict that Force decided.
type Decision struct {
	// Conflict is the conflict as it stood.
	Conflict Conflict
	// Manager is the name of the manager who was let win.
	Manager string
	// Lost are the claims of the conflict that gave way.
	Lost []engine.Claim
}

// Force lets managers win every conflict in which they take part, and returns the patches that are then
// left, with every decision that was taken. Where two of the managers disagree, the one that is named
// first wins. A manager without a patch wins nothing. It changes neither the base nor the patches,
// and returns the same list where there is nothing to decide.
//
// What is taken away from the patches of others is what stands against the manager's claims and no
// more. Of an overlap that is a claim with another value, a null over what the manager sets, and what
// others set within that which the manager empties with a null. Of a union it is every member that the
// manager does not set. So the merge of what is returned equals that of the patches without these
// claims, and no conflict is left in which the manager takes part. The law holds for patches without directives
// in which each list names an item once.
//
// A Go patch cannot leave out every field: where the type's encoding names a field in any case, as the
// claimName of a volume, it takes the value that the manager sets there, and shares the claim.
//
// The error is that of the plan's Apply.
func Force[T, P any](plan *engine.Plan[T, P], base *T, patches []engine.Layered[P], managers ...string) ([]engine.Layered[P], []Decision, error) {
	var decisions []Decision
	for _, manager := range managers {
		// One decision can bring another conflict to light: a profile that another manager set for the
		// type that has lost. Each round takes something away, so there is an end.
		for {
			result, err := plan.Apply(base, patches, engine.Options{Owners: true})
			if err != nil {
				return nil, nil, err
			}
			e := editor[T, P]{plan: plan, patches: patches, winner: engine.Manager(manager)}
			more := decide(Find(result.Owners), manager, e.takeAway)
			if len(more) == 0 {
				break
			}
			decisions, patches = append(decisions, more...), e.patches
		}
	}
	return patches, decisions, nil
}

// decide settles the conflicts in which the manager takes part.
func decide(found Conflicts, manager string, takeAway func(engine.Layer, fieldpath.Path) bool) []Decision {
	var decisions []Decision
	for _, c := range found {
		d := Decision{Conflict: c, Manager: manager}
		for i, path := range c.against(engine.Manager(manager)) {
			if path != nil && takeAway(c.Claims[i].Layer, path) {
				d.Lost = append(d.Lost, c.Claims[i])
			}
		}
		if d.Lost != nil {
			decisions = append(decisions, d)
		}
	}
	return decisions
}

// against returns for each claim the field that has to be taken from its patch for the layer to win, nil
// for a claim that may stay.
func (c Conflict) against(layer engine.Layer) []fieldpath.Path {
	paths := make([]fieldpath.Path, len(c.Claims))
	for i, other := range c.Claims {
		if other.Layer == layer {
			continue
		}
		if c.Kind == Union {
			paths[i] = c.otherMember(i, layer)
			continue
		}
		for j, own := range c.Claims {
			if own.Layer == layer && paths[i] == nil {
				paths[i] = c.overlapping(i, j)
			}
		}
	}
	return paths
}

// overlapping is the field of claim i that claim j cannot stand beside, nil where it can.
func (c Conflict) overlapping(i, j int) fieldpath.Path {
	theirs, own := c.Fields[i], c.Fields[j]
	switch {
	case c.Claims[i].Value == nil && c.Claims[j].Value == nil:
		return nil
	case c.Claims[j].Value == nil && theirs.HasPrefix(own):
		return own
	case c.Claims[i].Value == nil && own.HasPrefix(theirs):
		return theirs
	case slices.Equal(theirs, own) && !sameValue(c.Claims[i].Value, c.Claims[j].Value):
		return theirs
	default:
		return nil
	}
}

// otherMember is the field of the union in which claim i stands, nil where the layer's own claims are in
// it, too, or in none.
func (c Conflict) otherMember(i int, layer engine.Layer) fieldpath.Path {
	member := c.Fields[i][:len(c.Path)+1]
	takesPart := false
	for j, own := range c.Claims {
		if own.Layer == layer {
			takesPart = true
			if c.Fields[j].HasPrefix(member) {
				return nil
			}
		}
	}
	if !takesPart {
		return nil
	}
	return member
}

// sameValue compares two values by their encoding, as the merge does.
func sameValue(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// Finding is the decision as a warning on the rendered object: a cluster knows nothing of it. The
// winner's claims come last.
func (d Decision) Finding(object fieldpath.Object) finding.Finding {
	layer := engine.Manager(d.Manager)
	claims := slices.Clone(d.Lost)
	for _, c := range d.Conflict.Claims {
		if c.Layer == layer {
			claims = append(claims, c)
		}
	}
	losers := strings.Join(Conflict{Claims: d.Lost}.Managers(), ", ")
	return finding.Finding{
		Code: finding.CodeForced, Severity: finding.Warning, Object: object, Path: d.Conflict.Path, Claims: claims,
		Message: fmt.Sprintf("%s wins by force, and what %s sets gives way", d.Manager, losers),
		Remedy:  finding.Remedy{Text: fmt.Sprintf("%s: take the field out of the patch of %s", d.inCluster(), losers)},
	}
}

// inCluster says what becomes of the conflict where nobody decides it.
func (d Decision) inCluster() string {
	if d.Conflict.Kind == Union {
		return "the cluster keeps both members and refuses the object"
	}
	if len(d.Conflict.Claims) == 0 {
		return "the cluster lets the last patch win"
	}
	last := d.Conflict.Claims[len(d.Conflict.Claims)-1].Layer
	name, _ := last.Manager()
	if last == engine.Manager(d.Manager) {
		return "the cluster lets it win, too, as long as its patch is the last one"
	}
	return fmt.Sprintf("the cluster lets the last patch win, which is %s's", name)
}
