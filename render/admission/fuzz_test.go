package admission_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/admission"
)

// FuzzKinds reads any definition, and sends any object through its admission. The verdict is the
// same each time, names the faults, and leaves the object as it is.
func FuzzKinds(f *testing.F) {
	for _, object := range []string{
		`{"spec": {"weight": 1}}`, `{"spec": {"weight": 7, "labels": {"a": {"sise": "x"}}}}`, `{}`,
		`{"spec": null, "metadata": []}`} {
		f.Add([]byte(queueDefinition), []byte(object))
	}
	of := func(schema string) string {
		return `{"spec": {"group": "g", "names": {"kind": "K"}, "versions": [{"name": "v1", "served": true, "schema": {"openAPIV3Schema": ` + schema + `}}]}}`
	}
	for _, schema := range []string{
		`{"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}}`,
		`{"type": "object", "x-kubernetes-validations": [{"rule": "self.a.all(x, x.all(y, y > 1))"}]}`,
		`{"type": "object", "properties": {"a": {"type": "string", "pattern": "(a+)+$"}}}`,
		`{"type": "object", "properties": {"a": {"$ref": "#"}}}`,
		`{"type": "array", "items": {"type": "object"}}`, `null`,
		`{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "not": {"required": ["a"]}, "anyOf": [{"minProperties": 1}, {}]}`,
	} {
		f.Add([]byte(of(schema)), []byte(`{"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaab"}`))
	}
	f.Fuzz(func(t *testing.T, definition, object []byte) {
		var fields, value map[string]any
		if len(definition) > 1<<13 || len(object) > 1<<13 ||
			json.Unmarshal(definition, &fields) != nil || json.Unmarshal(object, &value) != nil {
			t.Skip("no definition or no object")
		}
		kinds, err := admission.Kinds(fields)
		if err != nil {
			return
		}
		start := testenv.ProcessorTime()
		for _, kind := range kinds {
			found, err := kind.Admit(context.Background(), value, "default")
			again, sameErr := kind.Admit(context.Background(), value, "default")
			if (err == nil) != (sameErr == nil) || !reflect.DeepEqual(found, again) {
				t.Errorf("Admit = %v, %v, and then %v, %v", found, err, again, sameErr)
			}
			for _, f := range found {
				if f.Message == "" || f.Code == "" {
					t.Errorf("a finding without a message or a code: %+v", f)
				}
			}
		}
		if took := testenv.ProcessorTime() - start; took > 30*time.Second {
			t.Errorf("the verdicts take %s", took)
		}
		var unchanged map[string]any
		if _ = json.Unmarshal(object, &unchanged); !reflect.DeepEqual(value, unchanged) {
			t.Errorf("the object changes from %v to %v", unchanged, value)
		}
	})
}
