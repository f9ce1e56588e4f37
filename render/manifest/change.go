package manifest

import (
	"errors"
	"fmt"
	"reflect"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/jsonfields"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest/internal/encode"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// Change is one change of a field of an object's text.
type Change struct {
	// Path starts at the object, in the form of a finding's path.
	Path fieldpath.Path
	Do   ChangeKind
	// Name is the new name of a RenameField or a ReplaceField, and To the new path of a MoveField.
	Name string
	To   fieldpath.Path
	// Value is the value of a SetField or a ReplaceField. nil stands for null.
	Value any
	// Origins returns the earlier places of a field of a ReplaceField's value, the one in force first. The new field takes its
	// comments, key order and quotes from there. All paths start at the object. Origins returns false for a field that was at the
	// same step within the places of the field around it.
	Origins func(fieldpath.Path) ([]fieldpath.Path, bool)
}

// ChangeKind is the kind of a Change.
type ChangeKind uint8

const (
	// RemoveField removes a field, an entry or an item. A map or a list that becomes empty goes too. Of duplicates with equal
	// values it keeps the first.
	RemoveField ChangeKind = iota + 1
	// SetField sets a field to a JSON value. It adds missing parents. Equal parts of a map or a list keep their text.
	SetField
	// RenameField gives a field another name. An item gets another value of its merge key.
	RenameField
	// QuoteField makes a scalar a string of the characters that the text has.
	QuoteField
	// MoveField moves a field with its comments to a path that is not set. It adds missing parents.
	MoveField
	// ReplaceField puts a field with another name and value in the place of a field. Comments within the old value go to the parts of
	// the new value that were there. If there are none, they go above the new field. So do comments within values that the same list
	// removes.
	ReplaceField
)

var (
	errMissing     = errors.New("it is missing")
	errIsSet       = errors.New("it is already set")
	errOverlap     = errors.New("another change edits the same lines")
	errDiffers     = errors.New("it has duplicates with other values")
	errNotJSON     = errors.New("the object has a value without a JSON form")
	errStep        = errors.New("the path does not fit the value")
	errEmptyObject = errors.New("nothing of the object would remain")
	errFlow        = errors.New("braces cannot hold its comments; write the object in block style")
	errAnchor      = errors.New("it has an anchor in use; replace its aliases by the value first")
	errShared      = errors.New("it comes from a merge key or an alias; set the field itself")
	errNoChange    = errors.New("unknown kind of change")
	// errReads is a last resort: the text after the edit would be read as another object.
	errReads = errors.New("its text cannot be edited safely")
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

// encoded returns a JSON value for writing.
func encoded(value any) (*encode.Value, error) {
	e := &encode.Encoder{Structs: jsonfields.Structs{}}
	return e.Value(reflect.ValueOf(value))
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
