package manifest

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest/internal/encode"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// Change returns the edits that change fields in the object's text. All paths name fields of the present text, also after
// other changes of the list. Comments on lines of their own stay, and so do order, quotes, anchors and all other bytes.
//
// It returns an error with the path of a field that it cannot edit. For example, it cannot edit a missing field, or the same lines
// twice. Nor can it edit a value that the file shares by an anchor, an alias or a merge key. The edited text reads as the object
// with exactly these changes, or else Change returns an error.
func (d *Document) Change(changes []Change) ([]Edit, error) {
	c, err := d.changer()
	if err != nil || c == nil || len(changes) == 0 {
		return nil, err
	}
	if err := c.try(changes); err != nil {
		return nil, err
	}
	c.prune(c.root)
	if c.root.isGone {
		return nil, errEmptyObject
	}
	edits, err := c.edits()
	if err == nil && c.replaced != nil {
		if c.lost = c.lostComments(edits); len(c.lost) > 0 {
			if edits, err = c.edits(); err == nil && len(c.lostComments(edits)) > 0 {
				err = fmt.Errorf("%s: %w", changes[0].Path, errFlow)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if err := c.verify(edits); err != nil {
		return nil, fmt.Errorf("%s: %w", changes[0].Path, err)
	}
	for i := range edits {
		edits[i].Start += d.source.Offset
		edits[i].End += d.source.Offset
	}
	return edits, nil
}

// Fit returns two errors for each list of changes. Each is nil if the object takes the list. The first, alone, judges the list by
// itself. The second, beside, judges it after all earlier lists without such an error. Unlike Change, Fit neither writes nor reads the
// edited text. Its work grows with the changes, not with their number times the size of the object.
func (d *Document) Fit(lists [][]Change) (alone, beside []error) {
	alone, beside = make([]error, len(lists)), make([]error, len(lists))
	one, err := d.changer()
	all, _ := d.changer()
	for i, changes := range lists {
		if alone[i], beside[i] = err, err; one == nil {
			continue
		}
		alone[i], beside[i] = one.try(changes), all.try(changes)
		one.undo()
	}
	return alone, beside
}

// changer returns a changer of the object, or nil for an empty text.
func (d *Document) changer() (*changer, error) {
	s, at := d.place()
	if s.Text == nil {
		return nil, errNoText
	}
	if s.Part {
		return nil, errPart
	}
	root, err := s.Nodes()
	if err != nil {
		return nil, fmt.Errorf("the text cannot be parsed again: %w", err)
	}
	if root == nil {
		return nil, nil
	}
	c := &changer{Reading: source.NewReading(s), Layout: s.Layout(), at: at, root: &part{node: root}}
	if source.MayHaveAliases(s.Text) {
		c.findAliases()
	}
	return c, nil
}

// try performs changes on the parts, or leaves the parts as they were and returns an error.
func (c *changer) try(changes []Change) error {
	c.undone = c.undone[:0]
	for _, change := range changes {
		if err := c.change(change); err != nil {
			c.undo()
			return fmt.Errorf("%s: %w", change.Path, err)
		}
	}
	return nil
}

// change performs one change on the parts.
func (c *changer) change(change Change) error {
	switch change.Do {
	case RemoveField:
		return c.remove(change.Path)
	case SetField:
		v, err := encoded(change.Value)
		if err != nil {
			return err
		}
		return c.set(change.Path, v)
	case QuoteField:
		return c.quote(change.Path)
	case RenameField:
		return c.rename(change.Path, change.Name)
	case MoveField:
		return c.move(change.Path, change.To)
	case ReplaceField:
		return c.substitute(change)
	}
	return errNoChange
}

// verify reads the edited text, and returns an error if it is not the changed object.
func (c *changer) verify(edits []Edit) error {
	text, start, want := c.extent()
	edited := &source.Source{File: &source.File{}, Text: applyAt(text, start, edits), JSON: c.JSON}
	root, err := edited.Nodes()
	if err != nil || root == nil {
		return errReads
	}
	var b bytes.Buffer
	if err := source.NewReading(edited).Convert(&b, root); err != nil {
		return errNotJSON
	}
	if !reflect.DeepEqual(fromJSON(b.Bytes()), c.generic(want)) {
		return errReads
	}
	return nil
}

// lostComments returns the comments that edits lose.
func (c *changer) lostComments(edits []Edit) (lost []string) {
	text, start, _ := c.extent()
	if c.JSON || bytes.IndexByte(text, '#') < 0 {
		return nil
	}
	root, _, err := source.ParseYAML(text)
	edited, _, errEdited := source.ParseYAML(applyAt(text, start, edits))
	if err != nil || errEdited != nil {
		return nil // verify reports the error
	}
	before, after := map[string]int{}, map[string]int{}
	lines := comments(root, before)
	comments(edited, after)
	for _, line := range lines {
		if after[line] < before[line] {
			lost = append(lost, line)
			after[line]++
		}
	}
	return lost
}

// applyAt returns a part of the text from start on with the edits applied.
func applyAt(text []byte, start int, edits []Edit) []byte {
	edits = slices.Clone(edits)
	for i := range edits {
		edits[i].Start, edits[i].End = edits[i].Start-start, edits[i].End-start
	}
	return ApplyEdits(text, edits)
}

// extent returns the text that holds the object, its start, and what it reads as. It is the object alone where possible, since a List may
// have thousands of items.
func (c *changer) extent() (text []byte, start int, want *part) {
	if item, start, end := c.alone(); item != nil {
		return c.Data[start:end], start, &part{isKnown: true, kind: encode.Array, parts: []*part{item}}
	}
	return c.Data, 0, c.root
}

// alone returns the object with its lines. The object must be an item of a List in block style, in a text without aliases.
func (c *changer) alone() (item *part, start, end int) {
	if len(c.at) == 0 || len(c.aliases) > 0 {
		return nil, 0, 0
	}
	around := c.root
	for _, step := range c.at {
		if n := source.Target(around.node); c.IsFlow(n) {
			return nil, 0, 0
		}
		found := c.matches(around, step)
		if len(found) != 1 {
			return nil, 0, 0
		}
		item, around = found[0], found[0]
	}
	if item.node == nil || item.key != nil || c.IsFlow(item.node) {
		return nil, 0, 0
	}
	dash := c.Dash(item.node)
	if len(bytes.TrimSpace(c.Before(dash))) > 0 {
		return nil, 0, 0
	}
	indent := dash - c.LineStart(dash)
	return item, c.LineStart(dash), c.Region(c.End(item.node, indent), indent)
}

// Migration returns the changes that put patches in the place of a TrainJob's overrides. The last field of them gets another name and
// value, and the others go.
func (d *Document) Migration(patches []trainer.RuntimePatch) []Change {
	var changes []Change
	for _, name := range legacy.Fields() {
		if path := fieldpath.Fields("spec", name); d.Has(path) {
			changes = append(changes, Change{Path: path, Do: RemoveField})
		}
	}
	if n := len(changes); n > 0 && len(patches) > 0 {
		changes[n-1] = Change{Path: changes[n-1].Path, Do: ReplaceField, Name: "runtimePatches", Value: patches, Origins: d.Overrides.Origins()}
	}
	return changes
}
