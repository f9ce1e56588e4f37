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
	// where an owner's patch stands in its document, nil for a later layer
	places    []fieldpath.Path
	rename    func(Claim) Claim // nil keeps claims as they are
	managers  int32             // how many of the owners are managers, from 1 on
	ids       []int32           // the number of each patch's owner
	owners    []int32           // the numbers of a live object's owners
	top       *node             // the whole value
	reached   []*node           // all nodes, in the order in which owners reached them
	room      []node            // of which the next nodes take theirs
	claims    int32             // how many claims were made
	decisions []Note            // of all policies
	baseWins  bool              // whether the base wins over all patches
	live      bool              // whether the base is a live object, whose owners claim what they own
	again     *again
	reordered bool // whether the patches merged in another order than the given one
}

// again is what a history keeps to merge its patches in another order.
type again struct {
	plan    *plan
	base    any
	patches []layered
	trees   []Object // of the patches; nil for a JSON patch
	of      []int32  // the owners of the patches
	options *options
}

// A node is a field that an owner reached.
type node struct {
	parent   *node
	typ      *schema.Type        // how the field merges
	field    *schema.StructField // the step to a field, or nil for a step by key
	key      string              // the merge key, map key or set element, by the parent's type
	children []*node
	byKey    map[string]*node // the children by key, nil for few of them
	claims   []claim
	first    [1]claim // the memory of claims while there is one, as there mostly is
	// active is the number of the first claim that counts in a merge of objects. A patch has taken
	// the field from the earlier ones.
	active int32
	// createdBy is the owner of the patch that created the item or the struct, or 0 for none. The
	// base owns nothing in such an item or struct.
	createdBy int32
	ruling    *ruling        // nil for none
	displaced []displacement // of a live object
	nulledBy  int32          // the owner whose apply left a field of a live object null, 0 for none
}

// claim records one owner's write to one field.
type claim struct {
	number int32 // how many claims were made before
	layer  int32
	kind   valueKind
	value  any
	source fieldpath.Path // of a claim that Record records; nil for none
}

// A ruling is a policy's decision against the last claim on a field.
type ruling struct {
	claim *claim // in force, nil for none
	layer int32  // the owner that removed the field then
	after int32  // how many claims were made before
}

// A displacement states that an apply changed a field that another owner had.
type displacement struct {
	claim claim // the owner's
	by    int32 // the owner of the apply
	after int32 // how many claims were made before the apply's
}

type valueKind uint8

const (
	plainValue valueKind = iota
	nullValue
	presenceValue
	ineffectiveNull  // a null that removes nothing
	unlistedPresence // a presence that no set of fields names
	absentValue      // a field that a live object lacks and that has an owner
)

const baseLayer = 0

func newLog(root *schema.Type, patches int, o *options) *log {
	l := &log{
		root:   root,
		layers: make([]Owner, 1, patches+1),
		places: make([]fieldpath.Path, 1, patches+1),
		ids:    make([]int32, patches),
		room:   make([]node, manyChildren),
	}
	l.top = l.grow(node{typ: root})
	l.layers[0], l.places[0] = o.base, o.at
	if o.at == nil {
		l.places[0] = fieldpath.Path{}
	}
	return l
}

// logOf returns an empty log for patches.
func logOf(root *schema.Type, patches []layered, o *options, owners ...Owner) *log {
	l := newLog(root, len(patches), o)
	l.baseWins = o.precedence == baseWins
	for _, owner := range owners {
		l.owners = append(l.owners, l.layerID(owner))
	}
	known := l.byOwner()
	for i := range patches {
		layer := patches[i].Owner
		if name, ok := layer.Manager(); ok && o.live && patches[i].isUpdate() {
			layer = updated(name)
		}
		id, isKnown := known[layer]
		if !isKnown {
			id = l.addLayer(layer)
			known[layer] = id
		}
		l.ids[i] = id
		l.from(id, patches[i].At)
	}
	for _, owner := range l.owners {
		l.from(owner, l.places[baseLayer])
	}
	l.managers = int32(len(l.layers) - 1)
	return l
}

// updated returns the owner of a manager's updates. Its applies have other fields.
func updated(manager string) Owner { return Manager(manager + " (Update)") }

// byOwner returns the numbers of the owners. To look for one among many takes longer.
func (l *log) byOwner() map[Owner]int32 {
	numbers := make(map[Owner]int32, len(l.layers))
	for i, layer := range l.layers {
		numbers[layer] = int32(i)
	}
	return numbers
}

// layerID returns the number of an owner. It adds an unknown owner to the log.
func (l *log) layerID(layer Owner) int32 {
	if i := slices.Index(l.layers, layer); i >= 0 {
		return int32(i)
	}
	return l.addLayer(layer)
}

func (l *log) addLayer(layer Owner) int32 {
	l.layers, l.places = append(l.layers, layer), append(l.places, nil)
	return int32(len(l.layers) - 1)
}

// from records where the patch of an owner stands in its document.
func (l *log) from(layer int32, place fieldpath.Path) {
	if l.places[layer] == nil {
		l.places[layer] = append(fieldpath.Path{}, place...)
	}
}

// manyChildren is the number of children above which a node finds them by a map.
const manyChildren = 32

// grow adds a node, to its parent if it has one.
func (l *log) grow(n node) *node {
	if len(l.room) == 0 {
		l.room = make([]node, manyChildren)
	}
	child, at := &l.room[0], n.parent
	l.room = l.room[1:]
	*child, l.reached = n, append(l.reached, child)
	if at == nil {
		return child
	}
	if at.children == nil {
		at.children = make([]*node, 0, 4)
	}
	at.children = append(at.children, child)
	switch {
	case at.byKey != nil && child.field == nil:
		at.byKey[child.key] = child
	case at.byKey == nil && len(at.children) > manyChildren:
		at.byKey = make(map[string]*node, 4*manyChildren)
		for _, of := range at.children {
			if of.field == nil {
				at.byKey[of.key] = of
			}
		}
	}
	return child
}
