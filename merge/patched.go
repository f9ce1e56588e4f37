package merge

import (
	"iter"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// PatchedField is a field that patches set, or that contains such a field. It is a cheap handle
// into a History for searches. It makes paths and claims only on demand.
type PatchedField struct {
	log *log
	at  node
}

// Patched yields every field that patches set and every field that contains one. They come in the
// order in which the patches first reached them; a field follows the fields that contain it.
// Patched omits the fields that only the base set.
func (o *History) Patched() iter.Seq[PatchedField] {
	return func(yield func(PatchedField) bool) {
		l := o.orEmpty().log
		for i := range l.nodes {
			if !yield(PatchedField{l, node(i)}) {
				return
			}
		}
	}
}

// record returns the log of the field. The zero PatchedField has an empty log.
func (f PatchedField) record() *log {
	if f.log == nil {
		return (*History)(nil).orEmpty().log
	}
	return f.log
}

// Children yields the patched fields directly within this one.
func (f PatchedField) Children() iter.Seq[PatchedField] {
	return func(yield func(PatchedField) bool) {
		for child := f.record().nodes[f.at].child; child !=
			noNode; child = f.record().nodes[child].next {
			if !yield(PatchedField{f.record(), child}) {
				return
			}
		}
	}
}

// Name returns the name of the field in its struct, or "" for an item, an entry or an element.
func (f PatchedField) Name() string {
	if field := f.record().nodes[f.at].field; field != nil {
		return field.Name
	}
	return ""
}

// Type returns how the field merges.
func (f PatchedField) Type() *schema.Type { return f.record().typ(f.at) }

// Path returns the path to the field in the value.
func (f PatchedField) Path() fieldpath.Path { return f.record().path(f.at) }

// Claims returns the claims on the field itself, as History.All yields them, or nil.
func (f PatchedField) Claims() []Claim {
	l := f.record()
	claims := l.claimsOf(f.at, f.Path())
	if l.reordered {
		slices.SortStableFunc(claims, func(a, b Claim) int {
			return l.rankOf(a.Owner) - l.rankOf(b.Owner)
		})
	}
	return claims
}

// HasSeveral reports whether patches reached more than one field directly within this one.
func (f PatchedField) HasSeveral() bool {
	n := &f.record().nodes[f.at]
	return n.child != n.tail
}

// Overrides reports whether patches changed the base's value: the base claims the field, and
// another value is in force.
func (f PatchedField) Overrides() bool {
	n := &f.record().nodes[f.at]
	if n.first == n.last || f.record().claims[n.first].layer() != baseLayer {
		return false
	}
	stays := f.record().inForce(f.at)
	return stays < 0 || !f.record().equal(n.first, stays)
}

// Replaced reports whether a layer after the patches replaced a different value of an earlier
// layer.
func (f PatchedField) Replaced() bool {
	n := &f.record().nodes[f.at]
	if n.first == n.last || f.record().claims[n.last].layer() <= f.record().managers {
		return false
	}
	for i := n.first; i != n.last; i = f.record().claims[i].next {
		if !f.record().equal(i, n.last) {
			return true
		}
	}
	return false
}

// Displaced returns the claims of the owners from which applies took the field of a live object,
// and those of the applies, in the order of writing. An apply without force is refused for each. It
// returns nil if no apply took the field.
func (f PatchedField) Displaced() []Claim {
	l := f.record()
	taken := l.displaced[f.at]
	if len(taken) == 0 {
		return nil
	}
	var in []int32
	var absent []Claim
	path := f.Path()
	for _, d := range taken {
		in = append(in, d.claim)
		count := len(in)
		for i := l.nodes[f.at].first; i >= 0; i = l.claims[i].next {
			if i >= d.after && l.claims[i].layer() == d.by {
				in = append(in, i)
				break
			}
		}
		if by := l.export(d.by, Presence{}, path); len(in) == count &&
			!slices.ContainsFunc(absent, func(c Claim) bool { return c.Owner == by.Owner }) {
			absent = append(absent, by) // it sets a part of the field alone
		}
	}
	slices.Sort(in)
	var claims []Claim
	for _, i := range slices.Compact(in) {
		claims = append(claims, l.exportAt(i, path))
	}
	return append(claims, absent...)
}
