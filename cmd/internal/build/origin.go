package build

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
)

// origins finds the sources of one build's objects.
type origins struct {
	sources *sources
	dir     string // the built directory
	real    string // the same without links
	file    string // where nothing else is known
	parts   []origin
	closure []*kustomization // that may have set fields, the last one to do so first
}

// origin is the source of the object from a line of the output on.
type origin struct {
	line      int
	file      string // empty if unknown
	generated bool   // the file configures a generator
	template  bool   // the file is a template, whose lines are not those of objects
}

// at returns the origin of the object at a line.
func (o *origins) at(line int) manifest.Origin {
	part := origin{}
	if i := sort.Search(len(o.parts), func(i int) bool { return o.parts[i].line > line }); i > 0 {
		part = o.parts[i-1]
	}
	return func(d *manifest.Document, path fieldpath.Path) fieldpath.Position { return o.position(part, d, path) }
}

// position returns the position of a field: in the source of the object, or where a kustomization sets it. A template and an
// unknown source have no lines.
func (o *origins) position(part origin, d *manifest.Document, path fieldpath.Path) fieldpath.Position {
	if part.file == "" && d != nil {
		part.file = o.annotated(d)
	}
	whole := fieldpath.Position{File: part.file}
	whole.File = cmp.Or(whole.File, o.file)
	if d == nil || part.template || part.file == "" {
		return whole
	}
	for len(path) > 0 && !d.Has(path) {
		path = path[:len(path)-1]
	}
	source := o.sources.object(part.file, d)
	value, isScalar := d.Text(path)
	if source != nil && source.Has(path) {
		if text, _ := source.Text(path); !isScalar || text == value {
			return source.Position(path)
		}
	}
	if at, ok := o.setter(d, path); ok {
		return at
	}
	switch {
	case source != nil:
		return source.Position(path)
	case part.generated:
		return o.generator(part.file, d.ID.Kind)
	default:
		return whole
	}
}

// annotated returns the source that an annotation of kustomize names.
func (o *origins) annotated(d *manifest.Document) string {
	text, _ := d.Text(fieldpath.Fields("metadata", "annotations").Append(fieldpath.Key("config.kubernetes.io/origin")))
	var from struct{ Path, Repo string }
	if yaml.Unmarshal([]byte(text), &from) != nil || from.Path == "" || from.Repo != "" {
		return ""
	}
	return filepath.Join(o.dir, filepath.FromSlash(from.Path))
}

// generator returns the position of the key that generates objects of a kind.
func (o *origins) generator(file, kind string) fieldpath.Position {
	at := fieldpath.Position{File: file}
	for _, k := range o.closure {
		if kind == "" || asWritten(o.dir, o.real, k.file) != file {
			continue
		}
		if key := k.key(strings.ToLower(kind[:1]) + kind[1:] + "Generator"); key != nil {
			at.Line, at.Column = key.Line, key.Column
		}
	}
	return at
}

// setter returns the position at which a kustomization sets a field.
func (o *origins) setter(d *manifest.Document, path fieldpath.Path) (fieldpath.Position, bool) {
	for _, k := range o.closure {
		file := asWritten(o.dir, o.real, k.file)
		for _, p := range slices.Backward(patchesOf(&k.Kustomization)) {
			if at, ok := o.patch(k, p.Path, p.Patch, d, path); ok {
				return at, true
			}
		}
		for _, name := range settersOf(path) {
			if key := k.key(name); key != nil && (name != "replacements" || o.replaces(k, path)) {
				return fieldpath.Position{File: file, Line: key.Line, Column: key.Column}, true
			}
		}
	}
	return fieldpath.Position{}, false
}

// patch returns the position at which a patch, of a file or of the kustomization itself, sets a field.
func (o *origins) patch(k *kustomization, file, text string, d *manifest.Document, path fieldpath.Path) (fieldpath.Position, bool) {
	if !strings.Contains(file, "\n") && file != "" {
		name := filepath.Join(filepath.Dir(asWritten(o.dir, o.real, k.file)), filepath.FromSlash(file))
		if f := o.sources.file(name); f != nil {
			return f.sets(d, path)
		}
	}
	node := findScalar(k.root, text)
	if text == "" || node == nil {
		return fieldpath.Position{}, false
	}
	at, ok := newSource(asWritten(o.dir, o.real, k.file), []byte(text)).sets(d, path)
	at.Column = 0
	if node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		at.Line = node.Line
	} else {
		at.Line += node.Line
	}
	return at, ok
}

