package tree

import (
	"encoding/json"
	"math"
	"reflect"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
)

// Fields returns a value as Encode does, or else by way of its JSON.
func Fields(value any) (fields map[string]any, err error) {
	if fields, ok := Encode(value); ok {
		return fields, nil
	}
	text, err := json.Marshal(value)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(text, &fields)
	}
	return fields, err
}

// Value returns any value as JSON: what decoding its text returns. The value may be JSON itself,
// which is not copied.
func Value(value any) (any, error) {
	switch v := value.(type) {
	case nil, string, bool, int64, float64, map[string]any, []any:
		return v, nil
	}
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Pointer {
		copied := reflect.New(v.Type()) // methods of pointers need an address
		copied.Elem().Set(v)
		v = copied
	}
	if made, ok := shapeOf(v.Type()).encode(v, new(Nesting)); ok {
		return made, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var made any
	err = kjson.UnmarshalCaseSensitivePreserveInts(text, &made)
	return made, err
}

// Copy returns a copy of JSON that shares no memory with it.
func Copy[T any](value T) T {
	copied, _ := copyOf(value).(T)
	return copied
}

func copyOf(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		copied := make(map[string]any, len(v))
		for name, part := range v {
			copied[name] = copyOf(part)
		}
		return copied
	case []any:
		if v == nil {
			return v
		}
		copied := make([]any, len(v))
		for i, part := range v {
			copied[i] = copyOf(part)
		}
		return copied
	}
	return value
}

// Encode returns the fields of a struct, which value points to. It reports whether it converted the
// whole value.
func Encode(value any) (map[string]any, bool) {
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, false
	}
	v = v.Elem()
	encoded, ok := shapeOf(v.Type()).encode(v, new(Nesting))
	if !ok {
		return nil, false
	}
	fields, ok := encoded.(map[string]any)
	return fields, ok
}

func (s *shape) encode(v reflect.Value, within *Nesting) (any, bool) {
	s.analyze()
	switch s.form {
	case boolean:
		return v.Bool(), true
	case integer:
		return v.Int(), true
	case unsigned:
		n := v.Uint()
		return int64(n), n <= math.MaxInt64
	case text:
		return v.String(), utf8.ValidString(v.String())
	case pointer:
		return s.encodePointer(v, within)
	case list:
		return s.encodeList(v, within)
	case entries:
		return s.encodeEntries(v, within)
	case object:
		return s.encodeObject(v, within)
	case self:
		return s.encodeSelf(v)
	}
	return nil, false
}

func (s *shape) encodePointer(v reflect.Value, within *Nesting) (any, bool) {
	if v.IsNil() {
		return nil, true
	}
	if within.Enter(v) {
		return nil, false
	}
	value, ok := s.item.encode(v.Elem(), within)
	within.Leave(v)
	return value, ok
}

func (s *shape) encodeList(v reflect.Value, within *Nesting) (any, bool) {
	if v.IsNil() {
		return nil, true
	}
	if within.Enter(v) {
		return nil, false
	}
	items := make([]any, v.Len())
	for i := range items {
		var ok bool
		if items[i], ok = s.item.encode(v.Index(i), within); !ok {
			return nil, false
		}
	}
	within.Leave(v)
	return items, true
}

func (s *shape) encodeEntries(v reflect.Value, within *Nesting) (any, bool) {
	if v.IsNil() {
		return nil, true
	}
	if within.Enter(v) {
		return nil, false
	}
	fields := make(map[string]any, v.Len())
	if strings, ok := v.Interface().(map[string]string); ok { // the most frequent type of a map
		for name, value := range strings {
			if !utf8.ValidString(name) || !utf8.ValidString(value) {
				return nil, false
			}
			fields[name] = value
		}
		within.Leave(v)
		return fields, true
	}
	entry := reflect.New(s.item.of).Elem()
	for i := v.MapRange(); i.Next(); {
		entry.SetIterValue(i) // methods of pointers need an address
		name := i.Key().String()
		value, ok := s.item.encode(entry, within)
		if !ok || !utf8.ValidString(name) {
			return nil, false
		}
		fields[name] = value
	}
	within.Leave(v)
	return fields, true
}

func (s *shape) encodeObject(v reflect.Value, within *Nesting) (any, bool) {
	fields := map[string]any{}
	for i := range s.fields {
		f := &s.fields[i]
		at, ok := f.in(v)
		if !ok {
			return nil, false
		}
		if f.OmitEmpty && IsEmpty(at) || f.OmitZero && f.isOmitted(at) {
			continue
		}
		value, ok := f.shape.encode(at, within)
		if !ok {
			return nil, false
		}
		fields[f.Name] = value
	}
	return fields, true
}

// isOmitted reports whether JSON omits a field with omitzero.
func (m *member) isOmitted(v reflect.Value) bool {
	if !m.isZero {
		return v.IsZero()
	}
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return true
	}
	return v.Addr().Interface().(interface{ IsZero() bool }).IsZero()
}

func (s *shape) encodeSelf(v reflect.Value) (any, bool) {
	data, err := v.Addr().Interface().(json.Marshaler).MarshalJSON()
	if err != nil {
		return nil, false
	}
	if last := len(data) - 1; last > 0 && data[0] == '"' && data[last] == '"' &&
		isPlain(string(data[1:last])) {
		return string(data[1:last]), true
	}
	var value any
	if !json.Valid(data) || kjson.UnmarshalCaseSensitivePreserveInts(data, &value) != nil {
		return nil, false
	}
	return value, true
}
