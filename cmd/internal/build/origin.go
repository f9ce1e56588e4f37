package build

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
)

// origins finds the sources of one build's objects.
type origins struct {
	sources *sources
	dir     string           // the built directory
	real    string           // the same without links
	file    string           // where nothing else is known
	objects []objectSource   // of each line of the output
	closure []*kustomization // that may have set fields, the last one to do so first
}

// madeField is a field of a built object.
type madeField struct {
	kind     string
	path     fieldpath.Path
	text     string
	isScalar bool
}

// isIn reports whether an object has the field with the same value.
func (m madeField) isIn(d *manifest.Document) bool {
	if d == nil || d.ID.Kind != m.kind || !d.Has(m.path) {
		return false
	}
	text, _ := d.Text(m.path)
	return !m.isScalar || text == m.text
}

// at returns the origin of the object at a line.
func (o *origins) at(line int) manifest.Origin {
	from := objectSource{}
	if 0 < line && line <= len(o.objects) {
		from = o.objects[line-1]
	}
	return func(d *manifest.Document, path fieldpath.Path) fieldpath.Position {
		return o.position(from, d, path)
	}
}

// position returns the position of a field: in the source of the object, or where a kustomization
// sets it. An unknown source has no lines.
func (o *origins) position(
	from objectSource, d *manifest.Document, path fieldpath.Path,
) fieldpath.Position {
	if d == nil || from.File == "" {
		return fieldpath.Position{File: o.file}
	}
	for len(path) > 0 && !d.Has(path) {
		path = path[:len(path)-1]
	}
	made := madeField{kind: d.ID.Kind, path: path}
	made.text, made.isScalar = d.Text(path)
	file := filepath.Join(o.dir, filepath.FromSlash(from.File))
	source := o.sources.file(file).object(d)
	if made.isIn(source) {
		return source.Position(path)
	}
	if at, ok := o.setter(made); ok {
		return at
	}
	switch {
	case source != nil:
		return source.Position(path)
	case from.Generated:
		return o.generator(file, d.ID.Kind)
	default:
		return fieldpath.Position{File: file}
	}
}

// name returns the file of a kustomization as the user would write it.
func (o *origins) name(k *kustomization) string { return asWritten(o.dir, o.real, k.file) }

// beside returns a file that a kustomization names.
func (o *origins) beside(k *kustomization, file string) string {
	return filepath.Join(filepath.Dir(o.name(k)), filepath.FromSlash(file))
}

// keyOf returns the position of a key of a kustomization, and whether it has the key.
func (o *origins) keyOf(k *kustomization, name string) (fieldpath.Position, bool) {
	at := fieldpath.Position{File: o.name(k)}
	key, _ := entry(k.root, name)
	if key != nil {
		at.Line, at.Column = key.Line, key.Column
	}
	return at, key != nil
}

// generator returns the position of the key that generates objects of a kind.
func (o *origins) generator(file, kind string) fieldpath.Position {
	for _, k := range o.closure {
		if kind != "" && o.name(k) == file {
			at, _ := o.keyOf(k, strings.ToLower(kind[:1])+kind[1:]+"Generator")
			return at
		}
	}
	return fieldpath.Position{File: file}
}

// setter returns the position at which a kustomization sets a field.
func (o *origins) setter(made madeField) (fieldpath.Position, bool) {
	for _, k := range o.closure {
		for _, p := range slices.Backward(patchesOf(&k.Kustomization)) {
			if at, ok := o.patch(k, p, made); ok {
				return at, true
			}
		}
		for _, name := range settersOf(made.path) {
			if name == "replacements" && !o.replaces(k, made.path) {
				continue
			}
			if at, ok := o.keyOf(k, name); ok {
				return at, true
			}
		}
	}
	return fieldpath.Position{}, false
}

// patch returns the position at which a patch, of a file or of the kustomization itself, sets a
// field.
func (o *origins) patch(
	k *kustomization, p types.Patch, made madeField,
) (fieldpath.Position, bool) {
	if !strings.Contains(p.Path, "\n") && p.Path != "" {
		if f := o.sources.file(o.beside(k, p.Path)); f != nil {
			return f.sets(made)
		}
	}
	node := findScalar(k.root, p.Patch)
	if p.Patch == "" || node == nil {
		return fieldpath.Position{}, false
	}
	at, ok := newSource(o.name(k), []byte(p.Patch)).sets(made)
	at.Column = 0
	if node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		at.Line = 0
	}
	at.Line += node.Line
	return at, ok
}

