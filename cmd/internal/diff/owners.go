package diff

import (
	"iter"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Owners holds the layers that set the fields of one rendered object.
type Owners struct {
	// Locate returns a claim with its position. It may be nil.
	Locate func(merge.Claim) merge.Claim
	// Causes are the claims of the fields that they know, in place of their owners. It may be nil.
	Causes *Owners

	root ownedField
	rest []merge.Claim // on fields without a known claim
}

// ownedField is a field of an object, with the fields within it.
type ownedField struct {
	claim  *merge.Claim  // the claim in force, or nil
	within []merge.Claim // on the field and on those within it, one per layer, in document order
	fields map[fieldpath.Step]*ownedField
}

// OwnersOf returns the owners of a rendered JobSet, with the claims in force. For nil, it returns
// empty Owners.
func OwnersOf(o *merge.History) *Owners {
	if o == nil {
		return &Owners{}
	}
	return OwnersOfFields(o.All())
}

// OwnersOfFields returns the owners of an object from its fields with their claims, of which the
// last one is in force. For a Job or a Pod, render.ChildOwners yields them.
func OwnersOfFields(fields iter.Seq2[fieldpath.Path, []merge.Claim]) *Owners {
	owners := &Owners{}
	if fields == nil {
		return owners
	}
	for path, claims := range fields {
		if len(claims) > 0 {
			owners.Add(path, claims[len(claims)-1])
		}
	}
	return owners
}

// OwnedBy returns the owners of an object that one layer made, such as the ConfigMap of a policy.
// The claim needs no value.
func OwnedBy(claim merge.Claim) *Owners {
	if claim.Value == nil {
		claim.Value = merge.Presence{} // the claim is not a null
	}
	return &Owners{rest: []merge.Claim{claim}}
}

// Add sets the claim on a field that has none, after those on the fields before it.
func (o *Owners) Add(path fieldpath.Path, claim merge.Claim) {
	at := &o.root
	for _, step := range path {
		at.add(claim)
		if at.fields == nil {
			at.fields = map[fieldpath.Step]*ownedField{}
		}
		inner := at.fields[step]
		if inner == nil {
			inner = &ownedField{}
			at.fields[step] = inner
		}
		at = inner
	}
	at.add(claim)
	at.claim = &claim
}

func (f *ownedField) add(claim merge.Claim) {
	if !slices.ContainsFunc(f.within, func(c merge.Claim) bool { return c.Owner == claim.Owner }) {
		f.within = append(f.within, claim)
	}
}

// find returns the field, or nil if no claim is on it or within it, and the claim on the nearest
// field that contains it. The presence of an item does not tell which layer set its fields.
func (o *Owners) find(path fieldpath.Path) (f *ownedField, around *merge.Claim) {
	f = &o.root
	for i, step := range path {
		if f.claim != nil && i > 0 && f.claim.Value != any(merge.Presence{}) {
			around = f.claim
		}
		if f = f.fields[step]; f == nil {
			return nil, around
		}
	}
	return f, around
}

// Of returns the causes of a field, or else the claims in force on it and the fields within it, one
// per layer, in document order. If there are none, it returns the claim on the nearest field that
// contains it.
func (o *Owners) Of(path fieldpath.Path) []merge.Claim {
	if o == nil {
		return nil
	}
	if caused := o.Causes.Of(path); caused != nil {
		return caused
	}
	claims := o.rest
	if f, around := o.find(path); f != nil && f.within != nil {
		claims = f.within
	} else if around != nil {
		claims = []merge.Claim{*around}
	}
	if o.Locate != nil {
		claims = slices.Clone(claims)
		for i := range claims {
			claims[i] = o.Locate(claims[i])
		}
	}
	return claims
}

// hide reports whether to hide a field that may hold a secret. It returns false if a controller is
// known to have written the value.
func (o *Owners) hide(path fieldpath.Path) bool {
	if o == nil {
		return true
	}
	f, _ := o.find(path)
	return f == nil || f.claim == nil || runtimepatch.IsSecretOf(f.claim.Owner, path)
}

// Attribute sets Before and After: the layers that set the changed field in the old and in the new
// object. A missing field has claims only if a null removed it. If the new object has Causes of the
// field, After has those only. Either owners may be nil.
func (cs Changes) Attribute(old, new *Owners) {
	for i := range cs {
		c := &cs[i]
		if new != nil {
			if c.After = new.Causes.Of(c.Path); c.After != nil {
				continue
			}
		}
		c.Before, c.After = old.Of(c.Path), new.Of(c.Path)
		if c.Kind == Added {
			c.Before = nullClaims(c.Before)
		}
		if c.Kind == Removed {
			c.After = nullClaims(c.After)
		}
	}
}

// nullClaims returns the claims whose value is null.
func nullClaims(claims []merge.Claim) []merge.Claim {
	return slices.DeleteFunc(slices.Clone(claims), func(c merge.Claim) bool { return c.Value != nil })
}
