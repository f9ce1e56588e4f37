package merge

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/schema"
)

// log is what the patches claimed, in the order of writing, on a tree of the fields that they
// touched. It grows with what the patches say and not with the template: what the runtime set and
// no patch touched stands in the merged template itself.
type log struct {
	layers   []schema.Layer
	managers int32   // how many of layers are managers', from 1 on
	ids      []int32 // the layer of each patch
	nodes    []pathNode
	claims   []claim
	wide     map[node]map[string]node // children by key, of nodes that have many
	keys     []string                 // scratch
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
	// contested is set when two managers claimed different values here, or one a null.
	contested bool
	children  int32
	typ       *schema.Type
	field     *schema.StructField // the step to a field, else
	key       string              // the merge key, map key or set element, by the parent's kind
}

// claim is one layer's write to one field.
type claim struct {
	at, layer int32
	next      int32 // the next claim on the same field
	kind      valueKind
	text      string
	any       any
}

type valueKind uint8

const (
	anyValue valueKind = iota
	textValue
	nullValue
	presenceValue
)

const runtimeLayer = 0

func newLog(patches []trainer.RuntimePatch) *log {
	l := &log{
		layers: make([]schema.Layer, 1, len(patches)+1),
		ids:    make([]int32, len(patches)),
		// A guess at what patches of usual size say: growing costs more than a guess that is too high.
		nodes:  make([]pathNode, 1, 64+40*len(patches)),
		claims: make([]claim, 0, 32+48*len(patches)),
	}
	l.layers[0] = schema.Runtime
	for i := range patches {
		// Two patches of one manager, which schema.Check refuses, are one layer: nobody disagrees with
		// himself.
		l.ids[i] = l.layerID(schema.Manager(patches[i].Manager))
	}
	l.managers = int32(len(l.layers) - 1)
	l.nodes[0] = pathNode{parent: noNode, child: noNode, tail: noNode, next: noNode, first: -1, last: -1, typ: schema.JobSetTemplate()}
	return l
}

// sorted returns the keys of a map in order, valid until the next call.
func (l *log) sorted(m map[string]string) []string {
	l.keys = l.keys[:0]
	for key := range m {
		l.keys = append(l.keys, key)
	}
	slices.Sort(l.keys)
	return l.keys
}

// wideNode is the number of children from which a node gets an index.
const wideNode = 16

// lookup finds the child of a node by field, or by key where field is nil.
func (l *log) lookup(at node, field *schema.StructField, key string) node {
	if at == noNode {
		return noNode
	}
	if field == nil && l.nodes[at].children > wideNode {
		if child, ok := l.wide[at][key]; ok {
			return child
		}
		return noNode
	}
	child := l.nodes[at].child
	for child != noNode && (l.nodes[child].field != field || l.nodes[child].key != key) {
		child = l.nodes[child].next
	}
	return child
}

func (l *log) child(at node, field *schema.StructField, key string) node {
	if found := l.lookup(at, field, key); found != noNode {
		return found
	}
	child := node(len(l.nodes))
	parent := &l.nodes[at]
	n := pathNode{parent: at, child: noNode, tail: noNode, next: noNode, first: -1, last: -1, field: field, key: key}
	if field != nil {
		n.typ = field.Type
	} else {
		n.typ = parent.typ.Elem
	}
	if parent.tail == noNode {
		parent.child = child
	} else {
		l.nodes[parent.tail].next = child
	}
	parent.tail = child
	parent.children++
	l.nodes = append(l.nodes, n)
	if field == nil && l.nodes[at].children > wideNode {
		l.indexChild(at, child)
	}
	return child
}

func (l *log) indexChild(at, child node) {
	if l.wide == nil {
		l.wide = map[node]map[string]node{}
	}
	if l.wide[at] == nil {
		l.wide[at] = make(map[string]node, 4*wideNode)
		for other := l.nodes[at].child; other != noNode; other = l.nodes[other].next {
			l.wide[at][l.nodes[other].key] = other
		}
	}
	l.wide[at][l.nodes[child].key] = child
}

func (l *log) add(at node, c claim) {
	n := &l.nodes[at]
	i := int32(len(l.claims))
	c.at, c.next = int32(at), -1
	if n.first < 0 {
		n.first = i
	} else {
		last := &l.claims[n.last]
		n.contested = n.contested || l.isManager(last.layer) && l.isManager(c.layer) && last.layer != c.layer && !last.equal(&c)
		last.next = i
	}
	n.last = i
	l.claims = append(l.claims, c)
}

