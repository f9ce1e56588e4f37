package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// Edit replaces the bytes of a file from Start up to End.
type Edit struct {
	Start, End int
	Text       []byte
}

// ApplyEdits returns the data with the edits applied, in any order. Edits must not overlap.
func ApplyEdits(data []byte, edits []Edit) []byte {
	edits = slices.SortedStableFunc(slices.Values(edits), func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) // an insertion before a removal
	})
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, data[at:e.Start]...), e.Text...)
		at = e.End
	}
	return append(out, data[at:]...)
}

// errPart is the error for editing an item of a List that is read in parts.
var errPart = errors.New("its List is larger than 3 MiB; write it as a document of its own")

// errNotAlone is the error for replacing an item of a List.
var errNotAlone = errors.New("it is one of several objects in a List or an array; write it as a document of its own")

// Replace returns the edit that replaces the whole document by text, in the format of the document. The text holds one object,
// or several YAML documents with "---" lines. Comments around the object and its separator stay. It returns an error for an
// item of a List or an array, and for a document without a source.
func (d *Document) Replace(text []byte) (Edit, error) {
	s, at := d.place()
	if s.Text == nil {
		return Edit{}, errNoText
	}
	if len(at) > 0 || s.Part || s.JSON && !isAlone(s) {
		return Edit{}, errNotAlone
	}
	start, end := 0, len(s.Text)
	if !s.JSON {
		start, end = contentOf(s.Text)
	}
	return Edit{s.Offset + start, s.Offset + end, text}, nil
}

// isAlone reports whether a JSON value is not an element of an array or a List.
func isAlone(s *source.Source) bool {
	before := bytes.TrimRight(s.File.Data[:s.Offset], " \t\r\n")
	return len(before) == 0 || before[len(before)-1] != '[' && before[len(before)-1] != ','
}

// contentOf returns the range of a YAML document's content, without blank lines, comments and a separator line around it.
func contentOf(text []byte) (start, end int) {
	start = -1
	for i := 0; i < len(text); {
		lineEnd, next := source.LineEnd(text, i)
		line := text[i:lineEnd]
		if !source.IsBlank(line) && (!source.IsMarker(line) || !source.IsBlank(line[3:])) {
			if start < 0 {
				start = i
			}
			end = next
		}
		i = next
	}
	return max(start, 0), end
}

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
