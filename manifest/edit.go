package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/trainweld/trainweld/manifest/internal/source"
)

// Edit says that a stretch of a file's text is to be replaced: the bytes from Start up to End.
type Edit struct {
	Start, End int
	Text       []byte
}

// ApplyEdits returns the data with the edits made. Edits never overlap; their order does not matter.
func ApplyEdits(data []byte, edits []Edit) []byte {
	edits = slices.SortedFunc(slices.Values(edits), func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, data[at:e.Start]...), e.Text...)
		at = e.End
	}
	return append(out, data[at:]...)
}

// errNotAlone refuses to replace what is not a document by itself.
var errNotAlone = errors.New("it is one of several objects in a List or an array; write it as a document of its own")

// Replace is the edit that puts another text in place of the whole document: one object, or several with
// "---" lines between them, of YAML for a YAML document and of JSON for a JSON one. Comments before the
// object and after it stay, and so does the document's separator. It refuses an object that is an item of a List or of an
// array, and text for a document of JSON beside which nothing else can stand.
func (d *Document) Replace(text []byte) (Edit, error) {
	s, at := d.place()
	if s.Text == nil {
		return Edit{}, errNoText
	}
	if len(at) > 0 || s.JSON && !isAlone(s) {
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

// contentOf is where the content of a YAML document begins and ends, without the blank lines and comments
// around it and without a separator that stands on a line of its own.
func contentOf(text []byte) (start, end int) {
	start = -1
	for i := 0; i < len(text); {
		lineEnd, next := source.LineEnd(text, i)
		line := text[i:lineEnd]
		if rest, kind := source.Marker(line); !source.IsBlank(line) && (kind == source.NoMarker || !source.IsBlank(rest)) {
			if start < 0 {
				start = i
			}
			end = next
		}
		i = next
	}
	return max(start, 0), end
}