// isManager reports whether the layer is a manager's patch: the runtime comes before them, and the
// layers that Write records come after.
func (l *log) isManager(layer int32) bool { return layer > runtimeLayer && layer <= l.managers }

// equal compares two values as the cluster sees them: 1Gi is 1024Mi.
func (c *claim) equal(d *claim) bool {
	if c.kind != d.kind {
		return false
	}
	switch c.kind {
	case textValue:
		return c.text == d.text
	case anyValue:
		return sameValue(c.any, d.any)
	default:
		return true
	}
}

// sameValue compares two values by their encoding.
func sameValue(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// value is what a reader of the claim sees.
func (c *claim) value() any {
	switch c.kind {
	case textValue:
		return c.text
	case nullValue:
		return nil
	case presenceValue:
		return schema.Presence{}
	default:
		if v := reflect.ValueOf(c.any); v.Kind() == reflect.Pointer {
			return v.Elem().Interface()
		}
		return c.any
	}
}

// claimOf is a claim with the value of a field.
func claimOf(layer int32, v reflect.Value) claim {
	switch v.Kind() {
	case reflect.String:
		return claim{layer: layer, kind: textValue, text: v.String()}
	case reflect.Bool:
		return claim{layer: layer, any: v.Bool()}
	default:
		return claim{layer: layer, any: v.Interface()}
	}
}

// The methods below are the merger's side of the log. Without a log each is one comparison.

var scalar = &schema.Type{Kind: schema.Scalar}

func (m *merger) field(at node, f *schema.StructField) node {
	if m.log == nil {
		return noNode
	}
	return m.log.child(at, f, "")
}

func (m *merger) keyed(at node, key string) node {
	if m.log == nil {
		return noNode
	}
	return m.log.child(at, nil, key)
}

func (m *merger) untouched(at node) bool { return m.log != nil && m.log.nodes[at].first < 0 }

// keepOld notes what the runtime set, when a patch is the first to touch a field.
func (m *merger) keepOld(at node, t *schema.Type, old reflect.Value, present bool) {
	if m.log == nil || m.fresh || !present {
		return
	}
	if old.Kind() == reflect.Pointer || old.Kind() == reflect.Slice {
		if old.IsNil() {
			return
		}
	}
	if t.Kind == schema.Struct {
		m.log.keepStruct(at, t, old)
	} else if m.untouched(at) {
		m.log.add(at, claimOf(runtimeLayer, old))
	}
}

// keepStruct notes what the runtime set in a struct that a null is about to empty. The structs that
// a null can reach hold scalars only.
func (l *log) keepStruct(at node, t *schema.Type, old reflect.Value) {
	if old.Kind() == reflect.Pointer {
		old = old.Elem()
	}
	empty := true
	for _, f := range t.Fields {
		v, encoded := f.Template.Of(old)
		if !encoded {
			continue
		}
		empty = false
		if child := l.child(at, f, ""); l.nodes[child].first < 0 {
			l.add(child, claimOf(runtimeLayer, v))
		}
	}
	if empty && l.nodes[at].first < 0 {
		l.add(at, claim{layer: runtimeLayer, kind: presenceValue})
	}
}

func (m *merger) keepOldText(at node, old string) {
	if m.untouched(at) {
		m.log.add(at, claim{layer: runtimeLayer, kind: textValue, text: old})
	}
}

func (m *merger) claim(at node, value reflect.Value) {
	if m.log != nil {
		m.log.add(at, claimOf(m.layer, value))
	}
}

func (m *merger) claimText(at node, text string) {
	if m.log != nil {
		m.log.add(at, claim{layer: m.layer, kind: textValue, text: text})
	}
}

func (m *merger) claimNull(at node) {
	if m.log != nil {
		m.log.add(at, claim{layer: m.layer, kind: nullValue})
	}
}

// presence claims that an item, an element or an empty struct is there.
func (m *merger) presence(at node, present bool) {
	if m.log == nil {
		return
	}
	if present && !m.fresh && m.untouched(at) {
		m.log.add(at, claim{layer: runtimeLayer, kind: presenceValue})
	}
	m.log.add(at, claim{layer: m.layer, kind: presenceValue})
}
