package main

import (
	"bufio"
	"bytes"
	"io"
	"iter"

	"github.com/trainweld/trainweld/internal/report"
	"github.com/trainweld/trainweld/manifest"
)

// commented is an object with a comment before it. JSON has no comments, and drops it.
type commented struct {
	object  any
	comment string
}

// encodeStream writes objects as they come, and holds one at a time.
func encodeStream(w io.Writer, format manifest.Format, objects iter.Seq2[any, error]) error {
	out := newOutput(w, format)
	var encoder manifest.Encoder
	for text, err := range encoded(&encoder, format, objects) {
		if err != nil {
			return err
		}
		if err := out.add(text); err != nil {
			return err
		}
	}
	return out.close()
}

// output is a framing that writes large pieces.
type output struct {
	framing
	buffer *bufio.Writer
}

func newOutput(w io.Writer, format manifest.Format) *output {
	buffer := bufio.NewWriterSize(w, 1<<16)
	return &output{framing{w: buffer, format: format}, buffer}
}

func (o *output) close() error {
	if err := o.framing.close(); err != nil {
		return err
	}
	return o.buffer.Flush()
}

// encoded yields the text of each object, which is valid until the next one.
func encoded(encoder *manifest.Encoder, format manifest.Format, objects iter.Seq2[any, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var b bytes.Buffer
		for object, err := range objects {
			b.Reset()
			if c, ok := object.(commented); ok {
				object = c.object
				if format == manifest.YAML {
					b.WriteString("# " + report.Printable(c.comment) + "\n")
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

// each yields the objects of a list.
func each(objects []any) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for _, o := range objects {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// chain yields the objects of several streams, one after the other.
func chain(streams []iter.Seq2[any, error]) iter.Seq2[any, error] {
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
