package merge

import (
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file has the tree of the fields that owners reached. A node may be nil: no owner reached the
// field.

// find returns the child of a node by field, or by key if field is nil.
func (n *node) find(field *schema.StructField, key string) *node {
	if n == nil {
		return nil
	}
	if field == nil && n.byKey != nil {
		return n.byKey[key]
	}
	for _, child := range n.children {
		if child.field == field && (field != nil || child.key == key) {
			return child
		}
	}
	return nil
}

// within returns the fields directly within a node.
func (n *node) within() []*node {
	if n == nil {
		return nil
	}
	return n.children
}

// made returns the claims on a node.
func (n *node) made() []claim {
	if n == nil {
		return nil
	}
	return n.claims
}

// child finds the child of a node as find does, or adds it.
func (l *log) child(at *node, field *schema.StructField, key string) *node {
	if found := at.find(field, key); found != nil {
		return found
	}
	child := node{parent: at, field: field, key: key}
	if field != nil {
		child.typ = field.Type
	} else {
		child.typ = granular(at.typ).Elem
	}
	return l.grow(child)
}

// name returns the name of a field, or the key of an entry or an item.
func (n *node) name() string {
	if n.field != nil {
		return n.field.Name
	}
	return n.key
}

func (n *node) step() fieldpath.Step { return partStep(n.parent.typ, n.field, n.key) }

// path returns the path to a node in the value.
func (n *node) path() fieldpath.Path { return n.pathWithin(nil) }

// pathWithin returns the path from an outer node to a node within it. The outer one is nil for the
// whole value.
func (n *node) pathWithin(outer *node) fieldpath.Path {
	var path fieldpath.Path
	for ; n != outer && n.parent != nil; n = n.parent {
		path = append(path, n.step())
	}
	slices.Reverse(path)
	return path
}

// isPointer reports whether a field is a pointer. Only a pointer can be empty, or be removed whole.
func (n *node) isPointer() bool { return n.field != nil && n.field.IsPointer() }

// keyField returns the merge key of an item of a list-map, nil for another field. The path of a
// duplicate does not contain its key.
func (n *node) keyField() *schema.StructField {
	if n.field != nil || n.parent == nil || strings.HasPrefix(n.key, duplicateMark) {
		return nil
	}
	return n.parent.typ.KeyField()
}

// isWhole reports whether a field merges as one value. An entry of a Go map does.
func (n *node) isWhole() bool {
	return isWhole(n.typ) || n.field == nil && n.parent != nil && n.parent.typ.Kind == schema.Map
}

// childNames returns the names of the fields that the log has within a node. For entries and items,
// it returns their keys.
func (n *node) childNames() []string {
	var names []string
	for _, child := range n.within() {
		names = append(names, child.name())
	}
	return names
}

// creator returns the owner of the patch that created the field or one that contains it, or the
// base. It owns the presence of a field without claims.
func (n *node) creator() int32 {
	for ; n != nil; n = n.parent {
		if n.createdBy != baseLayer {
			return n.createdBy
		}
	}
	return baseLayer
}

// isWhole reports whether a field merges as one value.
func isWhole(t *schema.Type) bool { return t.Kind == schema.Scalar || t.Kind == schema.Atomic }
