package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// read sets dst to a patch's value, field by field, so that an error names the field. It ignores a field that the type lacks,
// as the cluster does.
func (m *merger) read(t *schema.Type, dst reflect.Value, from any) error {
	if from == nil {
		dst.SetZero()
		return nil
	}
	if dst.Kind() == reflect.Pointer {
		made := reflect.New(dst.Type().Elem())
		if err := m.read(t, made.Elem(), from); err != nil {
			return err
		}
		dst.Set(made)
		return nil
	}
	switch {
	case t.Kind == schema.Scalar:
		return readScalar(dst, from)
	case dst.Kind() == reflect.Struct:
		return m.readStruct(t, dst, from)
	case dst.Kind() == reflect.Map:
		return m.readMap(t, dst, from)
	default:
		return m.readList(t, dst, from)
	}
}

// readIn reads a value one step below the current one.
func (m *merger) readIn(step fieldpath.Step, t *schema.Type, dst reflect.Value, from any) error {
	m.steps = append(m.steps, step)
	err := m.read(t, dst, from)
	m.steps = m.steps[:len(m.steps)-1]
	if err != nil {
		return within(step, err)
	}
	return nil
}

func (m *merger) readStruct(t *schema.Type, dst reflect.Value, from any) error {
	object, ok := from.(Object)
	if !ok {
		return wrongType(from, "an object")
	}
	dst.SetZero()
	for _, name := range slices.Sorted(maps.Keys(object)) {
		f := t.Field(name)
		if f == nil {
			m.ignore(m.reading, name)
		}
		if f == nil || object[name] == nil {
			continue
		}
		to, _ := f.Template.In(dst)
		if err := m.readIn(fieldpath.Field(name), f.Type, to, object[name]); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) readMap(t *schema.Type, dst reflect.Value, from any) error {
	object, ok := from.(Object)
	if !ok {
		return wrongType(from, "an object")
	}
	made := reflect.MakeMapWithSize(dst.Type(), len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value := reflect.New(dst.Type().Elem()).Elem()
		if err := m.readIn(fieldpath.Key(key), t.Elem, value, object[key]); err != nil {
			return err
		}
		made.SetMapIndex(reflect.ValueOf(key).Convert(dst.Type().Key()), value)
	}
	dst.Set(made)
	return nil
}

func (m *merger) readList(t *schema.Type, dst reflect.Value, from any) error {
	items, ok := from.([]any)
	if !ok {
		return wrongType(from, "a list")
	}
	made := reflect.MakeSlice(dst.Type(), len(items), len(items))
	for i, item := range items {
		if err := m.readIn(fieldpath.Index(i), t.Elem, made.Index(i), item); err != nil {
			return err
		}
	}
	dst.Set(made)
	return nil
}

// readScalar reads a value that has no fields, or that reads its own JSON.
func readScalar(dst reflect.Value, from any) error {
	if !reflect.PointerTo(dst.Type()).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		switch value := from.(type) {
		case string:
			if dst.Kind() == reflect.String {
				dst.SetString(value)
				return nil
			}
		case bool:
			if dst.Kind() == reflect.Bool {
				dst.SetBool(value)
				return nil
			}
		case int64:
			if dst.CanInt() && !dst.OverflowInt(value) {
				dst.SetInt(value)
				return nil
			}
		}
	}
	dst.SetZero() // a type that reads its own JSON may write to its old memory
	return decode(dst, from)
}

// jsonKind returns the JSON kind of a value, even within a pointer. The kinds are reflect.Map, Slice, String, Bool and Float64,
// and Invalid for null.
func jsonKind(v reflect.Value) reflect.Kind {
	v = pointee(v)
	if !v.IsValid() {
		return reflect.Invalid
	}
	if _, ok := v.Interface().(json.Marshaler); ok {
		value, _ := jsonOf(v)
		return jsonKind(reflect.ValueOf(value))
	}
	switch k := v.Kind(); {
	case k == reflect.Struct:
		return reflect.Map
	case k == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return reflect.String
	case v.CanInt() || v.CanUint() || v.CanFloat():
		return reflect.Float64
	default:
		return k
	}
}

