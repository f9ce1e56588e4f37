// Package output writes the results of commands: streams of objects, whole directories, and files
// in place.
//
// Its first file to read is writing.go.
package output

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/render/manifest"
)

// Encode writes a sequence of objects, and holds one at a time.
func Encode(w io.Writer, format manifest.Format, objects iter.Seq2[any, error]) error {
	out := NewStream(w, format)
	var encoder manifest.Encoder
	for text, err := range Encoded(&encoder, format, objects) {
		if err != nil {
			return err
		}
		if err := out.Add(text); err != nil {
			return err
		}
	}
	return out.Close()
}

// Stream is a Framing with a buffer.
type Stream struct {
	Framing
	buffer *bufio.Writer
}

// NewStream returns a stream that writes to w.
func NewStream(w io.Writer, format manifest.Format) *Stream {
	buffer := bufio.NewWriterSize(w, 1<<16)
	return &Stream{Framing{W: buffer, Format: format}, buffer}
}

// Close writes the end of the output.
func (o *Stream) Close() error {
	if err := o.Framing.Close(); err != nil {
		return err
	}
	return o.buffer.Flush()
}

// Encoded yields the encoding of each object, which is valid until the next one.
func Encoded(encoder *manifest.Encoder, format manifest.Format,
	objects iter.Seq2[any, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var b bytes.Buffer
		for object, err := range objects {
			b.Reset()
			if err == nil {
				err = encoder.Encode(&b, format, object)
			}
			if !yield(b.Bytes(), err) || err != nil {
				return
			}
		}
	}
}

// Each yields the objects of a list.
func Each(objects []any) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for _, o := range objects {
			if !yield(o, nil) {
				return
			}
		}
	}
}

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

// WriteNames writes a line for each object, like kubectl with -o name: jobset.jobset.x-k8s.io/llm.
// If the cluster generates the name, the line ends with its prefix. It returns the errors of w and
// of the objects.
func WriteNames(w io.Writer, objects iter.Seq2[any, error]) error {
	buffer := bufio.NewWriterSize(w, 1<<16)
	for o, err := range objects {
		if err != nil {
			return err
		}
		line, err := nameOf(o)
		if err != nil {
			return err
		}
		if _, err := buffer.WriteString(line + "\n"); err != nil {
			return err
		}
	}
	return buffer.Flush()
}

func nameOf(o any) (string, error) {
	object, ok := o.(runtime.Object)
	if !ok {
		return "", fmt.Errorf("%T is not an API object", o)
	}
	metadata, err := meta.Accessor(object)
	if err != nil {
		return "", err
	}
	kind := object.GetObjectKind().GroupVersionKind()
	name := strings.ToLower(kind.Kind)
	if kind.Group != "" {
		name += "." + kind.Group
	}
	if metadata.GetName() == "" {
		return name + "/" + metadata.GetGenerateName(), nil
	}
	return name + "/" + metadata.GetName(), nil
}
