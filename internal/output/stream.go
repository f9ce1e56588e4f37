// Package output writes what commands make: streams of objects, directories as a whole or not at all, and files in place.
package output

import (
	"bufio"
	"bytes"
	"io"
	"iter"

	"github.com/trainweld/trainweld/internal/report"
	"github.com/trainweld/trainweld/manifest"
)

// Commented is an object with a comment before it. JSON has no comments, and drops it.
type Commented struct {
	Object  any
	Comment string
}

// Encode writes objects as they come, and holds one at a time.
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

// Stream is a framing that writes large pieces.
type Stream struct {
	Framing
	buffer *bufio.Writer
}

// NewStream returns a stream to an output.
func NewStream(w io.Writer, format manifest.Format) *Stream {
	buffer := bufio.NewWriterSize(w, 1<<16)
	return &Stream{Framing{W: buffer, Format: format}, buffer}
}

// Close ends the output.
func (o *Stream) Close() error {
	if err := o.Framing.Close(); err != nil {
		return err
	}
	return o.buffer.Flush()
}

// Encoded yields the text of each object, which is valid until the next one.
func Encoded(encoder *manifest.Encoder, format manifest.Format, objects iter.Seq2[any, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var b bytes.Buffer
		for object, err := range objects {
			b.Reset()
			if c, ok := object.(Commented); ok {
				object = c.Object
				if format == manifest.YAML {
					b.WriteString("# " + report.Printable(c.Comment) + "\n")
				}
			}
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

// Chain yields the objects of several streams, one after the other.
func Chain(streams []iter.Seq2[any, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for _, stream := range streams {
			for o, err := range stream {
				if !yield(o, err) {
					return
				}
			}
		}
	}
}
