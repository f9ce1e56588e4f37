package merge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/schema"
)

// This file finds in the history what policies decide: precedence and unions.

// lastWithin returns the last claim of a patch on a field or within it, nil for none. A null on the
// field itself does not count.
func (l *log) lastWithin(at *node) *claim {
	var last *claim
	see := func(c *claim) {
		if c != nil && l.isManager(c.layer) && (last == nil || c.number > last.number) {
			last = c
		}
	}
	claims := at.made()
	for i := range claims {
		if claims[i].kind != nullValue {
			see(&claims[i])
		}
	}
	for _, child := range at.within() {
		see(child.last())
		see(l.lastWithin(child))
	}
	return last
}

// layerOf returns the owner of a claim, the base's for none.
func layerOf(c *claim) int32 {
	if c == nil {
		return baseLayer
	}
	return c.layer
}

// excludedMembers returns the union members of an object that another owner's claim excludes. It
// also returns that owner.
func (l *log) excludedMembers(t *schema.Type, u schema.Union, object Object,
	at *node) (gone []*schema.StructField, winner int32) {
	lastOf := func(f *schema.StructField) (last *claim, ofBase bool) {
		child := at.find(f, "")
		if l.baseWins && (child == nil || l.hasBase(child)) {
			return nil, true
		}
		return l.lastWithin(child), false
	}
	var last *claim
	isOfBase := false
	for _, f := range t.Fields {
		if !u.Has(f.Name) || object[f.Name] == nil {
			continue
		}
		gone = append(gone, f)
		of, wins := lastOf(f)
		isOfBase = isOfBase || wins
		if of != nil && (last == nil || of.number > last.number) {
			last = of
		}
	}
	if !isOfBase {
		winner = layerOf(last)
	}
	if u.Discriminator != "" {
		f := t.Field(u.Discriminator)
		chosen, _ := object[f.Name].(string)
		if chosen == "" || chosen == u.When {
			return nil, winner
		}
		of, _ := lastOf(f)
		winner = layerOf(of)
	}
	return slices.DeleteFunc(gone, func(f *schema.StructField) bool {
		of, _ := lastOf(f)
		return layerOf(of) == winner
	}), winner
}

// removed records that an owner's claim removed a field. It returns the owners that claim the field
// or a field within it.
func (l *log) removed(at *node, winner int32, losers []int32) []int32 {
	for _, c := range at.claims {
		losers = append(losers, c.layer)
	}
	if len(at.claims) > 0 {
		l.rule(at, nil, winner)
	}
	for _, child := range at.children {
		losers = l.removed(child, winner, losers)
	}
	return losers
}

// severalMembers returns the error for an object with several members of a union. It names their
// owners.
func (l *log) severalMembers(u schema.Union, t *schema.Type, object Object, at *node) error {
	var members []string
	var last *claim
	for _, f := range t.Fields {
		value := object[f.Name]
		if !u.Has(f.Name) && f.Name != u.Discriminator || value == nil {
			continue
		}
		name := f.Name
		if f.Name == u.Discriminator {
			name += fmt.Sprintf(" %q", value)
		}
		own := l.lastWithin(at.find(f, ""))
		if own != nil && (last == nil || own.number > last.number) {
			last = own
		}
		members = append(members, fmt.Sprintf("%s of %s", name, l.layers[layerOf(own)]))
	}
	layer := layerOf(last)
	return &PatchError{
		Owner: l.layers[layer], Index: slices.Index(l.ids, layer), Path: at.path(),
		Err: apiError("Forbidden", "may not set more than one member of the union %q: %s", u.Name,
			strings.Join(members, ", ")),
	}
}

// isOfBase reports whether the base's claim on a field is the first.
func (n *node) isOfBase() bool { return len(n.claims) > 0 && n.claims[0].layer == baseLayer }

// baseClaim returns the base's claim on a field, nil for none. A null sets nothing, nor does an
// empty value that a Go type encodes anyway.
func (l *log) baseClaim(at *node) *claim {
	if !at.isOfBase() || at.claims[0].kind == ineffectiveNull {
		return nil
	}
	first := &at.claims[0]
	if l.root.GoType() != nil && first.kind != presenceValue && at.isEmpty(first.shown()) {
		return nil
	}
	return first
}

// hasBase reports whether the base claims something on a field or within it.
func (l *log) hasBase(at *node) bool {
	return l.baseClaim(at) != nil || slices.ContainsFunc(at.children, l.hasBase)
}
