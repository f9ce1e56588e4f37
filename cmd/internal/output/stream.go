// Package output writes the results of commands: streams of objects, whole directories, and files
// in place.
//
// Its first file to read is writing.go.
package output

import (
	"bufio"
	"bytes"
	"io"
	"iter"

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