// holdsObjects reports whether a patch's list contains an object.
func holdsObjects(list []any) bool {
	return slices.ContainsFunc(list, func(item any) bool { _, ok := item.(Object); return ok })
}

// areAlike reports whether the elements of a patch's list are all scalars or all objects, of one type.
func areAlike(list []any) bool {
	for _, item := range list {
		if k := jsonKind(reflect.ValueOf(item)); k == reflect.Invalid || k == reflect.Slice || k != jsonKind(reflect.ValueOf(list[0])) {
			return false
		}
	}
	return true
}

func isComposite(value any) bool {
	k := reflect.ValueOf(value).Kind()
	return k == reflect.Map || k == reflect.Slice
}

// jsonOf returns the JSON of a value, decoded. It shares no memory with the value.
func jsonOf(v reflect.Value) (any, error) {
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, err
	}
	return decoded(text)
}

// decoded returns a value of JSON. Numbers keep their digits as far as an int64 or a float64 has them.
func decoded(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return convertNumbers(value), err
}

// holdsJSON reports whether the part of a patch that a type knows has only objects, lists and scalars in it. The error states that
// the part contains itself.
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

// toJSON returns a patch with the JSON of each other Go value in it. It omits the fields that the type lacks.
func toJSON(t *schema.Type, value any) (any, error) {
	switch v := value.(type) {
	case Object:
		object := make(Object, len(v))
		for name, part := range sorted(v) {
			of, isKnown := partOf(t, name)
			if !isKnown {
				object[name] = nil // ignored, but reported
				continue
			}
			var err error
			if object[name], err = toJSON(of, part); err != nil {
				return nil, within(fieldpath.Field(name), err)
			}
		}
		return object, nil
	case []any:
		list := make([]any, len(v))
		for i, part := range v {
			var err error
			if list[i], err = toJSON(elemType(t), part); err != nil {
				return nil, within(fieldpath.Index(i), err)
			}
		}
		return list, nil
	}
	if value == nil || typeInJSON(value) != "" {
		return value, nil
	}
	return jsonOf(reflect.ValueOf(value))
}

// partOf returns how the part of an object merges, or nil if no schema describes it. A struct's type knows its fields and all
// directives.
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

// ignore records a field that the type of the value at a node lacks.
func (m *merger) ignore(at node, name string) {
	path := m.steps.Append(fieldpath.Field(name))
	if m.owners {
		path = m.log.path(at).Append(path...)
	}
	m.ignored = append(m.ignored, Ignored{Layer: m.of, Path: path})
}

// pointee returns the value behind pointers and interfaces, invalid for null.
func pointee(from reflect.Value) reflect.Value {
	for {
		switch from.Kind() {
		case reflect.Pointer, reflect.Interface:
			if from.IsNil() {
				return reflect.Value{}
			}
			from = from.Elem()
		case reflect.Slice, reflect.Map:
			if from.IsNil() {
				return reflect.Value{}
			}
			return from
		default:
			return from
		}
	}
}

// hasDirective reports whether a patch's value is an object with a $patch other than null. A null has no effect if the base
// lacks the value.
func hasDirective(value any) bool {
	object, _ := value.(Object)
	return object[patchDirective] != nil
}

// clashes reports whether upstream would have to merge two objects or two lists under one key of a map. Upstream rejects that,
// because it knows only the rules of struct fields (apimachinery v0.36.3 third_party/forked/golang/json).
func clashes(t *schema.Type, old reflect.Value, value any) bool {
	if t.Elem == nil || t.Elem.Kind == schema.Scalar && !t.Elem.Raw && t.Elem.GoType() != nil && t.Elem.GoType().Kind() != reflect.Interface {
		return false
	}
	return isComposite(value) && jsonKind(old) == reflect.TypeOf(value).Kind()
}

// wrongType returns an error for a patch's value of another type than the field's.
func wrongType(value any, want string) error {
	return fmt.Errorf("must be %s, and is %s", want, jsonName(value))
}
