package merge

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// log records the claims of the patches in the order of writing, on a tree of the touched fields. It grows with the patches and
// not with the template. The merged template itself holds the runtime's fields that no patch touched.
type log struct {
	root     *schema.Type
	layers   []Layer
	places   []fieldpath.Path  // where a layer's patch stands in its document, nil for a later layer
	rename   func(Claim) Claim // nil keeps claims as they are
	managers int32             // how many of the layers are managers', from 1 on
	ids      []int32           // the layer of each patch
	owners   []int32           // the layers of a live object's owners
	nodes    []pathNode
	claims   []claim
	values   []anyValue
	wide     map[node]*childIndex
	repeats  map[node]repeat
	retained map[node][]retention
	sources  map[int32]fieldpath.Path // the sources of claims that Write records, by their index
	sets     map[node][]setPatch
	literals map[node][]literal
	only     []int32             // the patch of each layer, counted from 1; 0 for a layer without one, -1 with several
	patches  []Object            // nil once all patches are merged
	parts    map[partsKey]*parts // of the patches; nil once all patches are merged
	emptied  bool                // whether two managers claim a null on one field
	alike    []int32             // the first layer with the patch of each layer; nil unless emptied
	// overrulings are the decisions of policies against the last claim, and decisions lists what all policies decided.
	overrulings map[node]overruling
	decisions   []Decision
	zeroNulls   []Ignored // what Go values omit and so remove
	baseWins    bool      // whether the base wins over all patches
	live        bool      // whether the base is a live object, whose owners have claimed what they own
	reordered   bool      // whether the patches merged in another order than the given one
}

// node is a field of the tree: an index into log.nodes.
type node int32

const (
	rootNode node = 0
	noNode   node = -1
)

type pathNode struct {
	parent, child, tail, next node  // tail is the last child
	first, last               int32 // claims, -1 when there is none
	children                  uint8 // up to wideNode+1
	// firstActive is the first claim that counts in a merge of objects. A patch has taken the field from the earlier ones.
	firstActive int32
	// contested is set if two managers claimed different values here, or if one of two claimed a null.
	contested bool
	// createdBy is the layer of the patch that created the item or the struct, or 0 for none. The base owns nothing in such an item or struct.
	createdBy int32
	lacks     bool                // whether the base lacks the map
	field     *schema.StructField // the step to a field, or nil for a step by key
	key       string              // the merge key, map key or set element, by the parent's kind
}

// claim records one layer's write to one field.
type claim struct {
	next int32 // the next claim on the same field
	tag  uint32
	text string
}

func claimOf(layer int32, kind valueKind, text string) claim {
	return claim{next: -1, tag: uint32(layer)<<8 | uint32(kind), text: text}
}

func (c *claim) layer() int32    { return int32(c.tag >> 8) }
func (c *claim) kind() valueKind { return valueKind(c.tag) }

type valueKind uint8

const (
	otherValue valueKind = iota
	textValue
	trueValue
	falseValue
	nullValue
	presenceValue
	ineffectiveNull  // a null that removes nothing
	unlistedPresence // a presence that no set of fields names
)

// anyValue is the value of a claim that is not a string.
type anyValue struct {
	claim int32
	value any
}

const baseLayer = 0

func newLog(root *schema.Type, patches int, o Options) *log {
	l := &log{
		root:   root,
		layers: make([]Layer, 1, patches+1),
		places: make([]fieldpath.Path, 1, patches+1),
		ids:    make([]int32, patches),
		nodes:  make([]pathNode, 1, 64+20*patches),
		claims: make([]claim, 0, 16+32*patches),
		values: make([]anyValue, 0, 8+4*patches),
	}
	l.layers[0], l.places[0] = baseLayerOf(o), o.Source
	if o.Source == nil {
		l.places[0] = fieldpath.Path{}
	}
	l.nodes[0] = pathNode{parent: noNode, child: noNode, tail: noNode, next: noNode, first: -1, last: -1}
	return l
}

// from records where the patch of a layer stands in its document.
func (l *log) from(layer int32, place fieldpath.Path) {
	if l.places[layer] == nil {
		l.places[layer] = append(fieldpath.Path{}, place...)
	}
}

