package tree

import (
	"encoding/json"
	"reflect"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
)

// Decode sets the value that into points to, which must be a zero value. It reports whether it
// converted the whole value, and leaves a zero value otherwise.
func Decode(value any, into any) bool {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return false
	}
	v = v.Elem()
	if value != nil && shapeOf(v.Type()).decode(value, v) {
		return true
	}
	v.SetZero()
	return false
}

// Fits reports whether Decode would convert a value for the type that of points to. It makes no
// value of the type.
func Fits(value, of any) bool {
	t := reflect.TypeOf(of)
	return value != nil && t != nil && t.Kind() == reflect.Pointer && shapeOf(t.Elem()).fits(value)
}

func (s *shape) fits(value any) bool {
	s.analyze()
	if value == nil {
		return s.form != self && s.form != unsupported
	}
	switch s.form {
	case boolean:
		_, ok := value.(bool)
		return ok
	case integer:
		v, ok := value.(int64)
		return ok && !s.of.OverflowInt(v)
	case unsigned:
		v, ok := value.(int64)
		return ok && v >= 0 && !s.of.OverflowUint(uint64(v))
	case text:
		v, ok := value.(string)
		return ok && utf8.ValidString(v)
	case pointer:
		return s.item.fits(value)
	case list:
		items, ok := value.([]any)
		for i := 0; ok && i < len(items); i++ {
			ok = s.item.fits(items[i])
		}
		return ok
	case self:
		return s.decodeSelf(value, reflect.New(s.of).Elem())
	}
	return s.fitsFields(value)
}

// fitsFields reports whether a map or a struct takes a value.
func (s *shape) fitsFields(value any) bool {
	fields, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for name, value := range fields {
		of := s.item
		if s.form == object {
			i, ok := s.byName[name]
			if !ok || s.fields[i].optional && len(s.fields[i].Index) > 1 {
				return false
			}
			of = s.fields[i].shape
		} else if s.form != entries || value == nil || !utf8.ValidString(name) {
			return false
		}
		if !of.fits(value) {
			return false
		}
	}
	return s.form == object || s.form == entries
}

// Read sets the value that into points to, which must be a zero value, as Decode does, or else by
// way of its JSON. It also keeps the nulls that only a pointer to a zero value encodes, such as that
// of a deletionTimestamp: in a patch they delete a field.
func Read(value any, into any) error {
	if !Decode(value, into) {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if err := UnmarshalBounded(text, into, kjson.UnmarshalCaseSensitivePreserveInts); err != nil {
			return err
		}
	}
	v := reflect.ValueOf(into).Elem()
	shapeOf(v.Type()).keepNulls(value, v)
	return nil
}

// keepNulls sets pointers within v that are nil, whose fields the value holds as null and an
// encoding would omit.
func (s *shape) keepNulls(value any, v reflect.Value) {
	if s.analyze(); s.form == pointer {
		if !v.IsNil() {
			s.item.keepNulls(value, v.Elem())
		}
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for i := range s.fields {
			f := &s.fields[i]
			within, has := value[f.Name]
			at, ok := f.in(v)
			switch {
			case !has || !ok:
			case within == nil && f.OmitEmpty && f.shape.isNilSelf(at):
				at.Set(reflect.New(f.shape.item.of))
				if made, ok := f.shape.item.encodeSelf(at.Elem()); !ok || made != nil {
					at.SetZero()
				}
			case within != nil:
				f.shape.keepNulls(within, at)
			}
		}
		if s.form == entries {
			s.keepNullsOfEntries(value, v)
		}
	case []any:
		for i := 0; s.form == list && i < min(len(value), v.Len()); i++ {
			s.item.keepNulls(value[i], v.Index(i))
		}
	}
}

func (s *shape) keepNullsOfEntries(value map[string]any, v reflect.Value) {
	if s.item.analyze(); s.item.form != object && s.item.form != pointer {
		return
	}
	entry := reflect.New(s.item.of).Elem()
	for i := v.MapRange(); i.Next(); {
		entry.SetIterValue(i)
		s.item.keepNulls(value[i.Key().String()], entry)
		v.SetMapIndex(i.Key(), entry)
	}
}

