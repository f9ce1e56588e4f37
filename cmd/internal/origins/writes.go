package origins

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/trainweld/trainweld/fieldpath"
)

// writesOf returns what an operation says about the values of an object.
type writesOf = func(o *object, after any) map[string]write

// pathOf returns the path of a value.
func pathOf(steps ...string) string {
	at := ""
	for _, step := range steps {
		at = below(at, step)
	}
	return at
}

// sets writes one field.
func sets(at fieldpath.Position, steps ...string) writesOf {
	return func(_ *object, after any) map[string]write {
		return map[string]write{pathOf(steps...): {at: at, sure: true}}
	}
}

// named writes to objects that have or had a name.
func named(name string, writes writesOf) writesOf {
	return func(o *object, after any) map[string]write {
		if !slices.Contains(o.names(after), name) {
			return nil
		}
		return writes(o, after)
	}
}

// names returns all names that an object has or had.
func (o *object) names(after any) []string {
	return append(o.values(after, "name"), o.made)
}

// values returns all values that a field of the metadata has or had.
func (o *object) values(after any, field string) []string {
	var all []string
	fields, _ := after.(map[string]any)
	metadata, _ := fields["metadata"].(map[string]any)
	if now, ok := metadata[field].(string); ok {
		all = append(all, now)
	}
	if o.root == nil || o.root.Fields["metadata"] == nil {
		return all
	}
	n := o.root.Fields["metadata"].Fields[field]
	if n == nil {
		return append(all, "")
	}
	for _, c := range n.Claims {
		if before, ok := c.Value.(string); ok {
			all = append(all, before)
		}
	}
	return all
}

// keyed writes the entries of a map of labels or annotations: in the metadata of the object, and
// surely in each map that reach names.
func keyed(s *source, entries *yaml.Node, field string, reach []string) writesOf {
	return func(_ *object, after any) map[string]write {
		writes := map[string]write{}
		for key := range Pairs(entries) {
			eachMap(after, "", "", func(at, name string, m map[string]any) {
				if _, has := m[key.Value]; !has {
					return
				}
				sure := slices.Contains(reach, name) || at == pathOf("metadata", field)
				writes[below(at, key.Value)] = write{at: s.at(key), sure: sure}
			})
		}
		return writes
	}
}

// eachMap calls see for each map within a value, with its path and its name.
func eachMap(value any, at, name string, see func(at, name string, m map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		see(at, name, v)
		for key, inner := range v {
			eachMap(inner, below(at, key), key, see)
		}
	case []any:
		for i, inner := range v {
			eachMap(inner, item(at, i), name, see)
		}
	}
}

// imaged writes the images of containers that have the name that an entry of images gives them, as
// kustomize does in each list of this name, and nowhere else.
func imaged(at fieldpath.Position, image types.Image) writesOf {
	given := image.NewName
	if given == "" {
		given = image.Name
	}
	return func(_ *object, after any) map[string]write {
		writes := map[string]write{}
		eachMap(after, "", "", func(where, list string, m map[string]any) {
			if list != "containers" && list != "initContainers" {
				return
			}
			used, _ := m["image"].(string)
			repository, _, _ := strings.Cut(used, "@")
			if i := strings.LastIndexByte(repository, ':'); i > strings.LastIndexByte(used, '/') {
				repository = repository[:i]
			}
			if repository != "" && repository == given {
				writes[below(where, "image")] = write{at: at, sure: true}
			}
		})
		return writes
	}
}

// generated writes the data of a generator to the object that has its name, and all to a new one.
func (t *tracer) generated(l *layer, n *yaml.Node) writesOf {
	return func(o *object, after any) map[string]write {
		fields, _ := after.(map[string]any)
		writes := map[string]write{}
		if o.root != nil && !slices.Contains(o.names(after), text(within(n, "name"))) {
			return nil
		}
		say := func(at fieldpath.Position, steps ...string) {
			writes[pathOf(steps...)] = write{at: at, sure: true}
		}
		for key, at := range t.generatedData(l, n) {
			for _, field := range [...]string{"data", "binaryData"} {
				if data, _ := fields[field].(map[string]any); data[key] != nil {
					say(at, field, key)
				}
			}
		}
		if o.root != nil {
			return writes
		}
		for _, field := range [...]string{"name", "namespace"} {
			if key, _ := Entry(n, field); key != nil {
				say(l.source.at(key), "metadata", field)
			}
		}
		if key, _ := Entry(n, "type"); key != nil {
			say(l.source.at(key), "type")
		}
		for _, options := range []*yaml.Node{within(l.root, "generatorOptions"), within(n, "options")} {
			for key := range Pairs(options) {
				if key.Value == "immutable" {
					say(l.source.at(key), "immutable")
				}
			}
			for _, field := range [...]string{"labels", "annotations"} {
				for key := range Pairs(within(options, field)) {
					say(l.source.at(key), "metadata", field, key.Value)
				}
			}
		}
		return writes
	}
}

