package strategic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/merge"
)

// TestPure: a merge changes none of its inputs, and its result shares no memory with them.
func TestPure(t *testing.T) { ForCases(t, 2_000, NewCase, pure) }

func pure(m *Case) string {
	inputs := func() []byte { return append(Encode(m.Base), Encode(m.Patches)...) }
	before := inputs()
	merged, err := apply(m)
	if !bytes.Equal(inputs(), before) {
		return "the merge changed its inputs"
	}
	if err != nil {
		return ""
	}
	value, owners := Encode(merged.Value), ownersText(merged.History)
	again, err := apply(m)
	if err != nil {
		return fmt.Sprintf("the same merge without owners fails: %v", err)
	}
	scribble(reflect.ValueOf(again.Value))
	if !bytes.Equal(inputs(), before) {
		return "a change of the result changed the inputs"
	}
	kept := &Case{Type: m.Type, Base: copyOf(m.Type, m.Base)}
	for _, patch := range m.Patches {
		if _, isObject := patch.(object); isObject {
			kept.Patches = append(kept.Patches, JSON(patch))
		} else {
			kept.Patches = append(kept.Patches, copyOf(m.Type, patch))
		}
	}
	scribble(reflect.ValueOf(m.Base))
	for _, patch := range m.Patches {
		scribble(reflect.ValueOf(patch))
	}
	*m = *kept // for the report
	if !bytes.Equal(Encode(merged.Value), value) {
		return "a change of the inputs changed the result"
	}
	if now := ownersText(merged.History); now != owners {
		return fmt.Sprintf("a change of the inputs changed the claims from\n%s\nto\n%s",
			owners, now)
	}
	return ""
}

func copyOf(t reflect.Type, v any) any {
	copied, err := Decode(t, Encode(v))
	if err != nil {
		panic(err)
	}
	return copied
}

func ownersText(o *merge.History) string {
	var s bytes.Buffer
	for path, claims := range o.All() {
		fmt.Fprintf(&s, "%s", path)
		for _, c := range claims {
			text, err := json.Marshal(c.Value)
			fmt.Fprintf(&s, " %s=%s%v", c.Owner, text, err)
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// scribble changes whatever can be reached from a value, except what its type hides.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			scribble(v.MapIndex(key))
			v.SetMapIndex(key, reflect.Value{})
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanInterface() {
				scribble(v.Field(i))
			}
		}
	}
	if v.CanSet() && v.Kind() != reflect.Struct {
		v.SetZero()
	}
}
