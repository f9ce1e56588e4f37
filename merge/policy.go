package merge

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file finds in the history what policies decide: precedence, unions, and protected fields.

// precedence records the fields in which the order of the patches decided.
func (l *log) precedence(policy string) {
	for i := range l.nodes {
		at := node(i)
		if n := &l.nodes[at]; n.contested && n.last >= 0 {
			var losers []int32
			for c := n.first; c >= 0; c = l.claims[c].next {
				if layer := l.claims[c].layer(); l.isManager(layer) && !l.equal(c, n.last) {
					losers = append(losers, layer)
				}
			}
			l.decide(policy, l.path(at), l.claims[n.last].layer(), losers)
		}
		for _, null := range l.nulls(at) {
			if layer := l.claims[null.claim].layer(); l.isManager(layer) {
				l.precedenceWithin(policy, at, null.claim, layer)
			}
		}
	}
}

// precedenceWithin records the fields within a field that a layer's null emptied, or that a later layer made again.
func (l *log) precedenceWithin(policy string, at node, null, layer int32) {
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		if last := l.nodes[child].last; last >= 0 && l.isManager(l.claims[last].layer()) && l.claims[last].kind() != nullValue {
			winner, loser := l.claims[last].layer(), layer
			if last < null {
				winner, loser = loser, winner
			}
			l.decide(policy, l.path(child), winner, []int32{loser})
		}
		l.precedenceWithin(policy, child, null, layer)
	}
}

// reaches reports whether a patch claims something within a field of a union.
func (l *log) reaches(at node, u schema.Union) bool {
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		if f := l.nodes[child].field; f != nil && (u.Has(f.Name) || f.Name == u.Discriminator) && l.lastWithin(child) >= 0 {
			return true
		}
	}
	return false
}

// lastWithin returns the last claim of a patch on a field or within it, or -1. A null on the field itself does not count.
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

// excludedMembers returns the union members of an object that another layer's claim excludes. It also returns that layer and the
// last claim on the union.
func (l *log) excludedMembers(t *schema.Type, u schema.Union, object reflect.Value, at node) (gone []*schema.StructField, winner, last int32) {
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
		if value := encodedField(f, object); u.Has(f.Name) && value.IsValid() {
			gone, last = append(gone, f), max(last, lastOf(f))
		}
	}
	winner = layerOf(last)
	if u.Discriminator != "" {
		f := t.Field(u.Discriminator)
		chosen := encodedField(f, object)
		if !chosen.IsValid() || chosen.Kind() != reflect.String || chosen.Len() == 0 || chosen.String() == u.When {
			return nil, winner, last
		}
		winner, last = layerOf(lastOf(f)), max(last, lastOf(f))
	}
	return slices.DeleteFunc(gone, func(f *schema.StructField) bool { return layerOf(lastOf(f)) == winner }), winner, last
}

// removed records that a layer's claim removed a field. It returns the layers that claim the field or a field within it.
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

// severalMembers returns the error for an object with several members of a union. It names their layers.
func (l *log) severalMembers(u schema.Union, v visited, last int32) error {
	var members []string
	for _, f := range v.t.Fields {
		if !u.Has(f.Name) && f.Name != u.Discriminator || !encodedField(f, v.value).IsValid() {
			continue
		}
		name, of := f.Name, l.layers[baseLayer]
		if f.Name == u.Discriminator {
			name += " " + strconv.Quote(encodedField(f, v.value).String())
		}
		if own := l.lastWithin(l.lookup(v.at, f, "")); own >= 0 {
			of = l.layers[l.claims[own].layer()]
		}
		members = append(members, fmt.Sprintf("%s of %s", name, of))
	}
	if last == math.MaxInt32 {
		last = l.lastWithin(v.at)
	}
	layer := l.claims[last].layer()
	return &PatchError{
		Layer: l.layers[layer], Index: slices.Index(l.ids, layer), Path: l.path(v.at),
		Err: apiError("Forbidden", "may not set more than one member of the union %q: %s", u.Name, strings.Join(members, ", ")),
	}
}

// visited is a struct or a list that patches reached.
type visited struct {
	at         node
	t          *schema.Type
	value      reflect.Value // within pointers, never invalid
	patchItems []any         // what the patches hold there, in their given order
}

