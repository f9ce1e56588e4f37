package main

import (
	"bufio"
	"io"
	"iter"

	"github.com/trainweld/trainweld/schema/manifest"
)

// commented is an object with a comment before it. JSON has no comments, and drops it.
type commented struct {
	object  any
	comment string
}

// encodeStream writes objects as they come: as YAML it holds one at a time. A JSON List is one
// document, so its items are held together.
func encodeStream(w io.Writer, format manifest.Format, objects iter.Seq2[any, error]) error {
	out := bufio.NewWriterSize(w, 1<<16)
	var list []any
	first := true
	for object, err := range objects {
		comment := ""
		if c, ok := object.(commented); ok {
			object, comment = c.object, "# "+c.comment+"\n"
		}
		switch {
		case err != nil:
			return err
		case format == manifest.JSON:
			list = append(list, object)
			continue
		case !first:
			if _, err := out.WriteString("---\n"); err != nil {
				return err
			}
		}
		first = false
		if _, err := out.WriteString(comment); err != nil {
			return err
		}
		if err := manifest.Encode(out, format, object); err != nil {
			return err
		}
	}
	if format == manifest.JSON {
		if err := manifest.Encode(out, format, list...); err != nil {
			return err
		}
	}
	return out.Flush()
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
