package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest/internal/encode"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// Rewriting is an object whose spec loses fields of its text.
type Rewriting struct {
	*Document
	// Fields are the names of the fields to remove. Their comments on lines of their own stay.
	Fields []string
	// Name and Value are those of a new field in the place of the last of Fields. Comments of all
	// Fields go above it. Nothing takes their place if Name is empty.
	Name  string
	Value any
	// Err is the reason why Rewrite leaves the object as it is.
	Err error
}

var (
	errMissing   = errors.New("it is missing")
	errIsSet     = errors.New("it is already set")
	errDiffers   = errors.New("it has duplicates")
	errAnchor    = errors.New("it has an anchor in use; replace its aliases by the value first")
	errShared    = errors.New("it comes from a merge key or an alias; set the field itself")
	errDirective = errors.New("its document has directives; remove them")
	// errReads is a last resort: the text after the change would be read as another object.
	errReads = errors.New("its text cannot be edited safely")
)

// Rewrite rewrites objects of one file, and returns the edits of its text. Comments, the
// order of fields and line ends stay. Blank lines and quotes of a rewritten document may change,
// and those of others stay. Changes that Rewrite cannot make leave a document as it is. For
// example, it cannot change a value that the file shares by an anchor, an alias or a merge key.
func Rewrite(objects []Rewriting) []Edit {
	var edits []Edit
	for i := range objects {
		s, _ := objects[i].place()
		isDone := slices.ContainsFunc(objects[:i], func(r Rewriting) bool {
			return len(r.Fields) > 0 && r.source == s
		})
		if len(objects[i].Fields) == 0 || isDone {
			continue
		}
		var same []*Rewriting // the items of a List share one text
		for j := i; j < len(objects); j++ {
			if len(objects[j].Fields) > 0 && objects[j].source == s {
				same = append(same, &objects[j])
			}
		}
		edit, err := rewriteText(s, same)
		for _, r := range same {
			r.Err = err
		}
		if err == nil {
			edits = append(edits, edit)
		}
	}
	return edits
}

// rewriteText makes the changes of all objects of one text.
func rewriteText(s *source.Source, objects []*Rewriting) (Edit, error) {
	if s.Text == nil {
		return Edit{}, errNoText
	}
	if s.Part {
		return Edit{}, errPart
	}
	start, end := 0, len(s.Text)
	if !s.JSON {
		start, end = contentOf(s.Text)
	}
	w, err := newRewriter(s, s.Text[start:end])
	if err != nil {
		return Edit{}, err
	}
	for _, r := range objects {
		if err := w.object(r); err != nil {
			return Edit{}, err
		}
	}
	text, err := w.text()
	return Edit{s.Offset + start, s.Offset + end, text}, err
}

// rewriter changes the nodes of a text.
type rewriter struct {
	*source.Reading
	root     *yaml.Node
	source   *source.Source // a copy of the text that changes
	newline  string         // of the text, "\n" or "\r\n"
	indent   string         // of the line of the file on which the text starts
	anchored map[*yaml.Node]bool
	head     *yaml.Node // the key that takes comments without a place, or nil
	dropped  []string   // the comments behind removed fields
}

