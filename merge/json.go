package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// This file converts Go values to JSON and back, and finds in JSON what merges: directives, lists
// of objects, scalars.

// holdsObjects reports whether a patch's list contains an object.
func holdsObjects(list []any) bool {
	return slices.ContainsFunc(list, func(item any) bool { _, ok := item.(Object); return ok })
}

// areAlike reports whether the elements of a patch's list are all scalars or all objects, of one
// type.
func areAlike(list []any) bool {
	for _, item := range list {
		if is := typeInJSON(item); is == "" || is == "list" || is != typeInJSON(list[0]) {
			return false
		}
	}
	return true
}

func isComposite(value any) bool {
	switch value.(type) {
	case Object, []any:
		return true
	}
	return false
}

// encoded returns the JSON of a Go value.
func encoded(value any) (any, error) {
	made, err := tree.Value(value)
	var unsupported *json.UnsupportedValueError
	if errors.As(err, &unsupported) && strings.HasPrefix(unsupported.Str, "encountered a cycle") {
		err = errCycle
	}
	return made, err
}

// decoded returns a value of JSON. Numbers keep their digits as far as an int64 or a float64 has
// them.
func decoded(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return convertNumbers(value), err
}

// holdsJSON reports whether the part of a patch that a type knows has only objects, lists and
// scalars in it. The error states that the part contains itself.
func holdsJSON(t *schema.Type, value any, within *tree.Nesting) (is bool, err error) {
	if !isComposite(value) {
		return value == nil || typeInJSON(value) != "", nil
	}
	at := reflect.ValueOf(value)
	if within.Enter(at) {
		return false, errCycle
	}
	defer within.Leave(at)
	is = true
	add := func(t *schema.Type, part any) {
		if err == nil {
			var of bool
			of, err = holdsJSON(t, part, within)
			is = is && of
		}
	}
	switch v := value.(type) {
	case Object:
		for name, part := range v {
			if of, isKnown := partOf(t, name); isKnown {
				add(of, part)
			}
		}
	case []any:
		for _, part := range v {
			add(elemType(t), part)
		}
	default:
		is = false
	}
	return is, err
}

var errCycle = errors.New("contains itself")

// toJSON returns a patch with the JSON of each other Go value in it. It omits the fields that the
// type lacks.
func toJSON(t *schema.Type, value any) (any, error) {
	switch v := value.(type) {
	case Object:
		object := make(Object, len(v))
		for name, part := range byName(v).all {
			of, isKnown := partOf(t, name)
			if !isKnown {
				object[name] = nil // ignored, but reported
				continue
			}
			var err error
			if object[name], err = toJSON(of, part); err != nil {
				return nil, inside(fieldpath.Field(name), err)
			}
		}
		return object, nil
	case []any:
		list := make([]any, len(v))
		for i, part := range v {
			var err error
			if list[i], err = toJSON(elemType(t), part); err != nil {
				return nil, inside(fieldpath.Index(i), err)
			}
		}
		return list, nil
	}
	if value == nil || typeInJSON(value) != "" {
		return value, nil
	}
	return encoded(value)
}

// partOf returns how the part of an object merges, or nil if no schema describes it. A struct's
// type knows its fields and all directives.
func partOf(t *schema.Type, name string) (of *schema.Type, isKnown bool) {
	if t == nil || t.Kind != schema.Struct {
		return elemType(t), true
	}
	if f := t.Field(name); f != nil {
		return f.Type, true
	}
	return nil, strings.HasPrefix(name, "$")
}

func elemType(t *schema.Type) *schema.Type {
	if t == nil {
		return nil
	}
	return t.Elem
}

// convertNumbers converts the numbers within a value to int64 or float64, as API machinery does.
func convertNumbers(value any) any {
	switch value := value.(type) {
	case Object:
		for name, v := range value {
			value[name] = convertNumbers(v)
		}
	case []any:
		for i, v := range value {
			value[i] = convertNumbers(v)
		}
	case json.Number:
		if i, err := value.Int64(); err == nil {
			return i
		}
		f, _ := value.Float64()
		return f
	}
	return value
}

// hasDirective reports whether a patch's value is an object with a $patch other than null. A null
// has no effect if the base lacks the value.
func hasDirective(value any) bool {
	object, _ := value.(Object)
	return object[patchDirective] != nil
}

// wrongType returns an error for a patch's value of another type than the field's.
func wrongType(value any, want string) error {
	return fmt.Errorf("must be %s, and is %s", want, jsonName(value))
}

// Upstream searches every map of a strategic merge patch for directives, even a map of strings. So
// a label "$patch" is a directive, and can empty the base's labels. Apply does exactly the same. A
// directive claims each field that it removes, as a null does.
const (
	patchDirective  = "$patch"
	retainDirective = "$retainKeys"
	orderDirective  = "$setElementOrder"
	deleteDirective = "$deleteFromPrimitiveList"
)

// byName is an object whose entries come in the order of their names.
type byName Object

func (o byName) all(yield func(string, any) bool) {
	if len(o) < 2 {
		for name, value := range o {
			yield(name, value)
		}
		return
	}
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !yield(name, o[name]) {
			return
		}
	}
}

// quoted returns a string as JSON.
func quoted(text string) string {
	return string(append(appendEscaped(append(make([]byte, 0, len(text)+2), '"'), text), '"'))
}

// appendEscaped appends a string as JSON, without the quotes.
func appendEscaped(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '<' || c == '>' || c == '&' {
			data, _ := json.Marshal(text) // a string is always JSON
			return append(b, data[1:len(data)-1]...)
		}
	}
	for i := range len(text) {
		if c := text[i]; c == '"' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return b
}

func withArticle(name string) string {
	if name == "object" || strings.HasPrefix(name, "integer") {
		return "an " + name
	}
	return "a " + name
}

// typeInJSON returns the name of a value's JSON type, or "" for other values.
func typeInJSON(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case map[string]any:
		return "object"
	case []any:
		return "list"
	case int64, float64, int, int32, int16, int8, uint, uint64, uint32, uint16, uint8, float32,
		json.Number:
		return "number"
	default:
		return ""
	}
}

// jsonName returns the name of a value's JSON type with its article, or the Go type of other
// values.
func jsonName(v any) string {
	is := typeInJSON(v)
	switch {
	case v == nil:
		return "null"
	case is == "":
		return fmt.Sprintf("%T", v)
	}
	return withArticle(is)
}

// isScalar reports whether a value is a scalar of JSON other than null.
func isScalar(v any) bool {
	is := typeInJSON(v)
	return is != "" && is != "object" && is != "list"
}

// decode sets the zero value that into points to from JSON as API machinery does. An integer in a
// value of any type stays an integer. An error names the type that the value requires.
func decode(from, into any) error {
	if tree.Decode(from, into) {
		return nil
	}
	text, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("is no JSON: %w", err)
	}
	err = tree.UnmarshalBounded(text, into, kjson.UnmarshalCaseSensitivePreserveInts)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		want, is := jsonType(reflect.TypeOf(into).Elem()), withArticle(typeInJSON(from))
		if want == is {
			is = wrong.Value // of a field within, or a number out of range
		}
		return fmt.Errorf("must be %s, and is %s", want, is)
	}
	return err
}

// jsonType returns the JSON type of a Go type, with its article.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		return "a list"
	default:
		return "a number"
	}
}
