package merge

import "github.com/trainweld/trainweld/schema"

// lookup finds the child of a node by field, or by key if field is nil.
func (l *log) lookup(at node, field *schema.StructField, key string) node {
	if at == noNode {
		return noNode
	}
	child := l.nodes[at].child
	for child != noNode &&
		(l.nodes[child].field != field || field == nil && l.nodes[child].key != key) {
		child = l.nodes[child].next
	}
	return child
}

// finder returns a function that finds many children of a node by their keys. It changes nothing.
func (l *log) finder(at node) func(key string) node {
	if at == noNode || l.nodes[at].children <= wideNode {
		return func(key string) node { return l.lookup(at, nil, key) }
	}
	index := childIndex{byKey: map[string]node{}}
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		index.byKey[l.nodes[child].key] = child
	}
	return index.find
}

// child finds the child of a node as lookup does, or adds it.
func (l *log) child(at node, field *schema.StructField, key string) node {
	found := noNode
	if field == nil && l.nodes[at].children > wideNode {
		found = l.indexOf(at).find(key)
	} else {
		found = l.lookup(at, field, key)
	}
	if found == noNode {
		found = l.grow(at, field, key)
	}
	return found
}

// grow adds a child that the node lacks.
func (l *log) grow(at node, field *schema.StructField, key string) node {
	child := node(len(l.nodes))
	parent := &l.nodes[at]
	if parent.tail == noNode {
		parent.child = child
	} else {
		l.nodes[parent.tail].next = child
	}
	parent.tail = child
	parent.children = min(parent.children+1, wideNode+1)
	l.nodes = append(
		l.nodes, pathNode{parent: at, child: noNode, tail: noNode, next: noNode, first: -1,
			last: -1, field: field, key: key})
	return child
}

// indexOf returns the up-to-date index of a node's children.
func (l *log) indexOf(at node) *childIndex {
	index := l.wide[at]
	if index == nil {
		if l.wide == nil {
			l.wide = map[node]*childIndex{}
		}
		index = &childIndex{byKey: make(map[string]node, 4*wideNode), last: noNode}
		l.wide[at] = index
	}
	next := l.nodes[at].child
	if index.last != noNode {
		next = l.nodes[index.last].next
	}
	for ; next != noNode; next = l.nodes[next].next {
		index.byKey[l.nodes[next].key], index.last = next, next
	}
	return index
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

// childNames returns the names of the fields that the log has within a node. For entries and items,
// it returns their keys.
func (l *log) childNames(at node) []string {
	var names []string
	if at != noNode {
		for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
			names = append(names, l.name(child))
		}
	}
	return names
}

// creatorOf returns the layer that owns the presence of a field without claims of its own. That is
// the patch that created it, or the base.
func (l *log) creatorOf(at node) int32 {
	for created := at; created != noNode; created = l.nodes[created].parent {
		if l.nodes[created].createdBy != baseLayer {
			return l.nodes[created].createdBy
		}
	}
	return baseLayer
}
