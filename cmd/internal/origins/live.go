package origins

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
