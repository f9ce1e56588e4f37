package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// FieldsV1Paths returns the fields that one entry of metadata.managedFields names. The input is its
// fieldsV1, a JSON object:
//
//	f:NAME                  a field, or a key of a map
//	k:{"KEY":VALUE,...}     an item of a list-map
//	v:VALUE                 an element of a set
//	i:N                     a position
//	.                       the field around it
//
// An empty object names its field as well. History.FieldsV1 writes this format, and
// fieldpath.Set.FromJSON in structured-merge-diff v6 defines it.
//
// The paths come in the order of the input. FieldsV1 does not distinguish a field from a key of a
// map. A name of letters, digits, "-", "_" and "$" becomes a fieldpath.Field, any other name a
// fieldpath.Key. The value itself has no path. Each path is valid until the next one; path.Append()
// copies it.
//
// An invalid input ends with a nil path and a *FieldsV1Error. Invalid are JSON errors, text after
// the value, unknown prefixes, malformed keys, duplicates, and more than 10,000 levels. The time is
// linear in the input.
func FieldsV1Paths(data []byte) iter.Seq2[fieldpath.Path, error] {
	return func(yield func(fieldpath.Path, error) bool) {
		r := fieldsReader{json: json.NewDecoder(bytes.NewReader(data))}
		if err := r.read(func(path fieldpath.Path) bool { return yield(path, nil) }); err != nil {
			yield(nil, &FieldsV1Error{Path: r.path.Append(), Offset: r.json.InputOffset(),
				Err: err})
		}
	}
}

// A FieldsV1Error reports where a FieldsV1 value is invalid.
type FieldsV1Error struct {
	// Path leads to the invalid object. It is empty for the whole value.
	Path fieldpath.Path
	// Offset counts the bytes read, up to the end of the last token.
	Offset int64
	// Err states the problem.
	Err error
}

// Error names the byte, the field and the problem.
func (e *FieldsV1Error) Error() string {
	if e == nil || e.Err == nil {
		return "no error"
	}
	in := ""
	if text := shortened(e.Path.String()); text != "" {
		in = " in " + text
	}
	return fmt.Sprintf("byte %d%s: %s", e.Offset, in, e.Err)
}

// Unwrap returns the problem.
func (e *FieldsV1Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// maxFieldsDepth equals the limit of encoding/json.
const maxFieldsDepth = 10_000

// fieldsReader holds the state of one reading.
type fieldsReader struct {
	json  *json.Decoder
	path  fieldpath.Path
	stack []fieldsFrame // one for each object that is open
}

// fieldsFrame records the keys of an open object.
type fieldsFrame struct {
	first   fieldpath.Step
	others  map[fieldpath.Step]bool // made for the second step
	steps   int
	present bool // whether it has "."
}

// add records a step and reports whether it is new.
func (f *fieldsFrame) add(step fieldpath.Step) bool {
	f.steps++
	switch {
	case f.steps == 1:
		f.first = step
		return true
	case step == f.first || f.others[step]:
		return false
	case f.others == nil:
		f.others = map[fieldpath.Step]bool{}
	}
	f.others[step] = true
	return true
}

// read visits each named field until visit returns false. It does not recurse, since the input may
// be deep.
func (r *fieldsReader) read(visit func(fieldpath.Path) bool) error {
	if err := r.open(); err != nil {
		return err
	}
	for len(r.stack) > 0 {
		token, err := r.token()
		if err != nil {
			return err
		}
		key, isKey := token.(string)
		top := &r.stack[len(r.stack)-1]
		switch {
		case !isKey: // "}"
			if len(r.path) > 0 && top.steps == 0 && !top.present && !visit(r.path) {
				return nil
			}
			r.stack = r.stack[:len(r.stack)-1]
			r.path = r.path[:max(0, len(r.path)-1)]
		case key == ".":
			if top.present {
				return errors.New(`duplicate key "."`)
			}
			top.present = true
			if err := r.empty(); err != nil {
				return err
			}
			if len(r.path) > 0 && !visit(r.path) {
				return nil
			}
		default:
			step, err := stepOf(key)
			if err != nil {
				return fmt.Errorf("invalid key %q: %w", shortened(key), err)
			}
			if !top.add(step) {
				return fmt.Errorf("duplicate key %q", shortened(key))
			}
			r.path = append(r.path, step)
			if err := r.open(); err != nil {
				return err
			}
		}
	}
	if _, err := r.json.Token(); err != io.EOF {
		return errors.New("unexpected text after the value")
	}
	return nil
}

// open reads the start of an object.
func (r *fieldsReader) open() error {
	token, err := r.token()
	switch {
	case err != nil:
		return err
	case token != json.Delim('{'):
		return errors.New("must be an object")
	case len(r.stack) == maxFieldsDepth:
		return fmt.Errorf("must be at most %d levels deep", maxFieldsDepth)
	}
	r.stack = append(r.stack, fieldsFrame{})
	return nil
}

// empty reads the value of ".".
func (r *fieldsReader) empty() error {
	for _, want := range []json.Delim{'{', '}'} {
		if token, err := r.token(); err != nil {
			return err
		} else if token != want {
			return errors.New(`invalid value of ".": must be {}`)
		}
	}
	return nil
}

func (r *fieldsReader) token() (json.Token, error) { return tokenOf(r.json) }

// tokenOf reads a token, and fails at the end of the input.
func tokenOf(d *json.Decoder) (json.Token, error) {
	token, err := d.Token()
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil, errors.New("invalid JSON: unexpected end")
	case err != nil:
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	return token, nil
}

// stepOf returns the step that a key of FieldsV1 names.
func stepOf(key string) (fieldpath.Step, error) {
	kind, text, _ := strings.Cut(key, ":")
	if len(key) < 2 || key[1] != ':' {
		kind = ""
	}
	switch kind {
	case "f":
		return (*schema.Type)(nil).Step(text), nil
	case "k":
		keys, err := itemKeysOf(text)
		if err != nil {
			return fieldpath.Step{}, err
		}
		return fieldpath.ItemBy(keys...), nil
	case "v":
		value, err := elementOf(text)
		if err != nil {
			return fieldpath.Step{}, err
		}
		return fieldpath.ElementOf(value), nil
	case "i":
		i, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return fieldpath.Step{}, errors.New(`must be a position after "i:"`)
		}
		return fieldpath.Index(int(i)), nil
	}
	return fieldpath.Step{}, errors.New(`must start with "f:", "k:", "v:" or "i:"`)
}