// name returns the name of a field, or the key of an entry or an item.
func (l *log) name(at node) string {
	if f := l.nodes[at].field; f != nil {
		return f.Name
	}
	return l.nodes[at].key
}

// add records a claim on a field.
func (l *log) add(at node, layer int32, kind valueKind, text string) {
	delete(l.overrulings, at)
	n := &l.nodes[at]
	i := int32(len(l.claims))
	l.claims = append(l.claims, claimOf(layer, kind, text))
	if n.first < 0 {
		n.first = i
	} else {
		last := &l.claims[n.last]
		last.next = i
		switch {
		case !l.isManager(last.layer()) || !l.isManager(layer):
		case last.layer() == layer:
			n.contested = l.isContested(at, i)
		default:
			n.contested = n.contested || !l.agree(at, n.last, i)
			l.emptied = l.emptied || kind == nullValue && last.kind() == nullValue
		}
	}
	n.last = i
}

// A retention records a $retainKeys directive. It empties each field that the directive does not name, even if another patch
// reaches the field later.
type retention struct {
	layer int32
	kept  map[string]bool
}

// retain records a $retainKeys directive on the struct or map at a node.
func (m *merger) retain(at node, kept map[string]bool) {
	if !m.owners {
		return
	}
	if m.log.retained == nil {
		m.log.retained = map[node][]retention{}
	}
	m.log.retained[at] = append(m.log.retained[at], retention{m.layer, kept})
	for child := m.log.nodes[at].child; child != noNode; child = m.log.nodes[child].next {
		if m.log.nodes[child].first < 0 && !kept[m.log.name(child)] {
			m.log.add(child, m.layer, nullValue, "")
		}
	}
}

// repeat is a run of claims of one layer on a field, from items that share a merge key. Only the last claim counts.
type repeat struct {
	contested bool  // whether managers differ in the earlier claims
	before    int32 // the last earlier claim that counts, -1 for none
	last      int32
}

// isContested reports whether managers differ on a field whose newest claim replaces one of the same layer.
func (l *log) isContested(at node, newest int32) bool {
	n := &l.nodes[at]
	r, known := l.repeats[at]
	if !known || r.last != n.last {
		r = repeat{before: -1}
		for i := n.first; i != newest; i = l.claims[i].next {
			c := &l.claims[i]
			if !l.isManager(c.layer()) || l.claims[c.next].layer() == c.layer() {
				continue
			}
			r.contested = r.contested || r.before >= 0 && !l.agree(at, r.before, i)
			r.before = i
		}
	}
	r.last = newest
	if l.repeats == nil {
		l.repeats = map[node]repeat{}
	}
	l.repeats[at] = r
	return r.contested || r.before >= 0 && !l.agree(at, r.before, newest)
}

// addValue records a claim on a field with its value.
func (l *log) addValue(at node, layer int32, v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		if of := v.Type().Elem().Kind(); of == reflect.Bool || of == reflect.String {
			v = v.Elem()
		}
	}
	switch {
	case v.Kind() == reflect.String:
		l.add(at, layer, textValue, v.String())
	case v.Kind() != reflect.Bool:
		l.values = append(l.values, anyValue{int32(len(l.claims)), v.Interface()})
		l.add(at, layer, otherValue, "")
	case v.Bool():
		l.add(at, layer, trueValue, "")
	default:
		l.add(at, layer, falseValue, "")
	}
}

// isManager reports whether the layer is a manager's patch. The runtime comes before the managers, and the layers that Write
// records come after them.
func (l *log) isManager(layer int32) bool { return layer > baseLayer && layer <= l.managers }

// agree reports whether two claims leave a field alike: with equal values, or both empty.
func (l *log) agree(at node, i, j int32) bool {
	return l.equal(i, j) || l.isEmpty(at, l.valueOf(i)) && l.isEmpty(at, l.valueOf(j)) || l.isSameClaim(at, i, j)
}

