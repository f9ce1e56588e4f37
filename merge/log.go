package merge

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// log records the claims of the patches in the order of writing, on a tree of the touched fields.
// It grows with the patches and not with the template. The merged template itself holds the
// runtime's fields that no patch touched.
type log struct {
	root   *schema.Type
	layers []Owner
	// where a layer's patch stands in its document, nil for a later layer
	places   []fieldpath.Path
	rename   func(Claim) Claim // nil keeps claims as they are
	managers int32             // how many of the layers are managers', from 1 on
	ids      []int32           // the layer of each patch
	owners   []int32           // the layers of a live object's owners
	nodes    []pathNode
	claims   []claim
	values   []anyValue
	wide     map[node]*childIndex
	sources  map[int32]fieldpath.Path // the sources of claims that Write records, by their index
	// overrulings are the decisions of policies against the last claim, and decisions lists what
	// all policies decided.
	overrulings map[node]overruling
	decisions   []Note
	baseWins    bool // whether the base wins over all patches
	live        bool // whether the base is a live object, whose owners have claimed what they own
	// displaced are the claims on the fields of a live object that an apply has taken.
	displaced map[node][]displacement
	nulled    map[node]int32 // the layers whose applies left a field of a live object null
	again     *again
	reordered bool // whether the patches merged in another order than the given one
}

// again is what a history keeps to merge its patches in another order.
type again struct {
	plan    *plan
	base    any
	patches []layered
	trees   []Object // of the patches; nil for a JSON patch
	of      []int32  // the layers of the patches
	options *options
}

// An overruling states that a policy decided against the last claim on a field.
type overruling struct {
	claim int32 // the claim in force, -1 for none
	layer int32 // the layer that removed the field then
	after int32 // how many claims were made before
}

// A displacement states that an apply changed a field that another owner had.
type displacement struct {
	claim int32 // the owner's
	by    int32 // the layer of the apply
	after int32 // how many claims were made before the apply's
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
	// firstActive is the first claim that counts in a merge of objects. A patch has taken the field
	// from the earlier ones.
	firstActive int32
	// createdBy is the layer of the patch that created the item or the struct, or 0 for none. The
	// base owns nothing in such an item or struct.
	createdBy int32
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

func (c *claim) layer() int32 { return int32(c.tag >> 8) }

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
	absentValue      // a field that a live object lacks and that has an owner
)

// anyValue is the value of a claim that is not a string.
type anyValue struct {
	claim int32
	value any
}

const baseLayer = 0

func newLog(root *schema.Type, patches int, o *options) *log {
	l := &log{
		root:   root,
		layers: make([]Owner, 1, patches+1),
		places: make([]fieldpath.Path, 1, patches+1),
		ids:    make([]int32, patches),
		nodes:  make([]pathNode, 1, 64+20*patches),
		claims: make([]claim, 0, 16+32*patches),
		values: make([]anyValue, 0, 8+4*patches),
	}
	l.layers[0], l.places[0] = o.base, o.at
	if o.at == nil {
		l.places[0] = fieldpath.Path{}
	}
	l.nodes[0] = pathNode{parent: noNode, child: noNode, tail: noNode, next: noNode, first: -1,
		last: -1}
	return l
}

// logOf returns an empty log for patches.
func logOf(root *schema.Type, patches []layered, o *options, owners ...Owner) *log {
	l := newLog(root, len(patches), o)
	l.baseWins = o.precedence == baseWins
	for _, owner := range owners {
		l.owners = append(l.owners, l.layerID(owner))
	}
	for i := range patches {
		layer := patches[i].Owner
		if name, ok := layer.Manager(); ok && o.live && patches[i].isUpdate() {
			layer = updated(name)
		}
		l.ids[i] = l.layerID(layer)
		l.from(l.ids[i], patches[i].At)
	}
	for _, owner := range l.owners {
		l.from(owner, l.places[baseLayer])
	}
	l.managers = int32(len(l.layers) - 1)
	return l
}

// updated returns the layer of a manager's updates. Its applies have other fields.
func updated(manager string) Owner { return Manager(manager + " (Update)") }

// layerID returns the number of a layer. It adds an unknown layer to the log.
func (l *log) layerID(layer Owner) int32 {
	i := slices.Index(l.layers, layer)
	if i < 0 {
		i = len(l.layers)
		l.layers, l.places = append(l.layers, layer), append(l.places, nil)
	}
	return int32(i)
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

// typ returns how the field at a node merges.
func (l *log) typ(at node) *schema.Type {
	n := &l.nodes[at]
	switch {
	case at == rootNode:
		return l.root
	case n.field != nil:
		return n.field.Type
	default:
		t := l.typ(n.parent)
		if t.Object != nil {
			t = t.Object
		}
		return t.Elem
	}
}

func (l *log) step(at node) fieldpath.Step {
	n := &l.nodes[at]
	return partStep(l.typ(n.parent), n.field, n.key)
}

// path returns the path to a node in the template.
func (l *log) path(at node) fieldpath.Path { return l.pathWithin(rootNode, at) }

// pathWithin returns the path from an outer node to a node within it.
func (l *log) pathWithin(outer, at node) fieldpath.Path {
	var path fieldpath.Path
	for ; at != outer; at = l.nodes[at].parent {
		path = append(path, l.step(at))
	}
	slices.Reverse(path)
	return path
}

// isPointer reports whether a field is a pointer. Only a pointer can be empty, or be removed whole.
func (l *log) isPointer(at node) bool {
	return l.nodes[at].field != nil && l.nodes[at].field.Template.IsPointer()
}

// encodesEmpty reports whether the encoding distinguishes an empty map or list from null.
func encodesEmpty(f *schema.StructField) bool {
	return f != nil && f.Type.Kind >= schema.Map && f.Type.Kind <= schema.Atomic &&
		(!f.Template.OmitEmpty || f.Template.IsPointer())
}

// wideNode is the number of children above which a node gets an index.
const wideNode = 32

// childIndex maps the children of a node, up to the last indexed one, by key.
type childIndex struct {
	byKey map[string]node
	last  node
}

func (i *childIndex) find(key string) node {
	if child, ok := i.byKey[key]; ok {
		return child
	}
	return noNode
}
