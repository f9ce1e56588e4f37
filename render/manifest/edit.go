package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

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
		// an insertion before a removal
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
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
var errNotAlone = errors.New(
	"it is one of several objects in a List or an array; write it as a document of its own")

// Replace returns the edit that replaces the whole document by text, in the format of the document.
// The text holds one object, or several YAML documents with "---" lines. Comments around the object
// and its separator stay. It returns an error for an item of a List or an array, and for a document
// without a source.
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

// contentOf returns the range of a YAML document's content, without blank lines, comments and a
// separator line around it.
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
