package merge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/schema"
)

// This file finds in the history what policies decide: precedence and unions.

// precedence records the fields in which the order of the patches decided, as they have merged.
func (l *log) precedence(policy string, order []int) {
	for _, d := range (&History{log: l}).Disputes() {
		var layers []int32
		for _, c := range d.Claims {
			layers = append(layers, l.layerID(c.Owner))
		}
		for _, i := range slices.Backward(order) {
			if slices.Contains(layers, l.ids[i]) {
				l.decide(policy, d.Path, l.ids[i], layers)
				break
			}
		}
	}
}

// lastWithin returns the last claim of a patch on a field or within it, or -1. A null on the field
// itself does not count.
func (l *log) lastWithin(at node) int32 {
	last := int32(-1)
	if at == noNode {
		return last
	}
	for i := l.nodes[at].first; i >= 0; i = l.claims[i].next {
		if c := &l.claims[i]; l.isManager(c.layer()) && c.kind() != nullValue {
			last = i
		}
	}
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		if i := l.nodes[child].last; i >= 0 && l.isManager(l.claims[i].layer()) {
			last = max(last, i)
		}
		last = max(last, l.lastWithin(child))
	}
	return last
}

// excludedMembers returns the union members of an object that another layer's claim excludes. It
// also returns that layer and the last claim on the union.
func (l *log) excludedMembers(t *schema.Type, u schema.Union, object Object,
	at node) (gone []*schema.StructField, winner, last int32) {
	lastOf := func(f *schema.StructField) int32 {
		child := l.lookup(at, f, "")
		if l.baseWins && (child == noNode || l.hasBase(child)) {
			return math.MaxInt32
		}
		return l.lastWithin(child)
	}
	layerOf := func(claim int32) int32 {
		if claim < 0 || claim == math.MaxInt32 {
			return baseLayer
		}
		return l.claims[claim].layer()
	}
	last = -1
	for _, f := range t.Fields {
		if u.Has(f.Name) && object[f.Name] != nil {
			gone, last = append(gone, f), max(last, lastOf(f))
		}
	}
	winner = layerOf(last)
	if u.Discriminator != "" {
		f := t.Field(u.Discriminator)
		chosen, _ := object[f.Name].(string)
		if chosen == "" || chosen == u.When {
			return nil, winner, last
		}
		winner, last = layerOf(lastOf(f)), max(last, lastOf(f))
	}
	return slices.DeleteFunc(gone, func(f *schema.StructField) bool {
		return layerOf(lastOf(f)) == winner
	}), winner, last
}

// removed records that a layer's claim removed a field. It returns the layers that claim the field
// or a field within it.
func (l *log) removed(at node, winner int32, losers []int32) []int32 {
	for i := l.nodes[at].first; i >= 0; i = l.claims[i].next {
		losers = append(losers, l.claims[i].layer())
	}
	if l.nodes[at].first >= 0 {
		l.overrule(at, -1, winner)
	}
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		losers = l.removed(child, winner, losers)
	}
	return losers
}

// severalMembers returns the error for an object with several members of a union. It names their
// layers.
func (l *log) severalMembers(u schema.Union, t *schema.Type, object Object, at node,
	last int32) error {
	var members []string
	for _, f := range t.Fields {
		value := object[f.Name]
		if !u.Has(f.Name) && f.Name != u.Discriminator || value == nil {
			continue
		}
		name, of := f.Name, l.layers[baseLayer]
		if f.Name == u.Discriminator {
			name += fmt.Sprintf(" %q", value)
		}
		if own := l.lastWithin(l.lookup(at, f, "")); own >= 0 {
			of = l.layers[l.claims[own].layer()]
		}
		members = append(members, fmt.Sprintf("%s of %s", name, of))
	}
	if last == math.MaxInt32 {
		last = l.lastWithin(at)
	}
	layer := l.claims[last].layer()
	return &PatchError{
		Owner: l.layers[layer], Index: slices.Index(l.ids, layer), Path: l.path(at),
		Err: apiError("Forbidden", "may not set more than one member of the union %q: %s", u.Name,
			strings.Join(members, ", ")),
	}
}

// isOfBase reports whether the base's claim on a field is the first.
func (l *log) isOfBase(at node) bool {
	first := l.nodes[at].first
	return first >= 0 && l.claims[first].layer() == baseLayer
}

// baseClaim returns the base's claim on a field, -1 for none. A null sets nothing, nor does an
// empty value that a Go type encodes anyway.
func (l *log) baseClaim(at node) int32 {
	first := l.nodes[at].first
	if !l.isOfBase(at) || l.claims[first].kind() == ineffectiveNull {
		return -1
	}
	if l.root.GoType() != nil && l.claims[first].kind() != presenceValue &&
		l.isEmpty(at, l.valueOf(first)) {
		return -1
	}
	return first
}

// hasBase reports whether the base claims something on a field or within it.
func (l *log) hasBase(at node) bool {
	if l.baseClaim(at) >= 0 {
		return true
	}
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		if l.hasBase(child) {
			return true
		}
	}
	return false
}
