package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/trainweld/trainweld/manifest/internal/encode"
	"github.com/trainweld/trainweld/manifest/internal/jsonfields"
)

// Format is how objects are written.
type Format int

const (
	// YAML writes documents with "---" lines between them.
	YAML Format = iota
	// JSON writes one object as it is, and several, or none, as a v1 List.
	JSON
)

// String is "yaml" or "json".
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

// ParseFormat reads "yaml" or "json".
func ParseFormat(name string) (Format, error) {
	for _, f := range []Format{YAML, JSON} {
		if name == f.String() {
			return f, nil
		}
	}
	return 0, fmt.Errorf("unknown format %q: want yaml or json", name)
}

// Encode writes API objects for people and for kubectl: equal objects give equal bytes. Keys are
// sorted. Left out is what says nothing: an object's status, and an optional field whose Go type is a struct
// and not a pointer to one when it is empty (metadata, resources, a creationTimestamp of null). Other
// empty values mean something and stay: emptyDir: {}, a required preference: {}, the empty command and args of
// a TrainJob, which clear those of its runtime, and all that a JobSet's volumeClaimPolicies hold.
//
// In YAML, a string that a reader of YAML 1.1 or 1.2 could take for something else is quoted, and a
// string of several lines is a literal block where it can be. JSON is indented by four spaces, as
// kubectl does.
//
// Objects are values of API types, or maps as encoding/json makes them. Nothing is written if one of
// them cannot be encoded.
func Encode(w io.Writer, format Format, objects ...any) error {
	return new(Encoder).Encode(w, format, objects...)
}

// Encoder encodes many objects, one call after the other. It remembers what it has learned of their Go
// types, which takes longer than to encode a small object. The zero value is ready for use; it is for one
// goroutine at a time.
type Encoder struct {
	// KeepStatus keeps the status of objects that have one.
	KeepStatus bool

	structs jsonfields.Structs
}

// Encode writes objects as the function [Encode] does.
func (e *Encoder) Encode(w io.Writer, format Format, objects ...any) error {
	if e == nil {
		e = &Encoder{}
	}
	if e.structs == nil {
		e.structs = jsonfields.Structs{}
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
		encode.JSON(&b, v, 0)
		b.WriteByte('\n')
	default:
		return fmt.Errorf("unknown format %v", format)
	}
	_, err := w.Write(b.Bytes())
	return err
}
