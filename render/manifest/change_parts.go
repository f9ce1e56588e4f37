package manifest

import (
	"cmp"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/jsonfields"
	"github.com/trainweld/trainweld/render/manifest/internal/encode"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// changer changes one object. It changes a tree of parts first, and then derives the edits of the text from it.
type changer struct {
	*source.Reading
	*source.Layout
	at      fieldpath.Path // the path of the object in the source
	root    *part
	aliases []*yaml.Node        // every alias of the text, in the order of what they refer to
	spans   map[*yaml.Node]span // of all nodes, if there are aliases
	targets map[*yaml.Node]bool // what they refer to
	added   int                 // the number of changes that no index of a list follows: an index of before is old
	// replaced is the part that got another name and value. The map used has the keys and items of the text whose comments are
	// in the new value. The comments in lost have no place, and go above it.
	replaced *part
	used     map[*yaml.Node]bool
	lost     []string
	undone   []func() // restore the parts as they were before the present changes, the last one first
}

// undo restores the parts as they were before the last changes that were tried.
func (c *changer) undo() {
	for _, restore := range slices.Backward(c.undone) {
		restore()
	}
	c.undone = c.undone[:0]
}

// recordUndo lets undo restore a part.
func (c *changer) recordUndo(p *part) {
	was := *p
	c.undone = append(c.undone, func() { *p = was })
}

// part is a field with its value, an item of a list, or the root.
type part struct {
	key, node *yaml.Node // of the text; nil for a new part. An item has no key.
	name, was string     // the name of a field now and in the text
	// value is the new value. Without it, the value comes from the node, or from the parts if they are known.
	value    *encode.Value
	parts    []*part
	kind     encode.Kind // of the parts
	isKnown  bool        // parts holds the parts of the value
	isGone   bool
	isMerged bool // comes from a merge key
	isMoved  bool // has its comments elsewhere
	lost     bool // a part of it was removed or moved away
	// byStep holds the parts at the steps of one form, which stepForm names, while added stays the same.
	byStep   map[string][]*part
	stepForm string
	added    int
	renamed  map[string]*part // the parts with a new name
}

// join adds a part to p. The parameter list is the list whose item p is, if any.
func (c *changer) join(p, child, list *part) {
	if list != nil && list.stepForm == child.name {
		list.byStep = nil
	}
	n := len(p.parts)
	p.parts = append(p.parts, child)
	text, isIndexed := "", false
	if p.byStep != nil {
		if text, isIndexed = c.textAt(child, p.stepForm); isIndexed {
			p.byStep[text] = append(p.byStep[text], child)
		}
	}
	index := p.byStep
	c.undone = append(c.undone, func() {
		if p.parts = p.parts[:n]; isIndexed {
			index[text] = index[text][:len(index[text])-1]
		}
		if list != nil && list.stepForm == child.name {
			list.byStep = nil
		}
	})
}

// span numbers a node, and the last one within it, in the order of the text.
type span struct{ first, last int }

// findAliases collects the aliases of the text.
func (c *changer) findAliases() {
	c.spans, c.targets = map[*yaml.Node]span{}, map[*yaml.Node]bool{}
	next := 0
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		of := span{first: next}
		next++
		if n.Kind == yaml.AliasNode {
			c.aliases = append(c.aliases, n)
			c.targets[n.Alias] = true
		}
		for _, child := range n.Content {
			walk(child)
		}
		of.last = next - 1
		c.spans[n] = of
	}
	walk(c.root.node)
	slices.SortFunc(c.aliases, func(a, b *yaml.Node) int { return cmp.Compare(c.spans[a.Alias].first, c.spans[b.Alias].first) })
}

// loadParts loads the parts of a value.
func (c *changer) loadParts(p *part) {
	if p.isKnown || p.value != nil || p.node == nil {
		return
	}
	switch n := source.Target(p.node); n.Kind {
	case yaml.MappingNode:
		p.isKnown, p.kind = true, encode.Object
		entries, _ := c.Entries(n)
		for _, e := range entries {
			if e.Err == nil {
				p.parts = append(p.parts, &part{key: e.Key, node: e.Value, name: e.Name, was: e.Name, isMerged: e.Merged})
			}
		}
	case yaml.SequenceNode:
		p.isKnown, p.kind = true, encode.Array
		for _, item := range n.Content {
			p.parts = append(p.parts, &part{node: item})
		}
	}
}

// isNull reports whether the text has no value for a part.
func (c *changer) isNull(p *part) bool {
	return p.value == nil && !p.isKnown && p.node != nil && p.node.Kind == yaml.ScalarNode && c.IsNull(p.node)
}

// reject returns an error if the part is gone, or if other parts of the text share its value.
func (c *changer) reject(p *part) error {
	switch {
	case p.isGone:
		return errOverlap
	case p.isMerged || p.node != nil && p.node.Kind == yaml.AliasNode:
		return errShared
	case c.targets[p.node]:
		return errAnchor
	}
	return nil
}

// rejectInside returns an error if other parts of the text refer to a part of a value.
func (c *changer) rejectInside(p *part) error {
	if len(c.aliases) == 0 || p.node == nil {
		return nil
	}
	within := c.spans[p.node]
	if p.key != nil {
		within.first = c.spans[p.key].first
	}
	i, _ := slices.BinarySearchFunc(c.aliases, within.first, func(a *yaml.Node, first int) int { return cmp.Compare(c.spans[a.Alias].first, first) })
	for _, a := range c.aliases[i:] {
		if c.spans[a.Alias].first > within.last {
			break
		}
		if at := c.spans[a].first; at < within.first || at > within.last {
			return errAnchor
		}
	}
	return nil
}

