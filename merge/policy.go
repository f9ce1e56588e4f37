package merge

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file holds the policies of a merge. The zero value of each is the cluster's. A policy decides values only. The history of a
// field has every claim in any case, so the conflicts do not depend on a policy.

// OrderPolicy states where the items of a list-map and the elements of a set stand. It permutes them and changes no value.
type OrderPolicy string

const (
	// PatchOrder is upstream's order: new items usually go in front, and the patch orders the items that it names.
	PatchOrder OrderPolicy = ""
	// BaseOrder lets the items of the base keep their places. New ones follow in the order of the patches.
	BaseOrder OrderPolicy = "base"
)

// UnionPolicy states what becomes of a union's members if an object has several of them. It changes only such members. The unions
// come from the plan's rules. In a union with a discriminator, the discriminator's value decides which member may stay.
type UnionPolicy string

const (
	// AllMembers keeps all members, as upstream: the API server then rejects the object.
	AllMembers UnionPolicy = ""
	// LastMember removes the members of all layers but the last one that claims a member.
	LastMember UnionPolicy = "last"
	// OneMember returns an error that names the members and their layers.
	OneMember UnionPolicy = "error"
)

// EmptyPolicy states whether an empty string sets a field of a Go type that has no omitempty. The type's JSON holds such a
// field even if nobody sets it. It changes only such fields.
type EmptyPolicy string

const (
	// SetEmpty sets the field to "", as upstream.
	SetEmpty EmptyPolicy = ""
	// SkipEmpty keeps the field's earlier value.
	SkipEmpty EmptyPolicy = "skip"
)

// PrecedencePolicy states whose value stays where patches overlap. It changes values only there. Options.Managers names another order.
type PrecedencePolicy string

const (
	// LastPatch lets the last patch win, as upstream.
	LastPatch PrecedencePolicy = ""
	// FirstPatch lets the first manager win. The later patches of one manager win over its earlier ones.
	FirstPatch PrecedencePolicy = "first"
	// BaseAlways lets the base win over all patches: what it sets stays. Among the patches the last one wins. It also changes
	// values where a patch overrides the base, although managers do not conflict there.
	BaseAlways PrecedencePolicy = "base"
)

// DefaultPolicy states whether fields that nobody sets have a value. It adds only such fields, without an owner.
type DefaultPolicy string

const (
	// NoDefaults adds nothing, as upstream.
	NoDefaults DefaultPolicy = ""
	// RuleDefaults fills in the defaults of the plan's rules, for comparison with a live object.
	RuleDefaults DefaultPolicy = "rules"
)

// A Decision records the decision of a policy on one field. The claims of the losers stay in the history, so conflict.Find reports them.
type Decision struct {
	// Policy is the name of the option in lower case.
	Policy string
	// Path is the field whose value was decided.
	Path fieldpath.Path
	// Winner is the layer whose value stays. Losers are the layers whose claims gave way.
	Winner Layer
	Losers []Layer
}

// An OptionError reports an option that does not exist for a plan, or that contradicts another one.
type OptionError struct {
	// Option is the name of the field of Options.
	Option string
	// Err states the problem.
	Err error
}

// Error names the option.
func (e *OptionError) Error() string {
	if e == nil {
		return "no error"
	}
	return fmt.Sprintf("merge: Options.%s: %v", e.Option, e.Err)
}

