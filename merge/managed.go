package merge

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// FieldsV1Paths returns the fields that one entry of metadata.managedFields names. The input is its
// fieldsV1, of which each key leads to the fields within:
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
// A field comes before those within it, and the keys of an object are sorted. FieldsV1 does not
// distinguish a field from a key of a map. A name of letters, digits, "-", "_" and "$" becomes a
// fieldpath.Field, any other name a fieldpath.Key. The value itself has no path. Each path is valid
// until the next one; path.Append() copies it.
//
// An invalid input ends with a nil path and a *FieldsV1Error. Invalid are values that are no
// objects, unknown prefixes and malformed keys.
func FieldsV1Paths(fields Object) iter.Seq2[fieldpath.Path, error] {
	return func(yield func(fieldpath.Path, error) bool) { visitNamed(fields, nil, yield) }
}

// visitNamed visits the fields that the fields of a path name, until visit returns false.
func visitNamed(fields Object, at fieldpath.Path, visit func(fieldpath.Path, error) bool) bool {
	_, itself := fields["."]
	if len(at) > 0 && (itself || len(fields) == 0) && !visit(at, nil) {
		return false
	}
	for key, value := range byName(fields).all {
		if key == "." {
			continue
		}
		step, within, err := readKey(key, value)
		if err == nil && len(at) == deepest {
			err = errTooDeep
		}
		if err != nil {
			visit(nil, &FieldsV1Error{Path: at.Append(), Err: err})
			return false
		}
		if !visitNamed(within, append(at, step), visit) {
			return false
		}
	}
	return true
}

// A FieldsV1Error reports where a FieldsV1 value is invalid.
type FieldsV1Error struct {
	// Path leads to the invalid object. It is empty for the whole value.
	Path fieldpath.Path
	// Err states the problem.
	Err error
}

// Error names the field and the problem.
func (e *FieldsV1Error) Error() string {
	switch {
	case e == nil || e.Err == nil:
		return "no error"
	case len(e.Path) == 0:
		return e.Err.Error()
	}
	return fmt.Sprintf("in %s: %s", shortened(e.Path.String()), e.Err)
}

// Unwrap returns the problem.
func (e *FieldsV1Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// readKey returns the step that a key of FieldsV1 names, and the fields within.
func readKey(key string, value any) (step fieldpath.Step, within Object, err error) {
	within, isObject := value.(Object)
	if !isObject {
		return step, nil, fmt.Errorf("the value of %q must be an object", shortened(key))
	}
	if step, err = stepOf(key); err != nil {
		err = fmt.Errorf("invalid key %q: %w", shortened(key), err)
	}
	return step, within, err
}

// stepOf returns the step that a key of FieldsV1 names.
func stepOf(key string) (step fieldpath.Step, err error) {
	kind, text, found := strings.Cut(key, ":")
	if !found {
		kind = ""
	}
	switch kind {
	case "f":
		return (*schema.Type)(nil).Step(text), nil
	case "i":
		i, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return step, errors.New(`must be a position after "i:"`)
		}
		return fieldpath.Index(int(i)), nil
	case "k", "v":
		var value any
		if kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &value) != nil {
			return step, fmt.Errorf("must be JSON after %q", kind+":")
		}
		if kind == "v" { // any JSON, since an atomic list or map may be an element
			return fieldpath.ElementOf(value), nil
		}
		named, _ := value.(Object)
		if len(named) == 0 {
			return step, errors.New(`must be an object with merge keys after "k:"`)
		}
		keys := make([]fieldpath.ItemKey, 0, len(named))
		for name, value := range byName(named).all {
			if name == "" || isComposite(value) {
				return step, errors.New("a merge key must have a name, and a scalar as its value")
			}
			keys = append(keys, fieldpath.ItemKey{Name: name, Value: value})
		}
		return fieldpath.ItemBy(keys...), nil
	}
	return step, errors.New(`must start with "f:", "k:", "v:" or "i:"`)
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
