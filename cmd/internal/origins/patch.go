package origins

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/trainweld/trainweld/fieldpath"
)

// patched writes what a patch says: a strategic merge patch, or the operations of a JSON patch.
func (t *tracer) patched(l *layer, p types.Patch, n *yaml.Node) writesOf {
	s := newSource(l.file, []byte(p.Patch), n)
	if n != nil && n.Kind == yaml.MappingNode {
		s.in = within(n, "patch")
	}
	if p.Path != "" {
		file := filepath.Join(l.dir, p.Path)
		data, err := t.Read(file)
		if err != nil {
			return nil
		}
		s = newSource(file, data, nil)
	}
	return func(o *object, after any) map[string]write {
		var writes map[string]write
		for _, document := range s.documents {
			if !o.isTarget(after, p.Target, document) {
				continue
			}
			if writes == nil {
				writes = map[string]write{}
			}
			if document.Kind == yaml.SequenceNode {
				o.change(document, s, writes)
				continue
			}
			m := merging{source: s, writes: writes}
			if p.Options == nil || !p.Options.AllowNameChange {
				m.skip = []string{pathOf("metadata", "name"), pathOf("metadata", "namespace")}
			}
			m.skip = append(m.skip, pathOf("apiVersion"), pathOf("kind"))
			m.value(document, after, "", schemaOf(after))
		}
		return writes
	}
}

// isTarget reports whether a patch applies to an object.
func (o *object) isTarget(after any, target *types.Selector, patch *yaml.Node) bool {
	if o.root == nil {
		return false
	}
	fields, _ := after.(map[string]any)
	before, _ := o.root.value.(map[string]any)
	metadata, _ := before["metadata"].(map[string]any)
	names, namespaces := o.names(after), o.values(after, "namespace")
	if target == nil {
		namespace := text(within(patch, "metadata", "namespace"))
		return text(within(patch, "kind")) == fields["kind"] &&
			slices.Contains(names, text(within(patch, "metadata", "name"))) &&
			(namespace == "" || slices.Contains(namespaces, namespace))
	}
	s, err := types.NewSelectorRegex(target)
	if err != nil {
		return false
	}
	version, _ := before["apiVersion"].(string)
	kind, _ := before["kind"].(string)
	group, version := resid.ParseGroupVersion(version)
	return s.MatchGvk(resid.NewGvk(group, version, kind)) &&
		slices.ContainsFunc(names, s.MatchName) &&
		slices.ContainsFunc(namespaces, s.MatchNamespace) &&
		selects(target.LabelSelector, metadata["labels"]) &&
		selects(target.AnnotationSelector, metadata["annotations"])
}

func selects(selector string, values any) bool {
	s, err := labels.Parse(selector)
	set := labels.Set{}
	entries, _ := values.(map[string]any)
	for key, value := range entries {
		set[key], _ = value.(string)
	}
	return err == nil && s.Matches(set)
}

// merging follows a strategic merge patch into the object that it made.
type merging struct {
	*source
	writes map[string]write
	skip   []string
}

func (m *merging) value(patch *yaml.Node, after any, at string, t *openapi.ResourceSchema) {
	switch after := after.(type) {
	case map[string]any:
		for key, value := range Pairs(patch) {
			where := below(at, key.Value)
			if slices.Contains(m.skip, where) || strings.HasPrefix(key.Value, "$") {
				continue
			}
			made, has := after[key.Value]
			m.writes[where] = write{at: m.at(key), sure: has && !isContainer(made)}
			if has {
				var inner *openapi.ResourceSchema
				if t != nil {
					inner = t.Field(key.Value)
				}
				m.value(value, made, where, inner)
			}
		}
	case []any:
		m.list(items(patch), after, at, t)
	}
}