// Unwrap returns the problem.
func (e *OptionError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Check returns the error of Apply for the options, an [*OptionError], without a merge. A program can call it when it makes the plan.
func (p *Plan[T, P]) Check(o Options) error {
	if p == nil || p.plan == nil {
		return errors.New("merge: a plan that was not compiled merges nothing")
	}
	return o.check(p.plan)
}

func (o *Options) check(p *plan) error {
	root := p.root
	switch {
	case o.Managed && (!p.objects || p.removes):
		return &OptionError{"Managed", apiError("Forbidden", "may only be set for objects of a definition")}
	case o.Managed && o.decides():
		return &OptionError{"Managed", apiError("Forbidden", "may not be set with a policy that decides")}
	}
	for _, err := range []error{
		checkKnown("Order", o.Order, PatchOrder, BaseOrder),
		checkKnown("Unions", o.Unions, AllMembers, LastMember, OneMember),
		checkKnown("Empty", o.Empty, SetEmpty, SkipEmpty),
		checkKnown("Precedence", o.Precedence, LastPatch, FirstPatch, BaseAlways),
		checkKnown("Defaults", o.Defaults, NoDefaults, RuleDefaults),
	} {
		if err != nil {
			return err
		}
	}
	if o.Defaults == RuleDefaults && p.defaults == nil {
		return &OptionError{"Defaults", apiError("Forbidden", "may only be set when the rules have defaults")}
	}
	for i, name := range o.Managers {
		if slices.Contains(o.Managers[:i], name) {
			return &OptionError{"Managers", apiError("Duplicate value", "%q", name)}
		}
	}
	if len(o.Managers) > 0 && o.Precedence != LastPatch {
		return &OptionError{"Managers", apiError("Forbidden", "may not be set when Precedence is %q", o.Precedence)}
	}
	if o.ProtectedError && len(o.Protected) == 0 {
		return &OptionError{"ProtectedError", apiError("Forbidden", "may not be set when Protected is empty")}
	}
	for _, path := range o.Protected {
		if err := isField(root, path); err != nil {
			return &OptionError{"Protected", fmt.Errorf("%s: %w", path, err)}
		}
	}
	return nil
}

// isField returns an error for a path that leads to no field which merges by itself.
func isField(t *schema.Type, path fieldpath.Path) error {
	if len(path) == 0 {
		return apiError("Required value", "must name a field")
	}
	for i := 0; i < len(path); i++ {
		name, isField := path[i].Field()
		_, isKey := path[i].Key()
		_, _, isItem := path[i].Item()
		_, isElement := path[i].Element()
		t = granular(t)
		switch {
		case t.Kind == schema.ListMap:
			if !isItem {
				i-- // the field of each item
			}
			t = t.Elem
			if !isItem && !isField {
				return apiError("Invalid value", "an item must be named by its key")
			}
		case isField && t.Field(name) != nil:
			t = t.Field(name).Type
		case t.Kind == schema.Map && (isKey || isField && t.GoType() == nil), t.Kind == schema.Set && isElement, t.Kind == schema.Struct && t.Elem != nil && (isKey || isField):
			t = t.Elem
		case t.Kind == schema.Struct:
			return apiError("Invalid value", "there is no field %s", path[i])
		default:
			return apiError("Invalid value", "%s is part of a value that does not merge", path[i])
		}
	}
	return nil
}

// apiError returns an error in a form of the API server.
func apiError(form, format string, args ...any) error { return fmt.Errorf(form+": "+format, args...) }

// checkKnown returns an error for an unknown value of an option. The first of its values is the zero one.
func checkKnown[P ~string](option string, value P, values ...P) error {
	if slices.Contains(values, value) {
		return nil
	}
	quoted := make([]string, len(values)-1)
	for i, other := range values[1:] {
		quoted[i] = strconv.Quote(string(other))
	}
	return &OptionError{option, apiError("Unsupported value", "%q: supported values: %s", value, strings.Join(quoted, ", "))}
}

// decides reports whether a policy needs the history of the fields.
func (o *Options) decides() bool {
	return o.Unions != AllMembers || o.Empty != SetEmpty || o.Precedence != LastPatch || len(o.Managers) > 0 || len(o.Protected) > 0
}

// precedes reports whether the patches merge in another order than the given one.
func (o *Options) precedes() bool { return o.Precedence == FirstPatch || len(o.Managers) > 0 }

// precedence returns the name of the option that precedes.
func (o *Options) precedence() string {
	if len(o.Managers) > 0 {
		return "managers"
	}
	return "precedence"
}

// mergeOrder returns the order in which the patches merge: the winner comes last. The patches of one manager keep their order.
func mergeOrder[P any](patches []Layered[P], o Options) []int {
	order, first := make([]int, len(patches)), map[Layer]int{}
	for i := range patches {
		order[i] = i
	}
	if !o.precedes() {
		return order
	}
	for i := len(patches) - 1; i >= 0; i-- {
		first[patches[i].Layer] = i
	}
	rank := func(i int) int {
		if o.Precedence == FirstPatch {
			return -first[patches[i].Layer]
		}
		name, _ := patches[i].Layer.Manager()
		if at := slices.Index(o.Managers, name); at >= 0 {
			return len(o.Managers) - at
		}
		return 0
	}
	slices.SortStableFunc(order, func(i, j int) int { return rank(i) - rank(j) })
	return order
}

// An overruling states that a policy decided against the last claim on a field.
type overruling struct {
	claim int32 // the claim in force, -1 for none
	layer int32 // the layer that removed the field then
	after int32 // how many claims were made before
}

// overrule records that an earlier claim is in force on a field, or none.
func (l *log) overrule(at node, claim, layer int32) {
	if l.overrulings == nil {
		l.overrulings = map[node]overruling{}
	}
	l.overrulings[at] = overruling{claim, layer, int32(len(l.claims))}
}

// inForce returns the claim in force on a field, -1 for none.
func (l *log) inForce(at node) int32 {
	if v, ok := l.overrulings[at]; ok {
		return v.claim
	}
	return l.nodes[at].last
}

// decided appends an overruling to the claims on a field, as the claim in force.
func (l *log) decided(at node, claims []Claim, path fieldpath.Path) []Claim {
	v, ok := l.overrulings[at]
	switch {
	case !ok || claims == nil:
	case v.claim >= 0:
		claims = append(claims, l.exportAt(v.claim, path))
	default:
		claims = append(claims, Claim{Layer: l.layerName(l.layers[v.layer])})
	}
	return claims
}

// decide records a decision about a field. Losers are distinct layers other than the winner.
func (l *log) decide(policy string, path fieldpath.Path, winner int32, losers []int32) {
	slices.Sort(losers)
	d := Decision{Policy: policy, Path: path, Winner: l.layers[winner]}
	for _, layer := range slices.Compact(losers) {
		if layer != winner {
			d.Losers = append(d.Losers, l.layers[layer])
		}
	}
	if d.Losers != nil {
		l.decisions = append(l.decisions, d)
	}
}

// skip reports whether a patch's empty string sets nothing, and records its claim.
func (m *merger) skip(f *schema.StructField, to reflect.Value, from any, at node) bool {
	if from != "" || to.Kind() != reflect.String || f.Template.OmitEmpty || f.Template.OmitZero || f.Type.Raw || to.Len() == 0 {
		return false
	}
	m.recordBase(at, f.Type, to, true)
	stays := m.log.inForce(at)
	m.claim(at, reflect.Zero(to.Type()))
	if stays >= 0 {
		m.log.overrule(at, stays, 0)
		m.log.decide("empty", m.log.path(at), m.log.claims[stays].layer(), []int32{m.layer})
	}
	return true
}

// decide applies the policies that need the history of all patches.
func (m *merger) decide(value reflect.Value, o Options) (err error) {
	had := func(fieldpath.Path) bool { return false } // the history has all fields within an emptied one
	m.protected, err = m.log.restore(o, had, func(r restoring, pattern fieldpath.Path) {
		m.restore(r, rootNode, r.root, func(bool) reflect.Value { return value }, pattern)
	})
	if err != nil {
		return err
	}
	if o.precedes() {
		m.log.precedence(o.precedence())
	}
	follows := m.follows && m.log.reordered
	if !follows && o.Unions == AllMembers {
		return nil
	}
	root := visited{at: rootNode, t: m.log.root, value: value}
	for _, patch := range m.log.patches {
		if follows {
			root.patchItems = append(root.patchItems, patch)
		}
	}
	return m.log.visit(root, func(v visited) error {
		if follows {
			m.restoreOrder(v)
		}
		if o.Unions == AllMembers {
			return nil
		}
		return m.unions(v, o.Unions)
	})
}

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

// unions removes the members of unions that may not stay, or returns an error for several members.
func (m *merger) unions(v visited, policy UnionPolicy) error {
	for _, u := range v.t.Unions {
		if !m.log.reaches(v.at, u) {
			continue
		}
		gone, winner, last := m.log.excludedMembers(v.t, u, v.value, v.at)
		if len(gone) > 0 && policy == OneMember {
			return m.log.severalMembers(u, v, last)
		}
		for _, f := range gone {
			m.remove(f, v.value, v.at, winner)
		}
	}
	return nil
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

// remove removes a member of a union for the layer of another member.
func (m *merger) remove(f *schema.StructField, object reflect.Value, at node, winner int32) {
	child := m.log.child(at, f, "")
	member, _ := f.Template.In(object)
	writer{log: m.log, onlyRemoved: true}.value(f.Type, nil, child, pointee(member), reflect.Value{})
	member.SetZero()
	m.log.decide("unions", m.log.path(child), winner, m.log.removed(child, winner, nil))
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
	if v.t.Kind == schema.ListMap {
		items, keys = v.items()
	}
	for child := l.nodes[v.at].child; child != noNode; child = l.nodes[child].next {
		var inner visited
		if f := l.nodes[child].field; f != nil {
			if f.Type.Kind != schema.Struct && f.Type.Kind != schema.ListMap && f.Type.Kind != schema.Set {
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

// restoreOrder puts the new items of a list into the order of the given patches. These have merged in another order.
func (m *merger) restoreOrder(v visited) {
	if v.t.Kind != schema.ListMap && v.t.Kind != schema.Set || v.value.Len() < 2 {
		return
	}
	rank := map[string]int32{}
	for _, part := range v.patchItems {
		items, _ := part.([]any)
		for _, item := range items {
			if key := keyIn(v.t, item); rank[key] == 0 {
				rank[key] = int32(len(rank) + 1)
			}
		}
	}
	keys, order, find := itemKeys(v.t, v.value), make([]int32, v.value.Len()), m.log.finder(v.at)
	for i, key := range keys {
		order[i] = int32(i)
		if child := find(key); child == noNode || m.log.isOfBase(child) {
			rank[key] = 0
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return int(rank[keys[a]] - rank[keys[b]]) })
	reorderList(v.value, order)
}

// isOfBase reports whether the base's claim on a field is the first.
func (l *log) isOfBase(at node) bool {
	first := l.nodes[at].first
	return first >= 0 && l.claims[first].layer() == baseLayer
}

// keyIn returns the log's key of an item of a patch's list.
func keyIn(t *schema.Type, item any) string {
	if t.Kind == schema.ListMap {
		object, _ := item.(Object)
		item = object[t.Key]
	}
	return keyTypeOf(t).text(item)
}
