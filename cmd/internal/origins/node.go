package origins

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/trainweld/trainweld/fieldpath"
)

// Claim is what an operation says about a value: its text, or, for a map or a list, that it is
// there.
type Claim struct {
	Operation int                // the index in Trace.Operations
	Value     any                `json:",omitempty"` // nil for a map and a list
	Gone      bool               `json:",omitempty"` // the operation removes it
	At        fieldpath.Position // in a file relative to the built directory
	From      *Copied            `json:",omitempty"` // of a replacement
}

// Copied is the field whose value a replacement copies.
type Copied struct {
	Kind, Name, Field string
	At                fieldpath.Position // of its value
}

// Node is a value of an object with its claims, in the order of the operations. It never changes:
// two kustomizations may share their base.
type Node struct {
	Claims []Claim
	Fields map[string]*Node `json:",omitempty"`
	Items  []*Node          `json:",omitempty"`
	value  any              // as decoded JSON
}

// IsGone reports whether the last operation that wrote the value removed it.
func (n *Node) IsGone() bool {
	return n == nil || len(n.Claims) > 0 && n.Claims[len(n.Claims)-1].Gone
}

// IsLeaf reports whether the value has no parts.
func (n *Node) IsLeaf() bool {
	for _, f := range n.Fields {
		if !f.IsGone() {
			return false
		}
	}
	return len(n.Items) == 0
}

// write is what an operation says about a value. An operation that is sure writes the value also
// where that changes nothing.
type write struct {
	at   fieldpath.Position
	sure bool
	from *Copied
}

// writer records what one operation does to one object.
type writer struct {
	operation int
	at        fieldpath.Position // of the operation itself
	writes    map[string]write   // by the path of the value
}

// claim returns the claim of the operation on the value at a path.
func (w *writer) claim(path string, value any) Claim {
	c := Claim{Operation: w.operation, At: w.at}
	if at, ok := w.writes[path]; ok {
		c.At, c.From = at.at, at.from
	}
	if !isContainer(value) {
		c.Value = value
	}
	return c
}

func isContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// isEmpty reports whether a map or a list has no parts.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// below returns the path of a field or an item.
func below(path, step string) string { return path + "\x00" + step }

func item(path string, i int) string { return below(path, strconv.Itoa(i)) }

// update returns the node of a value after the operation. The node before may be nil.
func (w *writer) update(n *Node, path string, after any) *Node {
	if n == nil {
		return w.fill(&Node{}, path, after, true)
	}
	changes := n.IsGone() || !reflect.DeepEqual(n.value, after)
	if !changes && len(w.writes) == 0 {
		return n
	}
	made := &Node{Claims: n.Claims, Fields: n.Fields, Items: n.Items}
	says := w.writes[path].sure || isEmpty(after) && !isEmpty(n.value)
	if isContainer(after) && reflect.TypeOf(n.value) == reflect.TypeOf(after) && !n.IsGone() {
		return w.fill(made, path, after, says)
	}
	return w.fill(made, path, after, says || changes)
}

// fill updates the claims and the parts of a node. The parameter says tells whether the operation
// claims the value itself.
func (w *writer) fill(n *Node, path string, after any, says bool) *Node {
	if says {
		n.Claims = append(slices.Clip(n.Claims), w.claim(path, after))
	}
	before := n.Fields
	n.value, n.Fields = after, nil
	switch after := after.(type) {
	case map[string]any:
		n.Fields, n.Items = make(map[string]*Node, len(after)), nil
		for key, value := range after {
			n.Fields[key] = w.update(before[key], below(path, key), value)
		}
		for key, old := range before {
			if _, stays := after[key]; !stays {
				gone := w.claim(below(path, key), nil)
				gone.Gone = true
				n.Fields[key] = old.removed(gone)
			}
		}
	case []any:
		items := align(n.Items, after)
		n.Items = make([]*Node, len(after))
		for i, value := range after {
			n.Items[i] = w.update(items[i], item(path, i), value)
		}
	default:
		n.Items = nil
	}
	return n
}

