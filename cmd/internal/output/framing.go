package output

import (
	"bytes"
	"io"

	"github.com/trainweld/trainweld/render/manifest"
)

// Framing writes encoded objects in the form of manifest.Encode: YAML documents with separators, a
// single JSON object, or a List of none or several. It holds one object at a time.
type Framing struct {
	W      io.Writer
	Format manifest.Format
	count  int
	first  []byte // in JSON, until the second object or Close
}

const (
	listHead  = "{\n    \"apiVersion\": \"v1\",\n    \"items\": ["
	listTail  = "\n    ],\n    \"kind\": \"List\"\n}\n"
	emptyList = listHead + "],\n    \"kind\": \"List\"\n}\n"
	// itemIndent starts the line of an item in the List.
	itemIndent = "\n        "
)

// Add writes the next objects.
func (f *Framing) Add(texts ...[]byte) error {
	for _, text := range texts {
		f.count++
		before := ""
		switch {
		case f.Format == manifest.YAML && f.count > 1:
			before = "---\n"
		case f.Format == manifest.YAML:
		case f.count == 1:
			f.first = bytes.Clone(text)
			continue
		case f.count == 2:
			before, text = listHead, append(append(item(f.first), ','), item(text)...)
			f.first = nil
		default:
			before, text = ",", item(text)
		}
		if _, err := io.WriteString(f.W, before); err != nil {
			return err
		}
		if _, err := f.W.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// item returns an item of a List. JSON has line breaks only between its values.
func item(text []byte) []byte {
	text = bytes.TrimSuffix(text, []byte("\n"))
	return append([]byte(itemIndent), bytes.ReplaceAll(text, []byte("\n"), []byte(itemIndent))...)
}

// Close writes the end of the output.
func (f *Framing) Close() error {
	if f.Format != manifest.JSON {
		return nil
	}
	text := f.first
	switch f.count {
	case 0:
		text = []byte(emptyList)
	case 1:
	default:
		text = []byte(listTail)
	}
	_, err := f.W.Write(text)
	return err
}
