package manifest

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// entry is one key of a mapping with its value, as Kubernetes reads it.
type entry struct {
	key, value *yaml.Node
	name       string // the key in JSON
	err        error  // why the key cannot be one
	merged     bool   // it came from a merge key
	clashes    bool   // the key has another value already
}

// clash is a key that has two values.
type clash struct {
	key, first *yaml.Node
	name       string
	merge      bool // key is a merge key behind the key that it overwrites
}

type mapping struct {
	entries []entry
	clashes []clash
}

// entries are the entries of a mapping in order, those of its merge keys (<<) among them, and the keys
// that have two values. A key replaces what a merge key before it brought; a merge key after it is
// a clash, because YAML keeps the key and the reader that Kubernetes uses takes the merged value. The
// result is shared: it is not to be changed.
func (r *reading) entries(n *yaml.Node) ([]entry, []clash) {
	if m, ok := r.merges[n]; ok {
		return m.entries, m.clashes
	}
	entries := make([]entry, 0, len(n.Content)/2)
	var clashes []clash
	at := make(map[string]int, len(n.Content)/2)
	var merge *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if r.isMerge(key) {
			if merge != nil {
				clashes = append(clashes, clash{key: key, first: merge, name: "<<"})
			}
			merge = key
			merged, err := r.merged(value)
			if err != nil {
				entries = append(entries, entry{key: key, value: value, name: "<<", err: err})
			}
			for _, e := range merged {
				if j, ok := at[e.name]; !ok {
					at[e.name] = len(entries)
					entries = append(entries, e)
				} else if !entries[j].merged {
					clashes = append(clashes, clash{key: key, first: entries[j].key, name: e.name, merge: true})
				}
			}
			continue
		}
		e := entry{key: key, value: value}
		e.name, e.err = r.name(key)
		j, ok := at[e.name]
		switch {
		case e.err != nil, !ok:
			if e.err == nil {
				at[e.name] = len(entries)
			}
			entries = append(entries, e)
		case entries[j].merged:
			entries[j] = e
		default:
			clashes = append(clashes, clash{key: key, first: entries[j].key, name: e.name})
			// The value is checked all the same.
			e.clashes = true
			entries = append(entries, e)
		}
	}
	if merge != nil {
		// Merge keys of merge keys would be followed again and again.
		r.merges[n] = mapping{entries, clashes}
	}
	return entries, clashes
}

// isMerge recognizes the merge key: a << that is neither quoted nor JSON.
func (r *reading) isMerge(key *yaml.Node) bool {
	return !r.json && key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Tag == "!!merge"
}

// merged are the entries that a merge key brings: those of a mapping, or of a list of mappings of
// which the earlier wins.
func (r *reading) merged(value *yaml.Node) ([]entry, error) {
	value = target(value)
	sources := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		sources = value.Content
	}
	var out []entry
	seen := map[string]bool{}
	for _, source := range sources {
		source = target(source)
		if source.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("a merge key takes an object or a list of objects, not %s", article(kindOf(source, nil)))
		}
		entries, _ := r.entries(source) // its clashes are reported where it stands
		for _, e := range entries {
			if e.err != nil || seen[e.name] {
				continue
			}
			seen[e.name] = true
			e.merged = true
			out = append(out, e)
		}
	}
	return out, nil
}