// visit calls do for each struct and list that patches reached, from the outside to the inside.
func (l *log) visit(v visited, do func(visited) error) error {
	if v.value = pointee(v.value); !v.value.IsValid() {
		return nil
	}
	if err := do(v); err != nil {
		return err
	}
	var items []visited
	var keys firsts
	if v.t.Key != "" {
		items, keys = v.items()
	}
	for child := l.nodes[v.at].child; child != noNode; child = l.nodes[child].next {
		var inner visited
		if f := l.nodes[child].field; f != nil {
			if f.Type.Kind != schema.Struct && !f.Type.HasItems() {
				continue
			}
			inner.t = f.Type
			inner.value, _ = f.Template.In(v.value)
			for _, patchItem := range v.patchItems {
				object, _ := patchItem.(Object)
				if part := object[f.Name]; part != nil {
					inner.patchItems = append(inner.patchItems, part)
				}
			}
		} else if i := keys.find(len(items), l.nodes[child].key); i >= 0 {
			inner = items[i]
		}
		inner.at = child
		if err := l.visit(inner, do); err != nil {
			return err
		}
	}
	return nil
}

// items returns the items of a list, each with what the patches hold of it, and finds them by their keys.
func (v visited) items() ([]visited, firsts) {
	items, names, in := make([]visited, v.value.Len()), make([]patchKey, v.value.Len()), keysIn(v.t, v.value)
	for i := range items {
		items[i] = visited{t: v.t.Elem, value: v.value.Index(i)}
		name, _ := in.at(i)
		names[i] = patchKey{name, true}
	}
	keys := firstsOf(names)
	for _, patchItem := range v.patchItems {
		list, _ := patchItem.([]any)
		for _, part := range list {
			if i := keys.find(len(items), keyIn(v.t, part)); i >= 0 && part != nil {
				items[i].patchItems = append(items[i].patchItems, part)
			}
		}
	}
	return items, keys
}

// isOfBase reports whether the base's claim on a field is the first.
func (l *log) isOfBase(at node) bool {
	first := l.nodes[at].first
	return first >= 0 && l.claims[first].layer() == baseLayer
}

// restoring is a part of the history whose fields get the base's values.
type restoring struct {
	*log
	policy  string
	removes bool // whether a field that the base lacks goes
}

// restore applies the policies of protected fields and of the base's precedence. Put gives the fields that a pattern names the base's
// values. Had reports whether the base has a field.
func (l *log) restore(o Options, had func(fieldpath.Path) bool, put func(r restoring, pattern fieldpath.Path)) (ignored []Ignored, err error) {
	if o.Precedence == BaseAlways {
		r := restoring{l, "precedence", false}
		put(r, nil)
		r.overruleWithin(rootNode, nil)
	}
	for _, pattern := range o.Protected {
		r := restoring{l, "protected", true}
		l.match(rootNode, l.root, pattern, nil, func(at node, rest fieldpath.Path, emptied []int32) {
			path, layers := l.path(at).Append(rest...), emptied
			if len(rest) == 0 {
				layers = append(l.setters(at, nil), emptied...)
				r.overruleWithin(at, emptied)
			} else if !had(path) {
				return
			}
			for _, layer := range slices.Compact(slices.Sorted(slices.Values(layers))) {
				ignored = append(ignored, Ignored{l.layers[layer], path})
			}
		})
		put(r, pattern)
	}
	if o.ProtectedError && len(ignored) > 0 {
		return nil, &PatchError{
			Layer: ignored[0].Layer, Index: slices.Index(l.ids, l.layerID(ignored[0].Layer)), Path: ignored[0].Path, Err: apiError("Forbidden", "the field is protected"),
		}
	}
	return ignored, nil
}

// match calls do for each field that a pattern names and that patches reached. The layers emptied a field around it. The history of
// an object lacks the fields within an emptied one: then a rest of the pattern is left.
func (l *log) match(at node, t *schema.Type, pattern fieldpath.Path, emptied []int32, do func(at node, rest fieldpath.Path, emptied []int32)) {
	if len(pattern) == 0 {
		do(at, nil, emptied)
		return
	}
	emptied = append(emptied[:len(emptied):len(emptied)], l.emptiers(at)...)
	t = granular(t)
	isThere := false
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		of := t.Elem
		if f := l.nodes[child].field; f != nil {
			of = f.Type
		}
		if rest, ok := l.leads(pattern, t, child); ok {
			isThere = true
			l.match(child, of, rest, emptied, do)
		}
	}
	if !isThere && len(emptied) > 0 {
		do(at, pattern, emptied)
	}
}