// replaces reports whether a replacement of the kustomization may write a field. The end of its
// target must be a step of the path.
func (o *origins) replaces(k *kustomization, path fieldpath.Path) (found bool) {
	see := func(key string, n *yaml.Node) {
		end := strings.TrimSuffix(strings.ReplaceAll(n.Value, `\`, ""), "]")
		found = found ||
			key == "fieldPaths" && slices.ContainsFunc(path, func(s fieldpath.Step) bool {
				name, ok := s.Name()
				return ok && strings.HasSuffix(end, name)
			})
	}
	eachScalar("", valueOfKey(k.root, "replacements"), see)
	for _, r := range k.Replacements {
		var document yaml.Node
		data, ok := o.sources.read(o.beside(k, r.Path))
		if ok && r.Path != "" && yaml.Unmarshal(data, &document) == nil && !expands(&document) {
			eachScalar("", &document, see)
		}
	}
	return found
}

// settersOf returns the keys of a kustomization that set a field.
func settersOf(path fieldpath.Path) []string {
	last := ""
	if len(path) > 0 {
		last, _ = path[len(path)-1].Field()
	}
	switch {
	case path.HasPrefix(fieldpath.Fields("metadata", "name")):
		return []string{"namePrefix", "nameSuffix"}
	case path.HasPrefix(fieldpath.Fields("metadata", "namespace")):
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

// isWithinMetadata reports whether a path leads into this field of metadata, of the object or of a
// template.
func isWithinMetadata(path fieldpath.Path, field string) bool {
	for i := range path {
		if path[i:].HasPrefix(fieldpath.Fields("metadata", field)) {
			return true
		}
	}
	return false
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

// object returns the object of a file from which a build made another one. It has the same kind,
// and the same name or a part of it. The only one of the kind may have any name.
func (s *sourceFile) object(made *manifest.Document) *manifest.Document {
	if s == nil {
		return nil
	}
	var best *manifest.Document
	most, count := -1, 0
	for _, d := range s.objects {
		if d.ID.Kind != made.ID.Kind {
			continue
		}
		like := -1
		if strings.Contains(made.ID.Name, d.ID.Name) {
			like = len(d.ID.Name)
		}
		if d.ID.Name == made.ID.Name && d.ID.Namespace == made.ID.Namespace {
			like++
		}
		if count++; count == 1 || like > most {
			best, most = d, like
		}
	}
	if count > 1 && most < 0 {
		return nil
	}
	return best
}

func newSource(name string, data []byte) *sourceFile {
	s := &sourceFile{data: data}
	start := bytes.TrimSpace(data)
	if !bytes.HasPrefix(start, []byte("- ")) && !bytes.HasPrefix(start, []byte("[")) &&
		!bytes.Contains(data, []byte("\n- op")) {
		s.objects, _ = manifest.Decode(name, data)
		return s
	}
	var document yaml.Node
	if yaml.Unmarshal(data, &document) != nil || len(document.Content) == 0 {
		return s
	}
	for _, change := range document.Content[0].Content {
		op, path := valueOfKey(change, "op"), valueOfKey(change, "path")
		if path == nil || op != nil && (op.Value == "remove" || op.Value == "test") {
			continue
		}
		at := fieldpath.Position{File: name, Line: path.Line, Column: path.Column}
		s.changes = append(s.changes,
			jsonPatchOperation{pointer(path.Value), valueOfKey(change, "value"), at})
	}
	return s
}

// sets returns the position at which a patch sets a field of an object.
func (s *sourceFile) sets(made madeField) (fieldpath.Position, bool) {
	for _, d := range slices.Backward(s.objects) {
		if made.isIn(d) {
			return d.Position(made.path), true
		}
	}
	for _, c := range slices.Backward(s.changes) {
		if at, ok := c.sets(made); ok {
			return at, true
		}
	}
	return fieldpath.Position{}, false
}

// sets returns the position at which the operation sets a field, to this value if it is a scalar.
// An index of the pointer stands for any item: the list may have had others when the operation ran.
func (c *jsonPatchOperation) sets(made madeField) (fieldpath.Position, bool) {
	if len(c.path) > len(made.path) {
		return fieldpath.Position{}, false
	}
	for i, part := range c.path {
		if name, ok := made.path[i].Name(); ok && name != part {
			return fieldpath.Position{}, false
		}
	}
	at, node := c.at, c.value
	if len(c.path) > 0 && node != nil && !mayBeSelected(node, made.path[len(c.path)-1]) {
		return fieldpath.Position{}, false
	}
	for _, step := range made.path[len(c.path):] {
		var from *yaml.Node
		if node == nil {
			break
		}
		if from, node = stepInto(node, step); from == nil {
			return fieldpath.Position{}, false
		}
		at.Line, at.Column = from.Line, from.Column
	}
	return at, !made.isScalar || node == nil || node.Value == made.text
}

// stepInto returns the value of a step in n, and the node at its position: the key of a field, or
// the item. Without the step it returns nil.
func stepInto(n *yaml.Node, step fieldpath.Step) (at, value *yaml.Node) {
	name, isName := step.Name()
	for key, value := range pairs(n) {
		if isName && key.Value == name {
			return key, value
		}
	}
	index, isIndex := step.Index()
	for i, item := range n.Content {
		if n.Kind == yaml.SequenceNode &&
			(isIndex && i == index || !isName && !isIndex && mayBeSelected(item, step)) {
			return item, item
		}
	}
	return nil, nil
}

// mayBeSelected reports whether n may be the item that a step selects. Any node may be if the step
// selects by no key.
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