// removed returns the node of a value that an operation removed with its fields, which keep their
// history.
func (n *Node) removed(gone Claim) *Node {
	if n.IsGone() {
		return n
	}
	made := &Node{Claims: append(slices.Clip(n.Claims), gone)}
	if n.Fields != nil {
		made.Fields = make(map[string]*Node, len(n.Fields))
	}
	for key, field := range n.Fields {
		made.Fields[key] = field.removed(gone)
	}
	return made
}

// align returns the node before the operation of each item after it, or nil for a new one. Equal
// items keep their order. Between them, items with the same key are the same item.
func align(before []*Node, after []any) []*Node {
	found := make([]*Node, len(after))
	first, end, last := 0, len(before), len(after)
	for first < min(end, last) && reflect.DeepEqual(before[first].value, after[first]) {
		found[first] = before[first]
		first++
	}
	for end > first && last > first && reflect.DeepEqual(before[end-1].value, after[last-1]) {
		end, last = end-1, last-1
		found[last] = before[end]
	}
	left := slices.Clone(before[first:end])
	pair := func(same func(old, new any) bool) {
		for i := first; i < last; i++ {
			if found[i] != nil {
				continue
			}
			for j, n := range left {
				if n != nil && same(n.value, after[i]) {
					found[i], left[j] = n, nil
					break
				}
			}
		}
	}
	pair(func(old, new any) bool { return reflect.DeepEqual(old, new) })
	pair(haveSameKey)
	if end-first == last-first { // a change of the items themselves
		for i := range left {
			if found[first+i] == nil {
				found[first+i] = left[i]
			}
		}
	}
	return found
}

// itemKeys are the fields by which lists of Kubernetes name their items.
var itemKeys = [...]string{
	"name", "manager", "mountPath", "devicePath", "containerPort", "port", "ip", "key", "type", "id",
}

// haveSameKey reports whether two items have the same name, or the same other key without one.
func haveSameKey(old, new any) bool {
	a, isMap := old.(map[string]any)
	b, isToo := new.(map[string]any)
	if !isMap || !isToo {
		return false
	}
	for _, key := range itemKeys {
		if a[key] != nil || b[key] != nil {
			return reflect.DeepEqual(a[key], b[key])
		}
	}
	return false
}

// child returns the value of a field, or an item, or nil.
func (n *Node) child(step fieldpath.Step) *Node {
	if name, ok := step.Name(); ok {
		return n.Fields[name]
	}
	if i, ok := step.Index(); ok {
		if i < 0 || i >= len(n.Items) {
			return nil
		}
		return n.Items[i]
	}
	element, isElement := step.Element()
	for _, item := range n.Items {
		if isElement && fmt.Sprint(item.Value()) == element ||
			step.Keys() != nil && !slices.ContainsFunc(step.Keys(), func(k fieldpath.ItemKey) bool {
				return fmt.Sprint(item.Fields[k.Name].Value()) != fmt.Sprint(k.Value)
			}) {
			return item
		}
	}
	return nil
}

// Value returns the value of a scalar, or nil.
func (n *Node) Value() any {
	if n.IsGone() || len(n.Claims) == 0 {
		return nil
	}
	return n.Claims[len(n.Claims)-1].Value
}

// Live adds the state of an object in a cluster as one operation more. Both states are decoded
// JSON: the object as it was built, and as it is. It returns the operation, which claims what
// differs.
func (t *Trace) Live(object int, built, live any) int {
	t.Operations = append(t.Operations, Operation{Name: "live"})
	w := writer{operation: len(t.Operations) - 1}
	n := t.Objects[object]
	n.restore(built)
	t.Objects[object] = w.update(n, "", live)
	return w.operation
}

// restore sets the values of a node that another process has sent.
func (n *Node) restore(value any) {
	if n == nil {
		return
	}
	n.value = value
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			n.Fields[key].restore(inner)
		}
	case []any:
		for i := range min(len(value), len(n.Items)) {
			n.Items[i].restore(value[i])
		}
	}
}