// isNilSelf reports whether v is a nil pointer to a type with its own methods for JSON.
func (s *shape) isNilSelf(v reflect.Value) bool {
	if s.analyze(); s.form != pointer || !v.IsNil() {
		return false
	}
	s.item.analyze()
	return s.item.form == self
}

// decode sets a zero value.
func (s *shape) decode(value any, into reflect.Value) bool {
	s.analyze()
	if value == nil {
		return s.form != self && s.form != unsupported
	}
	switch s.form {
	case boolean:
		v, ok := value.(bool)
		into.SetBool(v)
		return ok
	case integer:
		v, ok := value.(int64)
		if !ok || into.OverflowInt(v) {
			return false
		}
		into.SetInt(v)
		return true
	case unsigned:
		v, ok := value.(int64)
		if !ok || v < 0 || into.OverflowUint(uint64(v)) {
			return false
		}
		into.SetUint(uint64(v))
		return true
	case text:
		v, ok := value.(string)
		if !ok || !utf8.ValidString(v) {
			return false
		}
		into.SetString(v)
		return true
	case pointer:
		at := reflect.New(s.item.of)
		into.Set(at)
		return s.item.decode(value, at.Elem())
	case list:
		return s.decodeList(value, into)
	case entries:
		return s.decodeEntries(value, into)
	case object:
		return s.decodeObject(value, into)
	case self:
		return s.decodeSelf(value, into)
	}
	return false
}

func (s *shape) decodeList(value any, into reflect.Value) bool {
	items, ok := value.([]any)
	if !ok {
		return false
	}
	if len(items) == 0 {
		into.Set(reflect.MakeSlice(s.of, 0, 0)) // not nil
		return true
	}
	into.Grow(len(items))
	into.SetLen(len(items))
	for i := range items {
		if !s.item.decode(items[i], into.Index(i)) {
			return false
		}
	}
	return true
}

func (s *shape) decodeEntries(value any, into reflect.Value) bool {
	fields, ok := value.(map[string]any)
	if !ok {
		return false
	}
	if into.Type() == reflect.TypeFor[map[string]string]() {
		return decodeStrings(fields, into)
	}
	into.Set(reflect.MakeMapWithSize(s.of, len(fields)))
	key, entry := reflect.New(s.of.Key()).Elem(), reflect.New(s.item.of).Elem()
	for name, value := range fields {
		entry.SetZero()
		if value == nil || !utf8.ValidString(name) || !s.item.decode(value, entry) {
			return false
		}
		key.SetString(name)
		into.SetMapIndex(key, entry)
	}
	return true
}

// decodeStrings decodes the most frequent type of a map.
func decodeStrings(fields map[string]any, into reflect.Value) bool {
	m := make(map[string]string, len(fields))
	for name, value := range fields {
		v, ok := value.(string)
		if !ok || !utf8.ValidString(name) || !utf8.ValidString(v) {
			return false
		}
		m[name] = v
	}
	into.Set(reflect.ValueOf(m))
	return true
}

func (s *shape) decodeObject(value any, into reflect.Value) bool {
	fields, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for name, value := range fields {
		i, ok := s.byName[name]
		if !ok {
			return false
		}
		f := &s.fields[i]
		if at, ok := f.in(into); !ok || !f.shape.decode(value, at) {
			return false
		}
	}
	return true
}

func (s *shape) decodeSelf(value any, into reflect.Value) bool {
	var data []byte
	switch v := value.(type) {
	case string:
		if s.bounded && CheckQuantity(v) != nil {
			return false
		}
		if isPlain(v) {
			data = make([]byte, 0, len(v)+2)
			data = append(append(append(data, '"'), v...), '"')
		}
	case int64, bool:
	default:
		return false
	}
	if data == nil {
		var err error
		if data, err = json.Marshal(value); err != nil {
			return false
		}
	}
	return into.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(data) == nil
}

// isPlain reports whether JSON writes a string as it is, between quotes.
func isPlain(v string) bool {
	for i := range len(v) {
		switch c := v[i]; {
		case c < ' ', c >= utf8.RuneSelf, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
