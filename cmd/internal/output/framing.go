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

// Add writes the next object.
func (f *Framing) Add(text []byte) error {
	f.count++
	switch {
	case f.Format == manifest.YAML:
		if f.count > 1 {
			if _, err := io.WriteString(f.W, "---\n"); err != nil {
				return err
			}
		}
		_, err := f.W.Write(text)
		return err
	case f.count == 1:
		f.first = bytes.Clone(text)
		return nil
	case f.count == 2:
		if _, err := io.WriteString(f.W, listHead); err != nil {
			return err
		}
		if err := f.item(f.first); err != nil {
			return err
		}
		f.first = nil
	}
	if _, err := io.WriteString(f.W, ","); err != nil {
		return err
	}
	return f.item(text)
}

// item writes an item of a List. JSON has line breaks only between its values.
func (f *Framing) item(text []byte) error {
	if _, err := io.WriteString(f.W, itemIndent); err != nil {
		return err
	}
	_, err := f.W.Write(
		bytes.ReplaceAll(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"), []byte(itemIndent)))
	return err
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