// isSameClaim reports whether the patches of two layers are equal, or equal at a field with no directive around it. Their order then
// changes nothing, even if the claims differ. Upstream drops the nulls of a value that the base lacks. It keeps the nulls of the
// value that replaces it. Two different scalars are never equal in the patches.
func (l *log) isSameClaim(at node, i, j int32) bool {
	c, d := &l.claims[i], &l.claims[j]
	isScalar := func(k valueKind) bool { return textValue <= k && k <= falseValue }
	if l.patches == nil || isScalar(c.kind()) && isScalar(d.kind()) {
		return false
	}
	return l.partsOf(partsKey{at, c.layer(), d.layer()}).areEqual
}

// parts holds the parts of two layers' patches at a node. They are found once for each node, so that work grows with the patches.
type parts struct {
	of       [2]any
	items    [2]map[string]any // of lists by key, by the text of the key
	areEqual bool
}

type partsKey struct {
	at   node
	a, b int32
}

func (l *log) partsOf(key partsKey) *parts {
	if known := l.parts[key]; known != nil {
		return known
	}
	p := &parts{}
	if key.at == rootNode {
		p.of = [2]any{l.patchOf(key.a), l.patchOf(key.b)}
	} else if above := l.partsOf(partsKey{l.nodes[key.at].parent, key.a, key.b}); above.areEqual {
		p = above
	} else {
		step := l.step(key.at)
		p.of = [2]any{above.plainStep(0, step), above.plainStep(1, step)}
	}
	p.areEqual = p.of[0] != nil && reflect.DeepEqual(p.of[0], p.of[1])
	if l.parts == nil {
		l.parts = map[partsKey]*parts{}
	}
	l.parts[key] = p
	return p
}

// patchOf returns a layer's only patch, or nil.
func (l *log) patchOf(layer int32) Object {
	if i := l.only[layer]; i > 0 {
		return l.patches[i-1]
	}
	return nil
}

// findAlike finds the layers whose patches are equal.
func (l *log) findAlike() {
	l.alike = make([]int32, l.managers+1)
	for i := range l.alike {
		for l.alike[i] < int32(i) && (l.patchOf(int32(i)) == nil || !reflect.DeepEqual(l.patchOf(int32(i)), l.patchOf(l.alike[i]))) {
			l.alike[i]++
		}
	}
}

// plainStep returns the part of a patch that a step leads to. It is nil for a step into an object or a list with directives. It is
// also nil for an item whose key another item shares.
func (p *parts) plainStep(i int, step fieldpath.Step) any {
	if list, ok := p.of[i].([]any); ok {
		keys := step.Keys()
		if len(keys) != 1 {
			return nil
		}
		if p.items[i] == nil {
			p.items[i] = unsharedItems(list, keys[0].Name)
		}
		return p.items[i][scalarText(reflect.ValueOf(keys[0].Value))]
	}
	object, _ := p.of[i].(Object)
	for name := range object {
		if strings.HasPrefix(name, "$") {
			return nil
		}
	}
	name, _ := step.Name()
	return object[name]
}

// unsharedItems returns the items of a list by the text of their key, without items that share a key. A list with directives has none.
func unsharedItems(list []any, key string) map[string]any {
	items := make(map[string]any, len(list))
	for _, item := range list {
		object, _ := item.(Object)
		if _, special := object[patchDirective]; special {
			return map[string]any{}
		}
		text := scalarText(reflect.ValueOf(object[key]))
		if _, isShared := items[text]; isShared {
			item = nil
		}
		items[text] = item
	}
	return items
}

// isEmpty reports whether a claimed value equals the value of an unset field. That is null, or the empty value of a field that
// is not a pointer. The encoding of such a field does not distinguish the two.
func (l *log) isEmpty(at node, value any) bool {
	if value == nil || l.nodes[at].field == nil || l.isPointer(at) || l.encodesEmpty(at) {
		return value == nil
	}
	v := reflect.ValueOf(value)
	isEmptyList := v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 && v.Len() == 0
	return v.IsZero() || isEmptyList || SameValue(value, reflect.Zero(v.Type()).Interface())
}

