package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/manifest/internal/encode"
)

// Format is the format of encoded objects.
type Format int

const (
	// YAML writes documents with "---" lines between them.
	YAML Format = iota
	// JSON writes one object, or a v1 List of several or none.
	JSON
)

// String returns "yaml" or "json".
func (f Format) String() string {
	switch f {
	case YAML:
		return "yaml"
	case JSON:
		return "json"
	default:
		return fmt.Sprintf("Format(%d)", int(f))
	}
}

// ParseFormat parses "yaml" or "json", and returns an error for other names.
func ParseFormat(name string) (Format, error) {
	for _, f := range []Format{YAML, JSON} {
		if name == f.String() {
			return f, nil
		}
	}
	return 0, fmt.Errorf("%q is none of yaml, json", name)
}

// Encode writes API objects for people and for kubectl. Equal objects give equal bytes, with sorted
// keys. It omits an object's status. It omits nil lists, maps and pointers, even in required
// fields, since an API server stores no null. It omits an empty optional field whose type is a
// struct, not a pointer (metadata, resources). It keeps other empty values, which have a meaning,
// such as emptyDir: {} and a required preference: {}. An empty command or args of a TrainJob clears
// the runtime's. It also keeps everything in a JobSet's volumeClaimPolicies.
//
// YAML quotes strings that a YAML 1.1 or 1.2 reader could misread. It writes strings of several
// lines as literal blocks if possible. JSON has four spaces of indentation, like kubectl's.
//
// Objects are values of API types, or maps in the form of encoding/json. On an encoding error,
// Encode writes nothing.
func Encode(w io.Writer, format Format, objects ...any) error {
	return new(Encoder).Encode(w, format, objects...)
}

// Encoder encodes objects in several calls. It caches their Go types, whose analysis takes longer
// than encoding a small object. The zero value is ready for use by one goroutine at a time.
type Encoder struct {
	// KeepStatus keeps the status of objects.
	KeepStatus bool

	structs tree.Structs
}

// Encode writes objects like the function [Encode].
func (e *Encoder) Encode(w io.Writer, format Format, objects ...any) error {
	if e == nil {
		e = &Encoder{}
	}
	if e.structs == nil {
		e.structs = tree.Structs{}
	}
	if w == nil {
		return errors.New("there is no writer")
	}
	values := make([]*encode.Value, len(objects))
	for i, object := range objects {
		v, err := (&encode.Encoder{Structs: e.structs}).Object(object, e.KeepStatus)
		if err != nil {
			return fmt.Errorf("object %d, a %T: %w", i+1, object, err)
		}
		values[i] = v
	}
	var b bytes.Buffer
	switch format {
	case YAML:
		for i, v := range values {
			if i > 0 {
				b.WriteString("---\n")
			}
			encode.YAML(&b, v)
		}
	case JSON:
		v := encode.List(values)
		if len(values) == 1 {
			v = values[0]
		}
		if err := encode.JSON(&b, v); err != nil {
			return err
		}
		b.WriteByte('\n')
	default:
		return fmt.Errorf("unknown format %v", format)
	}
	_, err := w.Write(b.Bytes())
	return err
}
