package manifest

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/schema"
)

// find is the node to which the path leads from the object at the end of at: the key of a field, else
// the value; or that of the nearest parent that exists. It is nil if the text cannot be parsed.
func (s *source) find(at, p schema.Path) *yaml.Node {
	value, err := s.nodes()
	if err != nil || value == nil {
		return nil
	}
	r := newReading(s)
	place := value
	for i, step := range at {
		p, v := r.step(value, step)
		if v == nil {
			return place
		}
		place, value = p, v
		if i == len(at)-1 {
			place = v
		}
	}
	for _, step := range p {
		p, v := r.step(value, step)
		if v == nil {
			break
		}
		place, value = p, v
	}
	return place
}

// value returns the value at the path, nil where a step of it does not exist.
func (s *source) value(at, p schema.Path) *yaml.Node {
	if s.lacks(p) {
		return nil
	}
	value, err := s.nodes()
	if err != nil || value == nil {
		return nil
	}
	r := newReading(s)
	for _, step := range at.Append(p...) {
		if _, value = r.step(value, step); value == nil {
			return nil
		}
	}
	return value
}

// lacks says that no field of the path's last name stands in the text, which need not be parsed then. A false says
// nothing.
func (s *source) lacks(p schema.Path) bool {
	if len(p) == 0 {
		return false
	}
	name, ok := p[len(p)-1].Field()
	if !ok || doubtfulKey([]byte(name)) || bytes.ContainsAny(s.text, `\!`) {
		return false // an escape or a tag could spell the name
	}
	return !bytes.Contains(s.text, []byte(name))
}

// step is one step of a path: the node whose place counts, and the value. Both are nil if the value
// has no such part.
func (r *reading) step(n *yaml.Node, step schema.Step) (place, value *yaml.Node) {
	n = target(n)
	name, ok := step.Field()
	if !ok {
		name, ok = step.Key()
	}
	if ok {
		return r.lookup(n, name)
	}
	if n.Kind != yaml.SequenceNode {
		return nil, nil
	}
	if i, ok := step.Index(); ok {
		if i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
		return nil, nil
	}
	key, want, isItem := step.Item()
	if !isItem {
		want, _ = step.Element()
	}
	for _, item := range n.Content {
		candidate := item
		if isItem {
			if _, candidate = r.lookup(target(item), key); candidate == nil {
				continue
			}
		}
		if text, ok := r.text(candidate); ok && text == want {
			return item, item
		}
	}
	return nil, nil
}

// lookup finds a key of a mapping, also one that a merge key brings.
func (r *reading) lookup(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	merges := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		if r.isMerge(n.Content[i]) {
			merges = true
		} else if text, err := r.name(n.Content[i]); err == nil && text == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	if merges {
		entries, _ := r.entries(n)
		for _, e := range entries {
			if e.err == nil && e.name == name {
				return e.key, e.value
			}
		}
	}
	return nil, nil
}
