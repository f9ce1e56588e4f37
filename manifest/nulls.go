package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"

	kjson "sigs.k8s.io/json"
)

// unmarshalStrict decodes JSON as an API server does, strictly and case-sensitively. into points to a zero value.
//
// A null as a map's value is dropped with its key, as the API server drops it from custom resources
// (apiextensions-apiserver v0.36.3 pkg/apiserver/schema/defaulting). Go's decoder would make an empty value of it.
func unmarshalStrict(j []byte, into any) error {
	strict, err := kjson.UnmarshalStrict(j, into)
	if err == nil {
		err = errors.Join(strict...)
	}
	if err != nil || !bytes.Contains(j, []byte("null")) {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(j))
	decoder.UseNumber() // as written, for quantities
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	dropNulls(value)
	if j, err = json.Marshal(value); err != nil {
		return err
	}
	reflect.ValueOf(into).Elem().SetZero()
	return kjson.UnmarshalCaseSensitivePreserveInts(j, into)
}

// dropNulls removes the fields of objects that are null. Items of lists stay, as in an API server.
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
