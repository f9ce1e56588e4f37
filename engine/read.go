package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/schema"
)

// read sets dst to what the value of a patch says, field by field, so that an error names the field. A field that the type
// does not have says nothing, as in the cluster.
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
	case t == nil || t.Kind == schema.Scalar:
		return readScalar(dst, from)
	case dst.Kind() == reflect.Struct:
		return m.readStruct(t, dst, from)
	case dst.Kind() == reflect.Map:
		return m.readMap(t, dst, from)
	case dst.Kind() == reflect.Slice:
		return m.readList(t, dst, from)
	default:
		return readScalar(dst, from)
	}
}

func (m *merger) readStruct(t *schema.Type, dst reflect.Value, from any) error {
	object, ok := from.(Object)
	if !ok {
		return fmt.Errorf("must be an object, and is %s", jsonType(reflect.TypeOf(from)))
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
		if err := m.read(f.Type, to, object[name]); err != nil {
			return within(schema.Field(name), err)
		}
	}
	return nil
}

func (m *merger) readMap(t *schema.Type, dst reflect.Value, from any) error {
	object, ok := from.(Object)
	if !ok {
		return fmt.Errorf("must be an object, and is %s", jsonType(reflect.TypeOf(from)))
	}
	if dst.Type().Key().Kind() != reflect.String {
		return decode(dst, from)
	}
	made := reflect.MakeMapWithSize(dst.Type(), len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value := reflect.New(dst.Type().Elem()).Elem()
		if err := m.read(t.Elem, value, object[key]); err != nil {
			return within(schema.Key(key), err)
		}
		made.SetMapIndex(reflect.ValueOf(key).Convert(dst.Type().Key()), value)
	}
	dst.Set(made)
	return nil
}

func (m *merger) readList(t *schema.Type, dst reflect.Value, from any) error {
	items, ok := from.([]any)
	if !ok {
		return fmt.Errorf("must be a list, and is %s", jsonType(reflect.TypeOf(from)))
	}
	made := reflect.MakeSlice(dst.Type(), len(items), len(items))
	for i, item := range items {
		if err := m.read(t.Elem, made.Index(i), item); err != nil {
			return within(schema.Index(i), err)
		}
	}
	dst.Set(made)
	return nil
}

// readScalar is read for a value that has no fields, or writes its own JSON.
func readScalar(dst reflect.Value, from any) error {
	if dst.CanAddr() && !reflect.PointerTo(dst.Type()).Implements(reflect.TypeFor[json.Unmarshaler]()) {
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
		case float64:
			if dst.CanInt() && value == math.Trunc(value) && math.Abs(value) < 1<<53 && !dst.OverflowInt(int64(value)) {
				dst.SetInt(int64(value))
				return nil
			}
		}
	}
	return decode(dst, from)
}

// overlay merges two values of a type that writes its own JSON: where both are objects, upstream merges them name by
// name, and knows no rules for what is within.
func (m *merger) overlay(to, old, src reflect.Value) error {
	was, err := jsonOf(old)
	if err != nil {
		return err
	}
	is, err := jsonOf(src)
	if err != nil {
		return err
	}
	base, ok := was.(Object)
	patch, both := is.(Object)
	if !ok || !both {
		return decode(to, is)
	}
	switch directive := patch[patchDirective]; directive {
	case nil:
	case "replace":
		delete(patch, patchDirective)
		return decode(to, patch)
	case "delete":
		return decode(to, Object{})
	default:
		return fmt.Errorf("%s: unknown directive %q", patchDirective, fmt.Sprint(directive))
	}
	for name, value := range sorted(patch) {
		had, ok := base[name]
		if value == nil {
			delete(base, name)
			continue
		}
		if ok && isComposite(value) && reflect.TypeOf(had) == reflect.TypeOf(value) {
			return within(schema.Field(name), errors.New("the type has no such field to merge"))
		}
		if value, keep := withoutDirectives(value); keep {
			base[name] = value
		} else {
			delete(base, name)
		}
	}
	return decode(to, base)
}

func isComposite(value any) bool {
	k := reflect.ValueOf(value).Kind()
	return k == reflect.Map || k == reflect.Slice
}

// jsonOf is what a value's JSON says. It shares nothing with the value.
func jsonOf(v reflect.Value) (any, error) {
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return plainNumbers(value), nil
}

// plainNumbers turns the numbers within a value into int64 or float64, as API machinery has them.
func plainNumbers(value any) any {
	switch value := value.(type) {
	case Object:
		for name, v := range value {
			value[name] = plainNumbers(v)
		}
	case []any:
		for i, v := range value {
			value[i] = plainNumbers(v)
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

// ignore notes a field that the type of the value at a node does not have.
func (m *merger) ignore(at node, name string) {
	path := schema.Fields(name)
	if m.owners && at != noNode {
		path = m.log.path(at).Append(path...)
	}
	m.ignored = append(m.ignored, Ignored{Layer: m.of, Path: path})
}
