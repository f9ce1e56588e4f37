package source

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
)

// Find returns the node at the end of path p, which starts at the object at the end of at. The node
// is a field's key, or a value. For a missing part it is the node of the nearest existing parent.
// Find returns nil if the text fails to parse.
func (s *Source) Find(at, p fieldpath.Path) *yaml.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, value := s.indexed()
	if value == nil {
		return nil
	}
	place := value
	for i, step := range at {
		p, v := r.Step(value, step)
		if v == nil {
			return place
		}
		place, value = p, v
		if i == len(at)-1 {
			place = v
		}
	}
	for _, step := range p {
		p, v := r.Step(value, step)
		if v == nil {
			break
		}
		place, value = p, v
	}
	return place
}

// Value returns the value at the path, or nil if it does not exist.
func (s *Source) Value(at, p fieldpath.Path) *yaml.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lacksLast(p) {
		return nil
	}
	r, value := s.indexed()
	if value == nil {
		return nil
	}
	for _, step := range at.Append(p...) {
		if _, value = r.Step(value, step); value == nil {
			return nil
		}
	}
	return value
}

// indexed returns the index of looked-up parts and the root, or nil for both if the text fails to
// parse. The caller holds the lock.
func (s *Source) indexed() (*Reading, *yaml.Node) {
	root, err := s.parse()
	if err != nil {
		return nil, nil
	}
	if s.index == nil {
		s.index = NewReading(s)
	}
	return s.index, root
}

// lacksLast reports that the text cannot contain the path's last field name, so parsing is
// unnecessary. A false is not certain. The caller holds the lock.
func (s *Source) lacksLast(p fieldpath.Path) bool {
	if len(p) == 0 || s.root != nil {
		return false
	}
	name, ok := p[len(p)-1].Field()
	if !ok {
		return false
	}
	lacks, known := s.lacks[name]
	if !known {
		// An escape or a tag could encode the name, and another word be read as it.
		lacks = IsString(&yaml.Node{Value: name}) && !bytes.Contains(s.Text, []byte(name)) &&
			!bytes.ContainsAny(s.Text, `\!`)
		if s.lacks == nil {
			s.lacks = map[string]bool{}
		}
		s.lacks[name] = lacks
	}
	return lacks
}

// Step follows one step of a path. It returns the node with the position, and the value. Both are
// nil for a missing part.
func (r *Reading) Step(n *yaml.Node, step fieldpath.Step) (place, value *yaml.Node) {
	n = Target(n)
	name, ok := step.Name()
	if ok {
		return r.Lookup(n, name)
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
	if keys := step.Keys(); !isItem && keys != nil {
		item := r.itemBy(n, keys)
		return item, item
	}
	if !isItem {
		key = "" // an element is its own key, and all elements share an index
		want, _ = step.Element()
	}
	item := r.item(n, key, isItem, want)
	return item, item
}

// and separates the keys of an item that has several, and their values.
const and = "\x00"

// itemBy returns the first list item with the keys. It may omit one, which then has its default.
func (r *Reading) itemBy(n *yaml.Node, keys []fieldpath.ItemKey) *yaml.Node {
	names, values := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		names[i], values[i] = key.Name, fmt.Sprint(key.Value)
	}
	by := strings.Join(names, and)
	item := r.item(n, by, true, strings.Join(values, and))
	for i := 0; item == nil && i < len(keys); i++ {
		value := values[i]
		values[i] = ""
		item = r.item(n, by, true, strings.Join(values, and))
		values[i] = value
	}
	return item
}

// fewest is the number of entries from which an index of a mapping or list pays off.
const fewest = 8

// listIndex identifies an index of a list: by a key of its items, or by the items themselves.
type listIndex struct {
	list   *yaml.Node
	key    string
	isItem bool
}

// item returns the first list item with the wanted key, or the item itself with the wanted value.
func (r *Reading) item(n *yaml.Node, key string, isItem bool, want string) *yaml.Node {
	at := listIndex{n, key, isItem}
	known, indexed := r.items[at]
	if indexed {
		return known[want]
	}
	if len(n.Content) >= fewest {
		known = make(map[string]*yaml.Node, len(n.Content))
	}
	for _, item := range n.Content {
		r.steps++
		text, ok := r.textOf(item, key, isItem)
		switch {
		case !ok:
		case known == nil && text == want:
			return item
		case known != nil && known[text] == nil:
			known[text] = item
		}
	}
	if known == nil {
		return nil
	}
	if r.items == nil {
		r.items = map[listIndex]map[string]*yaml.Node{}
	}
	r.items[at] = known
	return known[want]
}

// textOf returns the text of an item, or of its key. Of several keys, a missing one is empty.
func (r *Reading) textOf(item *yaml.Node, key string, isItem bool) (string, bool) {
	if !isItem {
		return r.Text(item)
	}
	names := strings.Split(key, and)
	for i, name := range names {
		_, value := r.Lookup(Target(item), name)
		if value == nil && len(names) == 1 {
			return "", false
		}
		names[i] = ""
		if value != nil {
			text, ok := r.Text(value)
			if !ok {
				return "", false
			}
			names[i] = text
		}
	}
	return strings.Join(names, and), true
}

// Lookup returns a key of a mapping with its value, including a merged key.
func (r *Reading) Lookup(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	if known, indexed := r.fields[n]; indexed {
		return known[name][0], known[name][1]
	}
	if len(n.Content) >= 2*fewest {
		known := r.fieldsOf(n)
		return known[name][0], known[name][1]
	}
	merges := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		r.steps++
		if r.IsMerge(n.Content[i]) {
			merges = true
		} else if text, err := r.Name(n.Content[i]); err == nil && text == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	if merges {
		known := r.fieldsOf(n)
		return known[name][0], known[name][1]
	}
	return nil, nil
}

// fieldsOf indexes the keys of a mapping with their values. The first of duplicate keys counts. The
// mapping's own keys precede merged ones.
func (r *Reading) fieldsOf(n *yaml.Node) map[string][2]*yaml.Node {
	known := make(map[string][2]*yaml.Node, len(n.Content)/2)
	add := func(name string, key, value *yaml.Node) {
		r.steps++
		if _, ok := known[name]; !ok {
			known[name] = [2]*yaml.Node{key, value}
		}
	}
	merges := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		if r.IsMerge(n.Content[i]) {
			merges = true
		} else if text, err := r.Name(n.Content[i]); err == nil {
			add(text, n.Content[i], n.Content[i+1])
		}
	}
	if merges {
		entries, _ := r.Entries(n)
		for _, e := range entries {
			if e.Err == nil {
				add(e.Name, e.Key, e.Value)
			}
		}
	}
	if r.fields == nil {
		r.fields = map[*yaml.Node]map[string][2]*yaml.Node{}
	}
	r.fields[n] = known
	return known
}
