package diff

import (
	"cmp"
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

	fields []owned
	exact  map[string]int
	sorted []int32       // positions of fields, by name
	rest   []merge.Claim // on fields without a known claim
}

type owned struct {
	name  string // the path as a string
	path  fieldpath.Path
	claim merge.Claim // the claim in force
}

// OwnersOf returns the owners of a rendered JobSet, with the claims in force. For nil, it returns
// empty Owners.
func OwnersOf(o *merge.History) *Owners {
	if o == nil {
		return &Owners{}
	}
	return OwnersOfFields(o.All(), nil)
}

// OwnersOfFields returns the owners of an object from its fields with their claims. For a Job or a
// Pod, render.ChildOwners yields them. OwnersOfFields keeps the claims in force. The result shares
// memory with similar, the owners of a similar object, which may be nil. This matters for the many
// Pods of a Job, which differ little.
func OwnersOfFields(fields iter.Seq2[fieldpath.Path, []merge.Claim], similar *Owners) *Owners {
	owners := &Owners{exact: map[string]int{}}
	if fields == nil {
		return owners
	}
	for path, claims := range fields {
		if len(claims) == 0 {
			continue
		}
		f := owned{path.String(), path, claims[len(claims)-1]}
		if similar != nil {
			f = similar.shared(f)
		}
		owners.exact[f.name] = len(owners.fields)
		owners.fields = append(owners.fields, f)
	}
	owners.fields = slices.Clip(owners.fields)
	owners.sorted = make([]int32, len(owners.fields))
	for i := range owners.sorted {
		owners.sorted[i] = int32(i)
	}
	slices.SortFunc(owners.sorted, func(a, b int32) int {
		return cmp.Compare(owners.fields[a].name, owners.fields[b].name)
	})
	return owners
}

// shared returns the field with the equal parts of these owners, to share memory.
func (o *Owners) shared(f owned) owned {
	i, ok := o.exact[f.name]
	if !ok {
		return f
	}
	known := o.fields[i]
	f.name, f.path = known.name, known.path
	if slices.Equal(f.claim.At, known.claim.At) {
		f.claim.At = known.claim.At
	}
	return f
}

// OwnedBy returns the owners of an object that one layer made, such as the ConfigMap of a policy.
// The claim needs no value.
func OwnedBy(claim merge.Claim) *Owners {
	if claim.Value == nil {
		claim.Value = merge.Presence{} // the claim is not a null
	}
	return &Owners{rest: []merge.Claim{claim}}
}

// Of returns the causes of a field, or else the claims in force on it and the fields within it, one
// per layer, in document order. If there are none, it returns the claim on the nearest field that
// contains it.
func (o *Owners) Of(path fieldpath.Path) []merge.Claim {
	if caused := o.caused(path); o == nil || caused != nil {
		return caused
	}
	claims := o.owning(path)
	if o.Locate != nil {
		claims = slices.Clone(claims)
		for i := range claims {
			claims[i] = o.Locate(claims[i])
		}
	}
	return claims
}

func (o *Owners) caused(path fieldpath.Path) []merge.Claim {
	if o == nil {
		return nil
	}
	return o.Causes.Of(path)
}

func (o *Owners) owning(path fieldpath.Path) []merge.Claim {
	var claims []merge.Claim
	add := func(c merge.Claim) {
		for _, known := range claims {
			if known.Owner == c.Owner {
				return
			}
		}
		claims = append(claims, c)
	}
	if i, ok := o.exact[path.String()]; ok {
		add(o.fields[i].claim)
	}
	for _, i := range o.within(path.String()) {
		add(o.fields[i].claim)
	}
	for n := len(path) - 1; n > 0 && claims == nil; n-- {
		if i, ok := o.exact[path[:n].String()]; ok {
			// The presence of an item does not tell which layer set its fields.
			if _, presence := o.fields[i].claim.Value.(merge.Presence); !presence {
				add(o.fields[i].claim)
			}
		}
	}
	if claims == nil {
		return o.rest
	}
	return claims
}

// hide reports whether to hide a field that may hold a secret. It returns false if a controller is
// known to have written the value.
func (o *Owners) hide(path fieldpath.Path) bool {
	if o == nil {
		return true
	}
	i, ok := o.exact[path.String()]
	return !ok || runtimepatch.IsSecretOf(o.fields[i].claim.Owner, path)
}

// within returns the positions of the fields within the named one, in document order. Their names
// continue with a dot or a bracket.
func (o *Owners) within(name string) []int32 {
	from := func(prefix string) int {
		i, _ := slices.BinarySearchFunc(o.sorted, prefix, func(i int32, prefix string) int {
			return cmp.Compare(o.fields[i].name, prefix)
		})
		return i
	}
	var found []int32
	for _, c := range [...]byte{'.', '['} {
		found = append(found, o.sorted[from(name+string(c)):from(name+string(c+1))]...)
	}
	slices.Sort(found)
	return found
}

// Attribute sets Before and After: the layers that set the changed field in the old and in the new
// object. A missing field has claims only if a null removed it. If the new object has Causes of the
// field, After has those only. Either owners may be nil.
func (cs Changes) Attribute(old, new *Owners) {
	for i := range cs {
		c := &cs[i]
		if c.After = new.caused(c.Path); c.After != nil {
			c.Before = nil
			continue
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
	var nulls []merge.Claim
	for _, c := range claims {
		if c.Value == nil {
			nulls = append(nulls, c)
		}
	}
	return nulls
}
