package merge

import (
	"cmp"
	"iter"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// PatchedField is a field that patches set, or that contains such a field. It is a cheap handle
// into a History for searches. It makes paths and claims only on demand.
type PatchedField struct {
	log *log
	at  *node
}

// Patched yields every field that patches set and every field that contains one. They come in the
// order in which the patches first reached them; a field follows the fields that contain it.
// Patched omits the fields that only the base set.
func (o *History) Patched() iter.Seq[PatchedField] {
	return func(yield func(PatchedField) bool) {
		l := o.orEmpty().log
		for _, at := range l.reached {
			if !yield(PatchedField{l, at}) {
				return
			}
		}
	}
}

// orEmpty returns f, or the whole of an empty history for the zero PatchedField.
func (f PatchedField) orEmpty() PatchedField {
	if f.log == nil {
		l := (*History)(nil).orEmpty().log
		return PatchedField{l, l.top}
	}
	return f
}

// Children yields the patched fields directly within this one.
func (f PatchedField) Children() iter.Seq[PatchedField] {
	return func(yield func(PatchedField) bool) {
		for _, child := range f.at.within() {
			if !yield(PatchedField{f.log, child}) {
				return
			}
		}
	}
}

// Name returns the name of the field in its struct, or "" for an item, an entry or an element.
func (f PatchedField) Name() string {
	if f.at == nil || f.at.field == nil {
		return ""
	}
	return f.at.field.Name
}

// Type returns how the field merges.
func (f PatchedField) Type() *schema.Type { return f.orEmpty().at.typ }

// Path returns the path to the field in the value.
func (f PatchedField) Path() fieldpath.Path { return f.orEmpty().at.path() }

// Claims returns the claims on the field itself, as History.All yields them, or nil.
func (f PatchedField) Claims() []Claim {
	f = f.orEmpty()
	claims := f.log.claimsOf(f.at, f.Path())
	if f.log.reordered {
		slices.SortStableFunc(claims, func(a, b Claim) int {
			return f.log.rankOf(a.Owner) - f.log.rankOf(b.Owner)
		})
	}
	return claims
}

// Overrides reports whether patches changed the base's value: the base claims the field, and
// another value is in force.
func (f PatchedField) Overrides() bool {
	claims := f.at.made()
	if len(claims) < 2 || claims[0].layer != baseLayer {
		return false
	}
	stays := f.at.inForce()
	return stays == nil || !claims[0].equals(stays)
}

// Replaced reports whether a layer after the patches replaced a different value of an earlier
// layer.
func (f PatchedField) Replaced() bool {
	last := f.at.last()
	return last != nil && last.layer > f.log.managers &&
		slices.ContainsFunc(f.at.claims, func(c claim) bool { return !c.equals(last) })
}

// Displaced returns the claims of the owners from which applies took the field of a live object,
// and those of the applies, in the order of writing. An apply without force is refused for each. It
// returns nil if no apply took the field.
func (f PatchedField) Displaced() []Claim {
	if f.at == nil || len(f.at.displaced) == 0 {
		return nil
	}
	var in []claim
	var claims, absent []Claim
	path := f.Path()
	for _, d := range f.at.displaced {
		in = append(in, d.claim)
		i := slices.IndexFunc(f.at.claims, func(c claim) bool {
			return c.number >= d.after && c.layer == d.by
		})
		if i >= 0 {
			in = append(in, f.at.claims[i])
			continue
		}
		by := f.log.export(d.by, Presence{}, path)
		if !slices.ContainsFunc(absent, func(c Claim) bool { return c.Owner == by.Owner }) {
			absent = append(absent, by) // it sets a part of the field alone
		}
	}
	slices.SortFunc(in, func(c, d claim) int { return cmp.Compare(c.number, d.number) })
	for i := range in {
		if i == 0 || in[i].number != in[i-1].number {
			claims = append(claims, f.log.exportAt(&in[i], path))
		}
	}
	return append(claims, absent...)
}