// itemKeysOf reads the merge keys of an item: a JSON object of scalars.
func itemKeysOf(text string) ([]fieldpath.ItemKey, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if token, err := tokenOf(d); err != nil {
		return nil, err
	} else if token != json.Delim('{') {
		return nil, errors.New(`must be an object after "k:"`)
	}
	var keys []fieldpath.ItemKey
	seen := map[string]bool{}
	for {
		token, err := tokenOf(d)
		if err != nil {
			return nil, err
		}
		name, isName := token.(string)
		switch {
		case !isName && keys == nil:
			return nil, errors.New(`must have at least one merge key after "k:"`)
		case !isName:
			return keys, atEnd(d)
		case name == "":
			return nil, errors.New("the name of a merge key must not be empty")
		case seen[name]:
			return nil, fmt.Errorf("duplicate merge key %q", shortened(name))
		}
		seen[name] = true
		value, err := tokenOf(d)
		if err != nil {
			return nil, err
		}
		if _, isDelim := value.(json.Delim); isDelim {
			return nil, fmt.Errorf("the value of merge key %q must be a scalar", shortened(name))
		}
		if value, err = numberOf(value); err != nil {
			return nil, err
		}
		keys = append(keys, fieldpath.ItemKey{Name: name, Value: value})
	}
}

// elementOf reads the element of a set: any JSON, since an atomic list or map may be one.
func elementOf(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, errors.New(`invalid JSON after "v:"`)
	}
	if err := atEnd(d); err != nil {
		return nil, err
	}
	return numberOf(value)
}

// atEnd returns an error if text follows a value.
func atEnd(d *json.Decoder) error {
	if _, err := d.Token(); err != io.EOF {
		return errors.New("unexpected text after the value")
	}
	return nil
}

// numberOf converts each number of a value to an int64 or a float64.
func numberOf(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, errors.New("the number is out of range")
		}
		return f, nil
	case []any:
		for i := range v {
			if v[i], err = numberOf(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = numberOf(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// longestQuote limits the input that an error repeats, in bytes.
const longestQuote = 128

// shortened removes the middle of a long string.
func shortened(text string) string {
	if len(text) <= longestQuote {
		return text
	}
	return strings.ToValidUTF8(text[:longestQuote/2], "") + "…" +
		strings.ToValidUTF8(text[len(text)-longestQuote/2:], "")
}
