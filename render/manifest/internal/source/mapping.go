package source

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Entry is a key of a mapping with its value, as Kubernetes reads it.
type Entry struct {
	Key, Value *yaml.Node
	Name       string // the key in JSON
	Err        error  // the reason why the key is invalid
	Merged     bool   // from a merge key
	Clashes    bool   // duplicates an earlier key
}

// Clash is a duplicate key.
type Clash struct {
	Key, First *yaml.Node
	Name       string
	Merge      bool // Key is a merge key behind the key that it overrides
}

type mapping struct {
	entries []Entry
	clashes []Clash
}

// Entries returns the entries of a mapping in order, including entries of its merge keys (<<), and
// the duplicate keys. A key replaces the entry of an earlier merge key. A later merge key is a
// clash: YAML keeps the key, but Kubernetes' reader takes the merged value. Do not change the
// result, which is shared.
func (r *Reading) Entries(n *yaml.Node) ([]Entry, []Clash) {
	if m, ok := r.merges[n]; ok {
		return m.entries, m.clashes
	}
	entries := make([]Entry, 0, len(n.Content)/2)
	var clashes []Clash
	at := make(map[string]int, len(n.Content)/2)
	var merge *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if r.IsMerge(key) {
			if merge != nil {
				clashes = append(clashes, Clash{Key: key, First: merge, Name: "<<"})
			}
			merge = key
			merged, err := r.merged(value)
			if err != nil {
				entries = append(entries, Entry{Key: key, Value: value, Name: "<<", Err: err})
			}
			for _, e := range merged {
				if j, ok := at[e.Name]; !ok {
					at[e.Name] = len(entries)
					entries = append(entries, e)
				} else if !entries[j].Merged {
					clashes = append(
						clashes, Clash{Key: key, First: entries[j].Key, Name: e.Name, Merge: true})
				}
			}
			continue
		}
		e := Entry{Key: key, Value: value}
		e.Name, e.Err = r.Name(key)
		j, ok := at[e.Name]
		switch {
		case e.Err != nil, !ok:
			if e.Err == nil {
				at[e.Name] = len(entries)
			}
			entries = append(entries, e)
		case entries[j].Merged:
			entries[j] = e
		default:
			clashes = append(clashes, Clash{Key: key, First: entries[j].Key, Name: e.Name})
			// Check the value anyway.
			e.Clashes = true
			entries = append(entries, e)
		}
	}
	if merge != nil {
		// Nested merge keys would be followed repeatedly.
		r.merges[n] = mapping{entries, clashes}
	}
	return entries, clashes
}

// IsMerge reports whether a key is a merge key: an unquoted << outside JSON.
func (r *Reading) IsMerge(key *yaml.Node) bool {
	return !r.JSON && key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Tag == "!!merge"
}

// merged returns the entries of a merge key's mapping, or of its list of mappings. Earlier mappings
// win.
func (r *Reading) merged(value *yaml.Node) ([]Entry, error) {
	value = Target(value)
	sources := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		sources = value.Content
	}
	var out []Entry
	seen := map[string]bool{}
	for _, source := range sources {
		source = Target(source)
		if source.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("a merge key takes an object or a list of objects, not %s",
				Article(KindOf(source, nil)))
		}
		entries, _ := r.Entries(source) // its clashes are reported in its place
		for _, e := range entries {
			if e.Err != nil || seen[e.Name] {
				continue
			}
			seen[e.Name] = true
			e.Merged = true
			out = append(out, e)
		}
	}
	return out, nil
}