// replaces reports whether a replacement of the kustomization may write a field. The end of its target must be a step of the path.
func (o *origins) replaces(k *kustomization, path fieldpath.Path) bool {
	replacements := valueOfKey(k.root, "replacements")
	if replacements == nil {
		return false
	}
	for _, r := range replacements.Content {
		if file := valueOfKey(r, "path"); file != nil {
			var document yaml.Node
			name := filepath.Join(filepath.Dir(asWritten(o.dir, o.real, k.file)), filepath.FromSlash(file.Value))
			if data, ok := o.sources.read(name); !ok || yaml.Unmarshal(data, &document) != nil {
				continue
			}
			r = &document
		}
		if targetsPath(r, path) {
			return true
		}
	}
	return false
}

// targetsPath reports whether a field path within n ends with a step of the path.
func targetsPath(n *yaml.Node, path fieldpath.Path) bool {
	if fields := valueOfKey(n, "fieldPaths"); fields != nil {
		return slices.ContainsFunc(fields.Content, func(f *yaml.Node) bool {
			end := strings.TrimSuffix(strings.ReplaceAll(f.Value, `\`, ""), "]")
			return slices.ContainsFunc(path, func(s fieldpath.Step) bool {
				name, ok := s.Field()
				if !ok {
					name, ok = s.Key()
				}
				return ok && strings.HasSuffix(end, name)
			})
		})
	}
	return slices.ContainsFunc(n.Content, func(child *yaml.Node) bool { return targetsPath(child, path) })
}

// settersOf returns the keys of a kustomization that set a field.
func settersOf(path fieldpath.Path) []string {
	has := func(names ...string) bool { return path.HasPrefix(fieldpath.Fields(names...)) }
	last := ""
	if len(path) > 0 {
		last, _ = path[len(path)-1].Field()
	}
	switch {
	case has("metadata", "name"):
		return []string{"namePrefix", "nameSuffix"}
	case has("metadata", "namespace"):
		return []string{"namespace"}
	case isWithinMetadata(path, "labels"):
		return []string{"labels", "commonLabels", "replacements"}
	case isWithinMetadata(path, "annotations"):
		return []string{"commonAnnotations", "replacements"}
	case last == "image":
		return []string{"images", "imageTags", "replacements"}
	case last == "name":
		return []string{"namePrefix", "nameSuffix", "replacements"}
	default:
		return []string{"replacements"}
	}
}

// isWithinMetadata reports whether a path leads into this field of metadata, of the object or of a template.
func isWithinMetadata(path fieldpath.Path, field string) bool {
	for i := range path {
		if path[i:].HasPrefix(fieldpath.Fields("metadata", field)) {
			return true
		}
	}
	return false
}

// key returns the node of a key of the kustomization, or nil.
func (k *kustomization) key(name string) *yaml.Node {
	if k.root == nil || k.root.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(k.root.Content); i += 2 {
		if strings.EqualFold(k.root.Content[i].Value, name) {
			return k.root.Content[i]
		}
	}
	return nil
}

// valueOfKey returns the value of a key of a map, or nil.
func valueOfKey(n *yaml.Node, name string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// sources holds the files that positions lie in. Builds share it.
type sources struct {
	tree  host.Tree
	files parallel.Once[string, *sourceFile] // nil if it cannot be read
}

// sourceFile is a file with its objects.
type sourceFile struct {
	data    []byte
	objects []*manifest.Document
	changes []jsonPatchOperation
}

// jsonPatchOperation is an operation of a JSON patch that sets its field.
type jsonPatchOperation struct {
	path  []string   // the parts of the pointer
	value *yaml.Node // nil for a copy
	at    fieldpath.Position
}

// file returns a file, or nil if it cannot be read.
func (s *sources) file(name string) *sourceFile {
	return s.files.Of(name, func() *sourceFile {
		if info, err := fs.Stat(s.tree, name); err != nil || info.IsDir() {
			return nil
		}
		data, err := ownfile.ReadInput(s.tree, name)
		if err != nil {
			return nil
		}
		return newSource(name, data)
	})
}

// read returns the data of a file.
func (s *sources) read(name string) ([]byte, bool) {
	if f := s.file(name); f != nil {
		return f.data, true
	}
	return nil, false
}

// object returns the object of a file from which a build made another one. It has the same kind, and the same name or a part of
// it.
func (s *sources) object(file string, made *manifest.Document) *manifest.Document {
	f := s.file(file)
	if f == nil {
		return nil
	}
	var best *manifest.Document
	count := 0
	for _, d := range f.objects {
		if d.ID.Kind != made.ID.Kind {
			continue
		}
		count++
		if d.ID.Name == made.ID.Name && (best == nil || best.ID.Name != made.ID.Name || d.ID.Namespace == made.ID.Namespace) {
			best = d
		} else if strings.Contains(made.ID.Name, d.ID.Name) && (best == nil || len(best.ID.Name) < len(d.ID.Name)) {
			best = d
		}
	}
	if best == nil && count == 1 {
		best = f.objects[slices.IndexFunc(f.objects, func(d *manifest.Document) bool { return d.ID.Kind == made.ID.Kind })]
	}
	return best
}

func newSource(name string, data []byte) *sourceFile {
	s := &sourceFile{data: data}
	if start := bytes.TrimSpace(data); bytes.HasPrefix(start, []byte("- ")) || bytes.HasPrefix(start, []byte("[")) || bytes.Contains(data, []byte("\n- op")) {
		var document yaml.Node
		if yaml.Unmarshal(data, &document) == nil && len(document.Content) > 0 {
			for _, change := range document.Content[0].Content {
				op, path := valueOfKey(change, "op"), valueOfKey(change, "path")
				if path == nil || op != nil && (op.Value == "remove" || op.Value == "test") {
					continue
				}
				at := fieldpath.Position{File: name, Line: path.Line, Column: path.Column}
				s.changes = append(s.changes, jsonPatchOperation{pointer(path.Value), valueOfKey(change, "value"), at})
			}
		}
		return s
	}
	s.objects, _ = manifest.Decode(name, data)
	return s
}

// sets returns the position at which a patch sets a field of an object.
func (s *sourceFile) sets(d *manifest.Document, path fieldpath.Path) (fieldpath.Position, bool) {
	value, isScalar := d.Text(path)
	for _, o := range slices.Backward(s.objects) {
		if o.ID.Kind != d.ID.Kind || !o.Has(path) {
			continue
		}
		if text, _ := o.Text(path); !isScalar || text == value {
			return o.Position(path), true
		}
	}
	for _, c := range slices.Backward(s.changes) {
		if at, ok := c.sets(path, value, isScalar); ok {
			return at, true
		}
	}
	return fieldpath.Position{}, false
}

// sets returns the position at which the operation sets a field, to this value if it is a scalar. An index of the pointer stands for
// any item: the list may have had others when the operation ran.
func (c *jsonPatchOperation) sets(path fieldpath.Path, value string, isScalar bool) (fieldpath.Position, bool) {
	if len(c.path) > len(path) {
		return fieldpath.Position{}, false
	}
	for i, part := range c.path {
		if name, ok := path[i].Name(); ok && name != part {
			return fieldpath.Position{}, false
		}
	}
	at, node := c.at, c.value
	if len(c.path) > 0 && node != nil && !mayBeSelected(node, path[len(c.path)-1]) {
		return fieldpath.Position{}, false
	}
	for _, step := range path[len(c.path):] {
		var from *yaml.Node
		if node == nil {
			break
		}
		if from, node = stepInto(node, step); from == nil {
			return fieldpath.Position{}, false
		}
		at.Line, at.Column = from.Line, from.Column
	}
	return at, !isScalar || node == nil || node.Value == value
}

// stepInto returns the value of a step in n, and the node at its position: the key of a field, or the item. Without the step it
// returns nil.
func stepInto(n *yaml.Node, step fieldpath.Step) (at, value *yaml.Node) {
	name, isName := step.Name()
	index, isIndex := step.Index()
	for i := 0; i < len(n.Content); i++ {
		switch node := n.Content[i]; {
		case n.Kind == yaml.MappingNode:
			if i++; isName && node.Value == name {
				return node, n.Content[i]
			}
		case isIndex && i == index, !isName && !isIndex && mayBeSelected(node, step):
			return node, node
		}
	}
	return nil, nil
}

// mayBeSelected reports whether n may be the item that a step selects. Any node may be if the step selects by no key.
func mayBeSelected(n *yaml.Node, step fieldpath.Step) bool {
	if element, ok := step.Element(); ok {
		return n.Value == element
	}
	return !slices.ContainsFunc(step.Keys(), func(k fieldpath.ItemKey) bool {
		value := valueOfKey(n, k.Name)
		return value == nil || value.Value != fmt.Sprint(k.Value)
	})
}

// pointer returns the parts of a JSON pointer.
func pointer(text string) []string {
	parts := strings.Split(text, "/")[1:]
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts
}