func newRewriter(s *source.Source, text []byte) (*rewriter, error) {
	w := &rewriter{anchored: map[*yaml.Node]bool{}, newline: "\n"}
	if bytes.HasPrefix(text, []byte("%")) {
		return nil, errDirective
	}
	if bytes.Contains(text, []byte("\r\n")) {
		w.newline, text = "\r\n", bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	w.source = sourceOf(text, s.JSON)
	w.Reading = source.NewReading(w.source)
	line := s.File.Data[:min(s.Offset, len(s.File.Data))]
	w.indent = indentOf(append(line[bytes.LastIndexByte(line, '\n')+1:len(line):len(line)], 'x'))
	root, err := w.source.Nodes()
	if err != nil || root == nil {
		return nil, errReads
	}
	w.root = root
	for n := range within(root) {
		if n.Kind == yaml.AliasNode {
			w.anchored[n.Alias] = true
		}
	}
	return w, nil
}

// field is a field of a mapping: its nodes are at and after an index.
type field struct {
	parent *yaml.Node
	at     int
}

func (f field) key() *yaml.Node   { return f.parent.Content[f.at] }
func (f field) value() *yaml.Node { return f.parent.Content[f.at+1] }

// find returns the field at a path. The text must have it in one place.
func (w *rewriter) find(path fieldpath.Path) (field, error) {
	value := w.root
	var f field
	for i, step := range path {
		if value.Kind == yaml.AliasNode {
			return f, errShared
		}
		place, next := w.Step(value, step)
		if next == nil {
			return f, errMissing
		}
		if at := slices.Index(value.Content, place); at < 0 {
			return f, errShared
		} else if i == len(path)-1 {
			f = field{value, at}
		}
		value = next
	}
	if _, clashes := w.Entries(f.parent); len(clashes) > 0 {
		return f, errDiffers
	}
	return f, nil
}

// object makes the changes of one object.
func (w *rewriter) object(r *Rewriting) error {
	fields := make([]field, len(r.Fields))
	for i, name := range r.Fields {
		path := fieldpath.Fields("spec", name)
		f, err := w.find(r.at.Append(path...))
		switch {
		case err != nil:
		case slices.ContainsFunc(slices.Collect(within(f.value())), w.isShared):
			err = errAnchor
		case i == len(fields)-1 && r.Name != "" && w.isTaken(f, r.Name):
			err = errIsSet
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		fields[i] = f
	}
	last := fields[len(fields)-1]
	if r.Name != "" {
		if err := w.replace(last, r.Name, r.Value); err != nil {
			return err
		}
		fields = fields[:len(fields)-1]
		for _, f := range slices.Backward(fields) {
			w.keepComments(last.key(), f.key(), f.value())
		}
	}
	w.remove(fields, r.Name == "")
	if parent := last.parent; w.head == nil && len(parent.Content) > 0 {
		w.head = parent.Content[0]
	}
	return nil
}

// remove removes fields. With keeps, their comments on lines of their own go to the next field.
func (w *rewriter) remove(gone []field, keeps bool) {
	slices.SortFunc(gone, func(a, b field) int { return b.at - a.at })
	for _, f := range gone {
		lines := append(commentLines(f.key().HeadComment), commentLines(f.key().FootComment)...)
		if keeps {
			w.dropped = append(w.dropped, commentLines(f.value().LineComment)...)
		}
		f.parent.Content = slices.Delete(f.parent.Content, f.at, f.at+2)
		if n := len(f.parent.Content); !keeps || len(lines) == 0 || n == 0 {
			continue
		} else if f.at < n {
			prepend(f.parent.Content[f.at], lines)
		} else {
			last := f.parent.Content[n-2]
			last.FootComment = strings.Join(append(commentLines(last.FootComment), lines...), "\n")
		}
	}
}

func (w *rewriter) isShared(n *yaml.Node) bool { return w.anchored[n] }

// isTaken reports whether another field has the name.
func (w *rewriter) isTaken(f field, name string) bool {
	key, _ := w.Lookup(f.parent, name)
	return key != nil && key != f.key()
}

// newField returns the nodes of a new field, in the format of the text.
func (w *rewriter) newField(name string, value any) (key, node *yaml.Node, err error) {
	e := &encode.Encoder{Structs: tree.Structs{}}
	v, err := e.Value(reflect.ValueOf(map[string]any{name: value}))
	if err != nil {
		return nil, nil, err
	}
	var b bytes.Buffer
	encode.YAML(&b, v)
	root, _, err := source.ParseYAML(b.Bytes())
	if err != nil {
		return nil, nil, err
	}
	for n := range within(root) {
		if w.JSON && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	return root.Content[0], root.Content[1], nil
}

// replace puts a field in the place of another one.
func (w *rewriter) replace(f field, name string, newValue any) error {
	key, value, err := w.newField(name, newValue)
	if err != nil {
		return err
	}
	oldKey, oldValue := f.key(), f.value()
	f.parent.Content[f.at], f.parent.Content[f.at+1] = key, value
	w.keepComments(key, oldKey, oldValue)
	w.head = key
	return nil
}

// keepComments adds the comments of a field to those above a key.
func (w *rewriter) keepComments(above, key, value *yaml.Node) {
	lines := commentLines(above.HeadComment)
	for n := range within(&yaml.Node{Content: []*yaml.Node{key, value}}) {
		lines = append(lines, allComments(n)...)
	}
	above.HeadComment = strings.Join(lines, "\n")
}

func prepend(key *yaml.Node, lines []string) {
	key.HeadComment = strings.Join(append(lines, commentLines(key.HeadComment)...), "\n")
}

// text returns the text of the changed nodes. It fails if the text reads otherwise.
func (w *rewriter) text() ([]byte, error) {
	want, _, err := source.NewReading(w.source).Tree(w.root)
	if err != nil {
		return nil, errReads
	}
	text, err := w.written()
	if lost := w.lostComments(text); err == nil && len(lost) > 0 && w.head != nil {
		prepend(w.head, lost)
		text, err = w.written()
	}
	if err != nil || len(w.lostComments(text)) > 0 || !readsAs(text, w.JSON, want) {
		for n := range within(w.root) {
			n.Style &^= yaml.FlowStyle // braces cannot hold each comment
		}
		if text, err = w.written(); err != nil || len(w.lostComments(text)) > 0 ||
			!readsAs(text, w.JSON, want) {
			return nil, errReads
		}
	}
	return bytes.ReplaceAll(text, []byte("\n"), []byte(w.newline)), nil
}

func readsAs(text []byte, isJSON bool, want any) bool {
	s := sourceOf(text, isJSON)
	root, err := s.Nodes()
	if err != nil || root == nil {
		return false
	}
	got, _, err := source.NewReading(s).Tree(root)
	return err == nil && reflect.DeepEqual(got, want)
}

// written returns the nodes as text, with the line ends of YAML. Its indentation and its last line
// are those of the text before.
func (w *rewriter) written() ([]byte, error) {
	if w.JSON {
		return jsonText(w.root, w.source.Text, w.indent)
	}
	var b bytes.Buffer
	if bytes.HasPrefix(w.source.Text, []byte("---")) {
		b.WriteString("---\n")
	}
	encoder := yaml.NewEncoder(&b)
	indent, isCompact := indentation(w.source.Text)
	encoder.SetIndent(indent)
	if isCompact {
		encoder.CompactSeqIndent()
	}
	if err := encoder.Encode(w.root); err != nil {
		return nil, err
	}
	text := b.Bytes()
	if !bytes.HasSuffix(w.source.Text, []byte("\n")) {
		text = bytes.TrimSuffix(text, []byte("\n"))
	}
	return text, nil
}

// lostComments returns the comments that the text before has more often than after.
func (w *rewriter) lostComments(after []byte) (lost []string) {
	if w.JSON || bytes.IndexByte(w.source.Text, '#') < 0 {
		return nil
	}
	had, has := comments(w.source.Text), comments(after)
	for _, line := range w.dropped {
		had[line]--
	}
	for _, line := range slices.Sorted(maps.Keys(had)) {
		for range max(0, had[line]-has[line]) {
			lost = append(lost, line)
		}
	}
	return lost
}

// Migration returns the change that puts patches in the place of a TrainJob's overrides.
func (d *Document) Migration(patches []trainer.RuntimePatch) Rewriting {
	r := Rewriting{Document: d}
	for _, name := range legacy.Fields() {
		if d.Has(fieldpath.Fields("spec", name)) {
			r.Fields = append(r.Fields, name)
		}
	}
	if len(patches) > 0 {
		r.Name, r.Value = "runtimePatches", patches
	}
	return r
}
