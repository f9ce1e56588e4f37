package merge

import (
	"maps"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
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