// matches returns the parts that a step leads to: several ones for duplicates.
func (c *changer) matches(p *part, step fieldpath.Step) []*part {
	c.loadParts(p)
	if i, ok := step.Index(); ok {
		if p.kind == encode.Array && i >= 0 && i < len(p.parts) && p.parts[i].node != nil {
			return p.parts[i : i+1]
		}
		return nil
	}
	if form, text, ok := c.formOf(p, step); ok {
		if p.byStep == nil || p.stepForm != form || p.added != c.added {
			p.byStep, p.stepForm, p.added = map[string][]*part{}, form, c.added
			for _, child := range p.parts {
				if at, ok := c.textAt(child, form); ok {
					p.byStep[at] = append(p.byStep[at], child)
				}
			}
		}
		return p.byStep[text]
	}
	var found []*part
	for _, child := range p.parts {
		if c.isAt(p, child, step) {
			found = append(found, child)
		}
	}
	return found
}

// fewestIndexed is the number of parts from which an index of them pays off.
const fewestIndexed = 8

// formOf returns the form of a step by which parts are indexed, and the text of the step. The form is "" for the name of a field, and else
// the merge key of an item.
func (c *changer) formOf(p *part, step fieldpath.Step) (form, text string, ok bool) {
	if len(p.parts) < fewestIndexed {
		return "", "", false
	}
	if name, ok := step.Name(); ok {
		return "", name, p.kind == encode.Object
	}
	if keys := step.Keys(); len(keys) == 1 && p.kind == encode.Array {
		want, err := encoded(keys[0].Value)
		if err != nil {
			return "", "", false
		}
		return keys[0].Name, want.Text, true
	}
	return "", "", false
}

// textAt returns the text that a step of the form has if it leads to a part. For any step, see isAt.
func (c *changer) textAt(child *part, form string) (string, bool) {
	if form == "" {
		if child.key != nil {
			return child.was, true
		}
		return child.name, true
	}
	c.loadParts(child)
	i := slices.IndexFunc(child.parts, func(m *part) bool { return m.key != nil && m.was == form || m.key == nil && m.name == form })
	if i < 0 {
		return "", false
	}
	return c.scalar(child.parts[i])
}

// isAt reports whether a step leads to a part.
func (c *changer) isAt(p, child *part, step fieldpath.Step) bool {
	if name, ok := step.Name(); ok {
		return p.kind == encode.Object && (child.key != nil && child.was == name || child.key == nil && child.name == name)
	}
	if p.kind != encode.Array {
		return false
	}
	if element, ok := step.Element(); ok {
		text, isScalar := c.scalar(child)
		return isScalar && text == element
	}
	for _, key := range step.Keys() {
		c.loadParts(child)
		i := slices.IndexFunc(child.parts, func(m *part) bool { return m.key != nil && m.was == key.Name || m.key == nil && m.name == key.Name })
		if i < 0 {
			return false
		}
		want, err := encoded(key.Value)
		if got, isScalar := c.scalar(child.parts[i]); err != nil || !isScalar || got != want.Text {
			return false
		}
	}
	return true
}

// scalar returns the scalar of a part in the text, or of a new part.
func (c *changer) scalar(p *part) (string, bool) {
	if p.node != nil {
		return c.Text(p.node)
	}
	if p.value != nil && (p.value.Kind == encode.Text || p.value.Kind == encode.Literal) {
		return p.value.Text, true
	}
	return "", false
}

// find returns the parts at a path from the parent of the root on, with the last one's duplicates.
func (c *changer) find(path fieldpath.Path) (around []*part, found []*part, err error) {
	found = []*part{c.root}
	full := c.at.Append(path...)
	for i, step := range full {
		if err := c.reject(found[0]); err != nil {
			return nil, nil, err
		}
		around = append(around, found[0])
		if found = c.matches(found[0], step); len(found) == 0 {
			return nil, nil, errMissing
		}
		if len(found) > 1 && i < len(full)-1 {
			return nil, nil, errDiffers
		}
	}
	return around, found, nil
}

// one is find for a field without duplicates.
func (c *changer) one(path fieldpath.Path) (around []*part, p *part, err error) {
	around, found, err := c.find(path)
	switch {
	case err != nil:
		return nil, nil, err
	case len(found) > 1:
		return nil, nil, errDiffers
	case len(around) == 0:
		return nil, nil, errEmptyObject
	}
	return around, found[0], c.reject(found[0])
}

// prune removes the maps and lists that became empty.
func (c *changer) prune(p *part) {
	rest := 0
	for _, child := range p.parts {
		if !child.isGone {
			c.prune(child)
			p.lost = p.lost || child.isGone
		}
		if !child.isGone {
			rest++
		}
	}
	p.isGone = p.isGone || p.isKnown && p.lost && rest == 0
}

// encoded returns a JSON value for writing.
func encoded(value any) (*encode.Value, error) {
	e := &encode.Encoder{Structs: jsonfields.Structs{}}
	return e.Value(reflect.ValueOf(value))
}
