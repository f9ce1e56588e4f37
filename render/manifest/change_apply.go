package manifest

import (
	"encoding/json"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest/internal/encode"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// remove marks a field as gone, or all duplicates but the first.
func (c *changer) remove(path fieldpath.Path) error {
	around, found, err := c.find(path)
	if err != nil {
		return err
	}
	if len(path) == 0 {
		return errEmptyObject
	}
	if len(found) > 1 {
		for _, other := range found[1:] {
			if !reflect.DeepEqual(c.generic(found[0]), c.generic(other)) {
				return errDiffers
			}
		}
		found = found[1:]
	}
	for _, p := range found {
		if p.isGone {
			continue // another change removes it
		}
		if p.value != nil || p.name != p.was || p.isKnown && c.isChanged(p) {
			return errOverlap
		}
		if p.isMerged {
			return errShared
		}
		if err := c.rejectInside(p); err != nil {
			return err
		}
		c.recordUndo(p)
		c.recordUndo(around[len(around)-1])
		p.isGone = true
		around[len(around)-1].lost = true
	}
	return nil
}

// isChanged reports whether a change edits a part within p.
func (c *changer) isChanged(p *part) bool {
	return p.value != nil || p.node == nil || p.isGone || p.name != p.was || slices.ContainsFunc(p.parts, c.isChanged)
}

// set sets a field to a value, and adds its parents.
func (c *changer) set(path fieldpath.Path, v *encode.Value) error {
	if len(path) == 0 {
		return errEmptyObject
	}
	p, err := c.make(path)
	if err != nil {
		return err
	}
	return c.assign(p, v)
}

// make returns the part at a path. It adds missing parts.
func (c *changer) make(path fieldpath.Path) (*part, error) {
	p, list := c.root, (*part)(nil)
	for _, step := range c.at.Append(path...) {
		if err := c.reject(p); err != nil {
			return nil, err
		}
		found := c.matches(p, step)
		if len(found) == 0 {
			added, err := c.add(p, list, step)
			if err != nil {
				return nil, err
			}
			found = []*part{added}
		}
		if len(found) > 1 {
			return nil, errDiffers
		}
		list, p = p, found[0]
	}
	return p, c.reject(p)
}

// add adds the part of a step to p, which may be an item of a list.
func (c *changer) add(p, list *part, step fieldpath.Step) (*part, error) {
	name, isField := step.Name()
	kind := encode.Array
	if isField {
		kind = encode.Object
	}
	if !p.isKnown && (c.isNull(p) || p.node == nil && p.value == nil) {
		c.recordUndo(p)
		p.isKnown, p.kind = true, kind
	}
	if !p.isKnown || p.kind != kind {
		return nil, errStep
	}
	added := &part{name: name, was: name}
	element, isElement := step.ElementValue()
	switch keys := step.Keys(); {
	case isElement:
		v, err := encoded(element)
		if err != nil {
			return nil, err
		}
		added.value = v
	case len(keys) > 0:
		added.isKnown, added.kind = true, encode.Object
		for _, key := range keys {
			v, err := encoded(key.Value)
			if err != nil {
				return nil, err
			}
			added.parts = append(added.parts, &part{name: key.Name, was: key.Name, value: v})
		}
	case !isField:
		return nil, errMissing
	}
	c.join(p, added, list)
	return added, nil
}

// assign gives a part a new value. Equal parts keep their text.
func (c *changer) assign(p *part, v *encode.Value) error {
	if reflect.DeepEqual(c.generic(p), genericOf(v)) && !(p.node == nil && p.value == nil && !p.isKnown) {
		return nil
	}
	if p.value != nil || p.isKnown && c.isChanged(p) && p.node != nil {
		return errOverlap
	}
	if p.node == nil {
		return c.setValue(p, v)
	}
	if err := c.reject(p); err != nil {
		return err
	}
	c.loadParts(p)
	switch {
	case p.isKnown && p.kind == encode.Object && v.Kind == encode.Object && len(v.Entries) > 0 && len(p.parts) > 0:
		return c.assignEntries(p, v)
	case p.isKnown && p.kind == encode.Array && v.Kind == encode.Array && len(v.Items) > 0 && len(p.parts) > 0:
		return c.assignItems(p, v)
	}
	c.recordUndo(p)
	p.parts, p.isKnown, p.value, p.byStep = nil, false, v, nil
	if p.key == nil {
		c.added++ // an item, which has no parts to find it by any more
	}
	return c.rejectInside(p)
}

// setValue gives a new part its value. The keys of a new item stay.
func (c *changer) setValue(p *part, v *encode.Value) error {
	c.recordUndo(p)
	if !p.isKnown {
		p.value = v
		return nil
	}
	if p.kind != encode.Object || v.Kind != encode.Object {
		return errOverlap
	}
	p.byStep = nil
	names := map[string]*part{}
	for _, child := range p.parts {
		names[child.name] = child
	}
	for _, m := range v.Entries {
		if child := names[m.Key]; child == nil {
			p.parts = append(p.parts, &part{name: m.Key, was: m.Key, value: m.Value})
		} else if !reflect.DeepEqual(c.generic(child), genericOf(m.Value)) {
			return errOverlap
		}
	}
	return nil
}

func (c *changer) assignEntries(p *part, v *encode.Value) error {
	c.recordUndo(p)
	entries, has := map[string]*encode.Value{}, map[string]bool{}
	for _, m := range v.Entries {
		entries[m.Key] = m.Value
	}
	for _, child := range p.parts {
		has[child.was] = true
		m := entries[child.was]
		switch {
		case m != nil:
			if err := c.assign(child, m); err != nil {
				return err
			}
		case child.isMerged:
			return errShared
		default:
			c.recordUndo(child)
			child.isGone = true
			if err := c.rejectInside(child); err != nil {
				return err
			}
		}
	}
	for _, m := range v.Entries {
		if !has[m.Key] {
			p.parts, p.byStep = append(p.parts, &part{name: m.Key, was: m.Key, value: m.Value}), nil
			if p.key == nil {
				c.added++ // an item, which a list may now find by this field
			}
		}
	}
	return nil
}

// assignItems gives a list new items. Items that are equal to old ones keep their text. Items in another order are moved.
func (c *changer) assignItems(p *part, v *encode.Value) error {
	old := make([]any, len(p.parts))
	alike := map[string][]int{} // the old items by their JSON, which is the same for equal ones
	for i, item := range p.parts {
		old[i] = c.generic(item)
		text := jsonText(old[i])
		alike[text] = append(alike[text], i)
	}
	origin, used := make([]int, len(v.Items)), make([]bool, len(old))
	isOrdered, last := true, -1
	for i, item := range v.Items {
		want := genericOf(item)
		origin[i] = -1
		text := jsonText(want)
		for k, j := range alike[text] {
			if reflect.DeepEqual(old[j], want) {
				origin[i], used[j] = j, true
				alike[text] = slices.Delete(alike[text], k, k+1)
				isOrdered, last = isOrdered && j > last, max(last, j)
				break
			}
		}
	}
	var items []*part
	for i, item := range p.parts {
		if !used[i] || !isOrdered {
			if err := c.rejectInside(item); err != nil {
				return err
			}
		}
	}
	next := 0 // the old item that follows in the text
	for i, item := range v.Items {
		j := origin[i]
		if j < 0 || !isOrdered {
			if j >= 0 {
				var err error
				if item, err = c.noted(nil, p.parts[j].node); err != nil {
					return err
				}
			}
			items = append(items, &part{value: item})
			continue
		}
		for ; next < j; next++ {
			c.recordUndo(p.parts[next])
			p.parts[next].isGone = true
			items = append(items, p.parts[next])
		}
		items = append(items, p.parts[j])
		next = j + 1
	}
	for ; next < len(p.parts); next++ {
		c.recordUndo(p.parts[next])
		p.parts[next].isGone = true
		items = append(items, p.parts[next])
	}
	c.recordUndo(p)
	p.parts, p.byStep = items, nil
	return nil
}

// jsonText returns a value as JSON, or "" for one that JSON lacks.
func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// quote makes a scalar a string.
func (c *changer) quote(path fieldpath.Path) error {
	_, p, err := c.one(path)
	switch {
	case err != nil:
		return err
	case p.value != nil || p.isKnown:
		return errOverlap
	case p.node == nil || p.node.Kind != yaml.ScalarNode:
		return errStep
	}
	return c.assign(p, &encode.Value{Kind: encode.Text, Text: p.node.Value})
}

// rename changes a key, or the merge key of an item.
func (c *changer) rename(path fieldpath.Path, name string) error {
	if len(path) == 0 {
		return errEmptyObject
	}
	last := path[len(path)-1]
	if key, _, isItem := last.Item(); isItem {
		renamed := path[:len(path)-1].Append(fieldpath.Item(key, name))
		if _, _, err := c.find(renamed); err == nil {
			return errIsSet
		}
		_, p, err := c.one(path.Append(fieldpath.Field(key)))
		if err != nil {
			return err
		}
		return c.assign(p, &encode.Value{Kind: encode.Text, Text: name})
	}
	around, p, err := c.one(path)
	if err != nil {
		return err
	}
	parent := around[len(around)-1]
	switch {
	case parent.kind != encode.Object || p.key == nil:
		return errStep
	case p.name != p.was && p.name != name:
		return errOverlap
	case p.key.Kind == yaml.AliasNode:
		return errShared
	case c.isTaken(parent, p, name):
		return errIsSet
	case p.key.Anchor != "":
		return errAnchor
	case p.name == name:
		return nil
	}
	c.setName(parent, p, name)
	return nil
}

// setName gives a part of an object another name.
func (c *changer) setName(parent, p *part, name string) {
	c.recordUndo(p)
	p.name = name
	if parent.renamed == nil {
		parent.renamed = map[string]*part{}
	}
	parent.renamed[name] = p
	c.undone = append(c.undone, func() { delete(parent.renamed, name) })
}

// isTaken reports whether another field than p has a name.
func (c *changer) isTaken(parent, p *part, name string) bool {
	others := c.matches(parent, fieldpath.Field(name))
	if other := parent.renamed[name]; other != nil {
		others = append(slices.Clip(others), other)
	}
	return slices.ContainsFunc(others, func(other *part) bool { return other != p && !other.isGone && other.name == name })
}

// substitute puts a field with another name and value in the place of a field.
func (c *changer) substitute(change Change) error {
	around, found, err := c.find(change.Path)
	if err != nil {
		return err
	}
	p := found[0]
	switch {
	case len(change.Path) == 0:
		return errEmptyObject
	case len(found) > 1:
		return errDiffers
	case p.key == nil:
		return errStep
	case p.isMerged:
		return errShared
	case p.isGone || p.name != p.was || c.isChanged(p):
		return errOverlap
	}
	parent := around[len(around)-1]
	if c.isTaken(parent, p, change.Name) {
		return errIsSet
	}
	if err := c.rejectInside(p); err != nil {
		return err
	}
	v, err := encoded(change.Value)
	if err != nil {
		return err
	}
	path := change.Path[:len(change.Path)-1].Append(fieldpath.Field(change.Name))
	was, before := c.replaced, c.used
	c.undone = append(c.undone, func() { c.replaced, c.used = was, before })
	c.replaced, c.used = p, map[*yaml.Node]bool{}
	(&arranger{c, change.Origins}).arrange(v, path, change.Name, nil)
	c.setName(parent, p, change.Name)
	p.value, p.parts, p.isKnown, p.byStep = v, nil, false, nil
	return nil
}

// move moves a field with its comments.
func (c *changer) move(path, to fieldpath.Path) error {
	if len(path) == 0 || to.HasPrefix(path) {
		return errOverlap
	}
	around, p, err := c.one(path)
	if err != nil {
		return err
	}
	if p.value != nil || p.name != p.was || p.isKnown && c.isChanged(p) {
		return errOverlap
	}
	v, err := c.noted(p.key, p.node)
	if err != nil {
		return err
	}
	if err := c.rejectInside(p); err != nil {
		return err
	}
	target, err := c.make(to)
	if err != nil {
		return err
	}
	isNew := target.node == nil && target.value == nil
	switch {
	case isNew && target.isKnown && reflect.DeepEqual(c.generic(target), itemKeys(c.generic(p), to)):
		c.recordUndo(target)
		target.parts, target.isKnown = nil, false // the item brings its keys
		c.added++
	case isNew && !target.isKnown, c.isNull(target):
	default:
		return errIsSet
	}
	v.Note = &encode.Note{Line: v.Note.Line, IsFlow: v.Note.IsFlow, Text: v.Note.Text, HasText: v.Note.HasText}
	if !c.IsFlow(source.Target(around[len(around)-1].node)) {
		v.Note.Head = c.above(p)
	}
	c.recordUndo(target)
	c.recordUndo(p)
	c.recordUndo(around[len(around)-1])
	target.value = v
	p.isGone, p.isMoved = true, true
	around[len(around)-1].lost = true
	return nil
}

// itemKeys returns the keys by which the last step of a path selects an item, with the item's values.
func itemKeys(item any, path fieldpath.Path) any {
	object, _ := item.(map[string]any)
	keys := map[string]any{}
	for _, key := range path[len(path)-1].Keys() {
		keys[key.Name] = object[key.Name]
	}
	return keys
}
