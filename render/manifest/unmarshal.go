package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"

	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/merge/tree"
)

// unmarshalStrict decodes JSON strictly and case-sensitively, like an API server. into points to a
// zero value.
//
// Like the API server in custom resources, it drops a null in a map with its key
// (apiextensions-apiserver v0.36.3 pkg/apiserver/schema/defaulting). Go's decoder would store an
// empty value.
func unmarshalStrict(j []byte, into any) error {
	strict, err := kjson.UnmarshalStrict(j, into)
	if err == nil {
		err = errors.Join(strict...)
	}
	if err != nil || !bytes.Contains(j, []byte("null")) {
		return err
	}
	value, err := untyped(j)
	if err != nil {
		return err
	}
	dropNulls(value)
	if j, err = json.Marshal(value); err != nil {
		return err
	}
	reflect.ValueOf(into).Elem().SetZero()
	return kjson.UnmarshalCaseSensitivePreserveInts(j, into)
}

// dropNulls removes null fields of objects. Like an API server, it keeps null items of lists.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			if field == nil {
				delete(v, name)
			} else {
				dropNulls(field)
			}
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

// unmarshalSafe is unmarshalStrict, and returns an error for a quantity that takes too long.
func unmarshalSafe(j []byte, into any) error { return tree.UnmarshalBounded(j, into, unmarshalStrict) }

// untyped decodes JSON, and keeps the digits of numbers.
func untyped(j []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(j))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// deferredValue is a value to decode separately.
type deferredValue struct{ json.RawMessage }