// encodesEmpty reports whether the encoding distinguishes an empty map or list from null.
func (l *log) encodesEmpty(at node) bool {
	f := l.nodes[at].field
	return f != nil && f.Type.Kind >= schema.Map && f.Type.Kind <= schema.Atomic && !f.Template.OmitEmpty
}

// equal compares two claimed values as the cluster does: 1Gi equals 1024Mi.
func (l *log) equal(i, j int32) bool {
	c, d := &l.claims[i], &l.claims[j]
	if c.kind() != d.kind() {
		return false
	}
	switch c.kind() {
	case textValue:
		return c.text == d.text
	case otherValue:
		return SameValue(l.other(i), l.other(j))
	default:
		return true
	}
}

// other returns the value of a claim that is not a string.
func (l *log) other(claim int32) any {
	i, _ := slices.BinarySearchFunc(l.values, claim, func(v anyValue, claim int32) int { return cmp.Compare(v.claim, claim) })
	return l.values[i].value
}

// valueOf returns the value that a claim shows to its readers.
func (l *log) valueOf(i int32) any {
	switch c := &l.claims[i]; c.kind() {
	case textValue:
		return c.text
	case trueValue, falseValue:
		return c.kind() == trueValue
	case nullValue, ineffectiveNull:
		return nil
	case presenceValue, unlistedPresence:
		return Presence{}
	default:
		value := l.other(i)
		if v := reflect.ValueOf(value); v.Kind() == reflect.Pointer {
			return plainValue(v)
		}
		return value // nil in a map of any values
	}
}

// The methods below are the merger's side of the log. Without Options.Owners, each costs one comparison.

var scalarType = &schema.Type{Kind: schema.Scalar}

// field returns the node of a struct's field.
func (m *merger) field(at node, f *schema.StructField) node {
	if !m.owners {
		return noNode
	}
	return m.log.child(at, f, "")
}

// keyed returns the node of an entry or element.
func (m *merger) keyed(at node, key string) node {
	if !m.owners {
		return noNode
	}
	return m.log.child(at, nil, key)
}

func (m *merger) untouched(at node) bool { return m.owners && m.log.nodes[at].first < 0 }

// recordBase records the runtime's value when a patch is the first to touch a field.
func (m *merger) recordBase(at node, t *schema.Type, old reflect.Value, present bool) {
	if !m.owners || m.inNew || !present {
		return
	}
	if old.Kind() == reflect.Pointer || old.Kind() == reflect.Slice {
		if old.IsNil() {
			return
		}
	}
	if t.Kind != schema.Scalar && t.Kind != schema.Atomic {
		m.recordRemoved(t, nil, at, old)
	} else if m.untouched(at) {
		m.log.addValue(at, baseLayer, old)
	}
}

// recordRemoved records the fields set within a value that a patch is about to remove.
func (m *merger) recordRemoved(t *schema.Type, key *schema.StructField, at node, old reflect.Value) {
	if m.owners && !m.inNew {
		writer{log: m.log, onlyRemoved: true}.value(t, key, at, pointee(old), reflect.Value{})
	}
}

func (m *merger) claim(at node, value reflect.Value) {
	m.claimed++
	if m.owners {
		m.log.addValue(at, m.layer, value)
	}
}

func (m *merger) claimNull(at node) {
	m.claimed++
	if m.owners {
		m.log.add(at, m.layer, nullValue, "")
	}
}

// presence claims the presence of an item, an element or an empty struct.
func (m *merger) presence(at node, present bool) {
	m.claimed++
	if !m.owners {
		return
	}
	if present && !m.inNew && m.untouched(at) && !m.log.isCreated(at) {
		m.log.add(at, baseLayer, presenceValue, "")
	}
	m.log.add(at, m.layer, presenceValue, "")
}

// markCreated records that a patch creates a missing item or struct.
func (m *merger) markCreated(at node) {
	if m.owners {
		m.log.nodes[at].createdBy = m.layer
	}
}

// isCreated reports whether a patch created the field or one that contains it.
func (l *log) isCreated(at node) bool {
	for ; at != noNode; at = l.nodes[at].parent {
		if l.nodes[at].createdBy != baseLayer {
			return true
		}
	}
	return false
}