// list follows a list. An item of the patch is the one with the same keys. A list without keys is
// replaced, or has the values of the patch among its own.
func (m *merging) list(patch []*yaml.Node, after []any, at string, t *openapi.ResourceSchema) {
	var keys []string
	var inner *openapi.ResourceSchema
	if t != nil {
		if strategy, names := t.PatchStrategyAndKeyList(); strings.Contains(strategy, "merge") {
			keys = names
		}
		inner = t.Elements()
	}
	values := make([]any, len(patch))
	for i, n := range patch {
		values[i] = decoded(n)
	}
	if len(keys) == 0 && reflect.DeepEqual(values, after) {
		for i, n := range patch { // the list is replaced, with the maps and lists in it
			m.written(n, m.at(n)).collect(item(at, i), m.writes)
		}
		return
	}
	used := map[int]bool{}
	for i, n := range patch {
		if removes(values[i]) {
			continue
		}
		j := slices.IndexFunc(after, func(made any) bool {
			return sameKeys(values[i], made, keys) && includes(made, values[i])
		})
		if j < 0 || used[j] {
			continue
		}
		used[j] = true
		where := item(at, j)
		m.writes[where] = write{at: m.at(n), sure: !isContainer(after[j])}
		m.value(n, after[j], where, inner)
		for _, key := range keys { // they say which item is meant
			where := below(where, key)
			m.writes[where] = write{at: m.writes[where].at}
		}
	}
}

// sameKeys reports whether an item has the keys of a patch.
func sameKeys(patch, made any, keys []string) bool {
	a, _ := patch.(map[string]any)
	b, _ := made.(map[string]any)
	return !slices.ContainsFunc(keys, func(key string) bool {
		return a[key] != nil && !reflect.DeepEqual(a[key], b[key])
	})
}

// schemaOf returns the schema by which kustomize merges an object, or nil.
func schemaOf(object any) *openapi.ResourceSchema {
	fields, _ := object.(map[string]any)
	version, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	return openapi.SchemaForResourceType(kyaml.TypeMeta{APIVersion: version, Kind: kind})
}

// includes reports whether a value has all values of a patch, but for what the patch removes.
func includes(made, patch any) bool {
	if removes(patch) {
		return true
	}
	switch p := patch.(type) {
	case map[string]any:
		fields, ok := made.(map[string]any)
		for key, value := range p {
			if removes(value) || strings.HasPrefix(key, "$") {
				continue
			}
			ok = ok && fields[key] != nil && includes(fields[key], value)
		}
		return ok
	case []any:
		list, ok := made.([]any)
		for _, value := range p {
			ok = ok && slices.ContainsFunc(list, func(m any) bool { return includes(m, value) })
		}
		return ok
	default:
		return reflect.DeepEqual(made, patch)
	}
}

// removes reports whether a value of a patch removes what it names.
func removes(patch any) bool {
	fields, _ := patch.(map[string]any)
	return patch == nil || fields["$patch"] == "delete"
}

// part is a value of an object while a JSON patch changes it, and the place that wrote it.
type part struct {
	fields map[string]*part
	items  []*part
	at     *fieldpath.Position
}

func newPart(value any) *part {
	p := &part{}
	switch v := value.(type) {
	case map[string]any:
		p.fields = make(map[string]*part, len(v))
		for key, inner := range v {
			p.fields[key] = newPart(inner)
		}
	case []any:
		for _, inner := range v {
			p.items = append(p.items, newPart(inner))
		}
	}
	return p
}

// written returns a value that a patch writes, with the position of each part.
func (s *source) written(n *yaml.Node, at fieldpath.Position) *part {
	p := &part{at: &at}
	if n = resolved(n); n == nil {
		return p
	}
	if n.Kind == yaml.MappingNode {
		p.fields = map[string]*part{}
		for key, value := range Pairs(n) {
			p.fields[key.Value] = s.written(value, s.at(key))
		}
	}
	for _, value := range items(n) {
		p.items = append(p.items, s.written(value, s.at(value)))
	}
	return p
}