// leads reports whether a pattern leads into a child of a field of type t. It also returns the rest of the pattern. The name of a
// field leads into each item of a list.
func (l *log) leads(pattern fieldpath.Path, t *schema.Type, child node) (rest fieldpath.Path, ok bool) {
	if len(pattern) == 0 {
		return nil, true
	}
	if _, isField := pattern[0].Field(); isField && t.Kind == schema.ListMap {
		return pattern, true
	}
	return leadsTo(pattern, l.step(child))
}

// emptiers returns the managers that claim a null on a field.
func (l *log) emptiers(at node) (layers []int32) {
	for _, null := range l.nulls(at) {
		if layer := l.claims[null.claim].layer(); l.isManager(layer) {
			layers = append(layers, layer)
		}
	}
	return layers
}

// setters returns the manager of each claim on a field or within it.
func (l *log) setters(at node, layers []int32) []int32 {
	for i := l.nodes[at].first; i >= 0; i = l.claims[i].next {
		if l.isManager(l.claims[i].layer()) {
			layers = append(layers, l.claims[i].layer())
		}
	}
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		layers = l.setters(child, layers)
	}
	return layers
}

// baseClaim returns the base's claim on a field, -1 for none. A field that is always encoded is not set by an empty value.
func (l *log) baseClaim(at node) int32 {
	first := l.nodes[at].first
	if !l.isOfBase(at) || l.claims[first].kind() != presenceValue && l.isEmpty(at, l.valueOf(first)) {
		return -1
	}
	return first
}

// overrule records that the base's claim on a field is in force, or that the field is removed. Emptied are the layers that emptied a
// field around it.
func (r restoring) overrule(at node, emptied []int32) {
	base := r.baseClaim(at)
	if r.nodes[at].first < 0 || base < 0 && !r.removes {
		return
	}
	losers := slices.Clone(emptied)
	for i := r.nodes[at].first; i >= 0; i = r.claims[i].next {
		if r.isManager(r.claims[i].layer()) && (base < 0 || !r.agree(at, base, i)) {
			losers = append(losers, r.claims[i].layer())
		}
	}
	r.log.overrule(at, base, baseLayer)
	if r.claims[r.nodes[at].first].kind() != presenceValue || base < 0 {
		r.decide(r.policy, r.path(at), baseLayer, losers)
	}
}

// overruleWithin records that the base's claims on a field and within it are in force.
func (r restoring) overruleWithin(at node, emptied []int32) {
	r.overrule(at, emptied)
	emptied = append(emptied[:len(emptied):len(emptied)], r.emptiers(at)...)
	for child := r.nodes[at].child; child != noNode; child = r.nodes[child].next {
		r.overruleWithin(child, emptied)
	}
}

// isForeign reports whether a patch made a field that goes.
func (r restoring) isForeign(at node) bool {
	return r.removes && r.nodes[at].createdBy != baseLayer && !r.hasBase(at)
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

// leadsTo reports whether a pattern leads into a step, and returns the rest of the pattern.
func leadsTo(pattern fieldpath.Path, step fieldpath.Step) (rest fieldpath.Path, ok bool) {
	if len(pattern) == 0 {
		return nil, true
	}
	return pattern[1:], fieldpath.Path{step}.Matches(pattern[:1])
}

// partAt returns the part of an object that a pattern names first, or nil.
func partAt(of any, pattern fieldpath.Path) any {
	if len(pattern) == 0 || of == nil {
		return of
	}
	switch of := of.(type) {
	case map[string]any:
		name, _ := pattern[0].Name()
		return partAt(of[name], pattern[1:])
	case []any:
		key, value, isItem := pattern[0].Item()
		for _, item := range of {
			object, _ := item.(map[string]any)
			rest := pattern
			if isItem {
				if rest = pattern[1:]; value != "" && object[key] != value {
					continue
				}
			}
			if part := partAt(item, rest); part != nil {
				return part
			}
		}
	}
	return nil
}