// generatedData returns the position of each key that a generator sets.
func (t *tracer) generatedData(l *layer, n *yaml.Node) map[string]fieldpath.Position {
	data := map[string]fieldpath.Position{}
	for _, literal := range items(within(n, "literals")) {
		key, _, _ := strings.Cut(text(literal), "=")
		data[key] = l.source.at(literal)
	}
	for _, file := range items(within(n, "files")) {
		key, name, keyed := strings.Cut(text(file), "=")
		if !keyed {
			key, name = path.Base(text(file)), text(file)
		}
		data[key] = fieldpath.Position{File: filepath.Join(l.dir, name), Line: 1, Column: 1}
	}
	envs := items(within(n, "envs"))
	if env := within(n, "env"); env != nil {
		envs = append(envs, env)
	}
	for _, env := range envs {
		file := filepath.Join(l.dir, text(env))
		lines, err := t.Read(file)
		if err != nil {
			continue
		}
		number := 0
		for line := range strings.Lines(string(lines)) {
			number++
			key, _, _ := strings.Cut(strings.TrimSpace(line), "=")
			data[key] = fieldpath.Position{File: file, Line: number, Column: 1}
		}
	}
	return data
}

// copied returns the field that the source of a replacement names, before the operation.
func (r *run) copied(source *yaml.Node) *Copied {
	field := cmp.Or(text(within(source, "fieldPath")), "metadata.name")
	for _, o := range r.objects {
		if o.root == nil {
			continue
		}
		name, kind := text(within(source, "name")), text(within(source, "kind"))
		object, _ := o.root.value.(map[string]any)
		names := o.names(object)
		if kind != object["kind"] || name != "" && !slices.Contains(names, name) {
			continue
		}
		from := &Copied{Kind: kind, Name: names[0], Field: "." + field}
		eachValue(object, "", fieldNames(field), func(at string) {
			n := o.root
			for _, step := range strings.Split(at, "\x00")[1:] {
				if i, err := strconv.Atoi(step); err == nil && i < len(n.Items) {
					n = n.Items[i]
				} else {
					n = n.Fields[step]
				}
			}
			if from.At.File == "" {
				from.At = n.Claims[len(n.Claims)-1].At
			}
		})
		return from
	}
	return nil
}

// replaced writes the fields that the targets of a replacement name.
func (r *run) replaced(l *layer, n *yaml.Node) writesOf {
	s := l.source
	if key, name := Entry(n, "path"); key != nil {
		file := filepath.Join(l.dir, text(name))
		if data, err := r.Read(file); err == nil {
			if s = newSource(file, data, nil); len(s.documents) > 0 {
				n = s.documents[0]
			}
		}
	}
	return func(o *object, after any) map[string]write {
		writes := map[string]write{}
		all := []*yaml.Node{n}
		if resolved(n) != nil && resolved(n).Kind == yaml.SequenceNode {
			all = items(n)
		}
		for _, replacement := range all {
			from := r.copied(within(replacement, "source"))
			for _, target := range items(within(replacement, "targets")) {
				name := text(within(target, "select", "name"))
				kind := text(within(target, "select", "kind"))
				fields, _ := after.(map[string]any)
				if name != "" && !slices.Contains(o.names(after), name) ||
					kind != "" && kind != fields["kind"] {
					continue
				}
				for _, at := range items(within(target, "fieldPaths")) {
					eachValue(after, "", fieldNames(text(at)), func(where string) {
						writes[where] = write{at: s.at(at), from: from}
					})
				}
			}
		}
		return writes
	}
}

// fieldNames splits the path of a field as a replacement writes it.
func fieldNames(path string) []string {
	var names []string
	name, depth := "", 0
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && i+1 < len(path):
			i++
			name += path[i : i+1]
		case c == '.' && depth == 0:
			names, name = append(names, name), ""
		default:
			depth += strings.Count("[", string(c)) - strings.Count("]", string(c))
			name += string(c)
		}
	}
	return append(names, name)
}

// eachValue calls see for each value at a path of names. Any item of a list may be meant.
func eachValue(value any, at string, names []string, see func(at string)) {
	if len(names) == 0 {
		see(at)
	}
	switch v := value.(type) {
	case map[string]any:
		if len(names) == 0 {
			for key, inner := range v {
				eachValue(inner, below(at, key), nil, see)
			}
		} else if key := strings.Trim(names[0], "[]"); v[key] != nil {
			eachValue(v[key], below(at, key), names[1:], see)
		}
	case []any:
		if len(names) > 0 {
			names = names[1:]
		}
		for i, inner := range v {
			eachValue(inner, item(at, i), names, see)
		}
	}
}