// copied returns a copy of a part that one operation wrote.
func (p *part) copied(at fieldpath.Position) *part {
	made := &part{at: &at}
	if p == nil {
		return made
	}
	if p.fields != nil {
		made.fields = map[string]*part{}
	}
	for key, inner := range p.fields {
		made.fields[key] = inner.copied(at)
	}
	for _, inner := range p.items {
		made.items = append(made.items, inner.copied(at))
	}
	return made
}

// change does the operations of a JSON patch, and records where each value was written.
func (o *object) change(patch *yaml.Node, s *source, writes map[string]write) {
	root := &part{fields: map[string]*part{"": newPart(o.root.value)}}
	removed := map[string]write{}
	for _, op := range items(patch) {
		key, path := Entry(op, "path")
		if key == nil {
			continue
		}
		from, at := pointer(text(within(op, "from"))), s.at(key)
		switch text(within(op, "op")) {
		case "add":
			root.put(pointer(text(path)), s.written(within(op, "value"), at), true)
		case "replace":
			root.put(pointer(text(path)), s.written(within(op, "value"), at), false)
		case "copy":
			root.put(pointer(text(path)), root.find(from).copied(at), true)
		case "move":
			moved := root.find(from).copied(at)
			root.remove(from)
			root.put(pointer(text(path)), moved, true)
		case "remove":
			root.remove(pointer(text(path)))
			removed[pathOf(pointer(text(path))[1:]...)] = write{at: at}
		}
	}
	maps.Copy(writes, removed)
	root.fields[""].collect("", writes)
}

// pointer returns the parts of a JSON pointer. The first one is empty.
func pointer(text string) []string {
	parts := strings.Split(text, "/")
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts
}

// find returns the part at a pointer, or nil.
func (p *part) find(path []string) *part {
	for _, step := range path {
		if p == nil {
			return nil
		}
		if p.fields != nil {
			p = p.fields[step]
			continue
		}
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(p.items) {
			return nil
		}
		p = p.items[i]
	}
	return p
}

// put writes a part at a pointer. It may insert an item of a list.
func (p *part) put(path []string, value *part, inserts bool) {
	holder, last := p.find(path[:len(path)-1]), path[len(path)-1]
	if holder == nil {
		return
	}
	if holder.fields != nil {
		holder.fields[last] = value
		return
	}
	i, err := strconv.Atoi(last)
	switch {
	case last == "-" || err == nil && i == len(holder.items):
		holder.items = append(holder.items, value)
	case err != nil || i < 0 || i > len(holder.items):
	case inserts:
		holder.items = slices.Insert(holder.items, i, value)
	default:
		holder.items[i] = value
	}
}

func (p *part) remove(path []string) {
	holder, last := p.find(path[:len(path)-1]), path[len(path)-1]
	if holder == nil {
		return
	}
	delete(holder.fields, last)
	if i, err := strconv.Atoi(last); err == nil && 0 <= i && i < len(holder.items) {
		holder.items = slices.Delete(holder.items, i, i+1)
	}
}

// collect records the places of the parts that the patch wrote.
func (p *part) collect(path string, writes map[string]write) {
	if p.at != nil {
		writes[path] = write{at: *p.at, sure: true}
	}
	for key, inner := range p.fields {
		inner.collect(below(path, key), writes)
	}
	for i, inner := range p.items {
		inner.collect(item(path, i), writes)
	}
}

// fileObjects returns the objects of a file, as placeholders until a build adds them.
func fileObjects(s *source) []*object {
	var all []*object
	for _, document := range s.documents {
		values := []*yaml.Node{document}
		if strings.HasSuffix(text(within(document, "kind")), "List") {
			if list := within(document, "items"); list != nil {
				values = items(list)
			}
		}
		for _, n := range values {
			o := &object{id: idOf(decoded(n))}
			o.writes = func(*object, any) map[string]write {
				writes := map[string]write{"": {at: s.at(n)}}
				s.written(n, s.at(n)).collect("", writes)
				return writes
			}
			all = append(all, o)
		}
	}
	return all
}
