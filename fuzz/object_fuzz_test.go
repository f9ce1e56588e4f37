package fuzz_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/schema"
)

// manyKinds is a definition in which a field of each kind stands within the others.
const manyKinds = `{"type": "object", "properties": {"spec": {"type": "object", "properties": {
	"n": {"type": "integer"}, "s": {"type": "string"}, "b": {"type": "boolean"}, "i": {"x-kubernetes-int-or-string": true},
	"m": {"type": "object", "additionalProperties": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}},
	"a": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
	"o": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": {"type": "string"}}},
	"u": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"x": {"type": "string"}}},
	"e": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true},
	"l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "p"], "items": {"type": "object", "required": ["k"],
		"properties": {"k": {"type": "string"}, "p": {"type": "integer", "default": 80}, "v": {"type": "string"}, "l": {"type": "array",
			"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {"k": {"x-kubernetes-int-or-string": true}}}}}}}
}}}}`

// jobSetDefinition is the definition that this module embeds.
func jobSetDefinition(t testing.TB) []byte {
	t.Helper()
	packed, err := os.ReadFile("../render/admission/crds/jobsets.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzParseOpenAPI reads definitions. One that is read merges objects.
func FuzzParseOpenAPI(f *testing.F) {
	f.Add(jobSetDefinition(f))
	for _, seed := range []string{
		manyKinds, `{}`, `[]`, `{"kind": "CustomResourceDefinition"}`, `{"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}`,
		`{"type": "object", "properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}, "not": {"properties": {"b": {}}}}`,
		strings.Repeat(`{"type":"object","properties":{"a":`, 600) + `{}` + strings.Repeat("}}", 600),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := schema.ParseOpenAPI(data)
		if err != nil {
			return
		}
		patch := engine.Object{"kind": "A", "metadata": engine.Object{"name": "x", "labels": engine.Object{"a": "b"}}}
		result, err := engine.ForObject(root).Apply(&patch, []engine.Layered[engine.Object]{{Layer: engine.Manager("a"), Patch: &patch}}, engine.Options{Owners: true})
		if err != nil {
			t.Fatalf("every object has kind and metadata: %v", err)
		}
		holdsObject(t, result)
	})
}

// FuzzObject merges any base and patches along two definitions.
func FuzzObject(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"spec": {"n": 1, "m": {"x": [1, 2]}, "a": [{"x": "y"}], "u": {"y": {"z": 1}}}}`, `{"spec": {"n": null, "m": {"x": [2.0, 3]}, "u": {"x": "a", "y": "b"}}}`},
		{`{"spec": {"l": [{"k": "a"}, {"k": "a", "p": 80}, {"k": "b", "l": [{"k": 1}, {"k": "1"}]}]}}`, `{"spec": {"l": [{"k": "b", "l": [{"k": 1.0}]}, {"k": "a", "p": 80, "v": "x"}]}}`},
		{`{"spec": {"e": {"kind": "Pod", "metadata": {"finalizers": ["x"]}}, "o": {"x": "y"}}}`, `{"spec": {"e": {"metadata": null, "spec": []}, "o": {}}}`},
		{`{"spec": {"replicatedJobs": [{"name": "a"}]}}`, `{"spec": {"replicatedJobs": [{"name": "b"}, {"name": "a", "replicas": 2}]}}`},
		{`{"metadata": {"ownerReferences": [{"uid": "a"}, {}]}}`, `null`},
	} {
		for which := range byte(2) {
			f.Add(which, []byte(seed[0]), []byte(seed[1]), []byte(seed[1]))
		}
	}
	var plans [2]*engine.Plan[engine.Object, engine.Object]
	for i, data := range [][]byte{[]byte(manyKinds), jobSetDefinition(f)} {
		root, err := schema.ParseOpenAPI(data)
		if err != nil {
			f.Fatal(err)
		}
		plans[i] = engine.ForObject(root)
	}
	f.Fuzz(func(t *testing.T, which byte, base, one, other []byte) {
		var objects [3]engine.Object
		for i, data := range [][]byte{base, one, other} {
			d := json.NewDecoder(bytes.NewReader(data))
			d.UseNumber()
			if d.Decode(&objects[i]) != nil {
				t.Skip("no object")
			}
		}
		before := encode(objects)
		result, err := plans[which%2].Apply(&objects[0], []engine.Layered[engine.Object]{
			{Layer: engine.Manager("a"), Patch: &objects[1]}, {Layer: engine.Manager("b"), Patch: &objects[2]},
		}, engine.Options{Owners: true})
		if after := encode(objects); !bytes.Equal(before, after) {
			t.Fatalf("the inputs changed from\n%s\nto\n%s", before, after)
		}
		var refused *engine.PatchError
		if err != nil {
			if !errors.As(err, &refused) || refused.Layer == "" {
				t.Fatalf("%v is no PatchError", err)
			}
			return
		}
		conflict.Find(result.Owners)
		holdsObject(t, result)
	})
}

// holdsObject holds a result against what any keeps: it is JSON, its paths can be read back, and its fields are JSON.
func holdsObject(t *testing.T, result *engine.Result[engine.Object]) {
	t.Helper()
	if _, err := json.Marshal(result.Value); err != nil {
		t.Fatal(err)
	}
	for path, claims := range result.Owners.All() {
		if len(claims) == 0 {
			t.Fatalf("%s has no claims", path)
		}
	}
	for layer, fields := range result.Owners.FieldsV1(nil) {
		if !json.Valid(fields) {
			t.Fatalf("%s owns %s", layer, fields)
		}
	}
}
