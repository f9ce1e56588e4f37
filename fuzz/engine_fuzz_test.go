package fuzz_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	smdpath "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// FuzzMerge lays patches over a generated template. The patches are JSON, or the generator makes
// them with the fuzzer's bytes as its choices. Nothing may panic, and the merge must give the
// result of upstream's merge.
func FuzzMerge(f *testing.F) {
	for seed := range uint64(64) {
		c := fuzz.Merge(seed, fuzz.Options{Directives: true})
		f.Add(seed, encode(c.Patches))
		choices := make([]byte, 2048)
		rand.NewChaCha8([32]byte{byte(seed)}).Read(choices)
		f.Add(seed, choices)
	}
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		if len(data) > 1<<16 {
			t.Skip("larger than any TrainJob's patches")
		}
		c := fuzz.Merge(seed, fuzz.Options{})
		var patches []trainer.RuntimePatch
		if err := json.Unmarshal(data, &patches); err != nil {
			c = fuzz.MergeFrom(&fuzz.Choices{Data: data, Rest: rand.NewPCG(seed, 0)},
				fuzz.Options{Directives: seed%2 == 0})
		} else {
			c.Patches = patches
		}
		check.Patches(c.Template, c.Patches)
		if result, err := runtimepatch.Apply(c.Template, c.Patches,
			runtimepatch.Options{}); err == nil {
			conflict.Find(result.History)
			for range result.History.All() {
			}
		}
		broken := equalsUpstream(c)
		// If one map holds a directive and the key that it names, upstream's result depends on how
		// Go walks the map. Any of its results will do.
		for try := 0; broken != "" && try < 32; try++ {
			broken = equalsUpstream(c)
		}
		if broken != "" {
			t.Errorf("%s\n%s", broken, asYAML(c))
		}
	})
}

// The file many-kinds.json is a definition in which a field of each kind stands within the others,
// and openapi.json an OpenAPI document with a kind that refers to itself.
//
//go:embed testdata/many-kinds.json
var manyKinds string

//go:embed testdata/openapi.json
var apiDocument string

// jobSetDefinition is the definition that this module embeds.
func jobSetDefinition(t testing.TB) []byte {
	t.Helper()
	data, err := release.Latest().Definition("JobSet")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzParseOpenAPI reads definitions and documents. One that is read merges objects.
func FuzzParseOpenAPI(f *testing.F) {
	f.Add(jobSetDefinition(f))
	f.Add([]byte(apiDocument))
	for _, seed := range []string{
		manyKinds, `{}`, `[]`, `{"kind": "CustomResourceDefinition"}`,
		`{"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}`,
		`{"type": "object", "properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}, "not": {"properties": {"b": {}}}}`,
		strings.Repeat(`{"type":"object","properties":{"a":`, 600) + `{}` +
			strings.Repeat("}}", 600),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		patch := merge.Object{
			"kind": "A", "metadata": merge.Object{"name": "x", "labels": merge.Object{"a": "b"}}}
		layers := []merge.Patch{{Manager: "a", Value: &patch}}
		root, err := schema.ParseOpenAPI(data)
		if err != nil {
			root, err = schema.ParseOpenAPI(
				data, runtimeschema.GroupVersionKind{Version: "v1", Kind: "A"})
			if err != nil {
				return
			}
			nested := merge.Object{
				"a": merge.Object{"a": merge.Object{"w": patch, "l": []any{patch["metadata"]}}}}
			for _, patch := range []merge.Object{patch, nested} {
				layers[0].Value = &patch
				if result, err := merge.Apply(root, nested, layers); err == nil {
					holdsObject(t, result)
				}
			}
			return
		}
		result, err := merge.Apply(root, patch, layers)
		if err != nil {
			t.Fatalf("every object has kind and metadata: %v", err)
		}
		holdsObject(t, result)
	})
}

// FuzzObject merges any base and patches along two definitions.
func FuzzObject(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"spec": {"n": 1, "m": {"x": [1, 2]}, "a": [{"x": "y"}], "u": {"y": {"z": 1}}}}`,
			`{"spec": {"n": null, "m": {"x": [2.0, 3]}, "u": {"x": "a", "y": "b"}}}`},
		{`{"spec": {"l": [{"k": "a"}, {"k": "a", "p": 80}, {"k": "b", "l": [{"k": 1}, {"k": "1"}]}]}}`, `{"spec": {"l": [{"k": "b", "l": [{"k": 1.0}]}, {"k": "a", "p": 80, "v": "x"}]}}`},
		{`{"spec": {"e": {"kind": "Pod", "metadata": {"finalizers": ["x"]}}, "o": {"x": "y"}}}`,
			`{"spec": {"e": {"metadata": null, "spec": []}, "o": {}}}`},
		{`{"spec": {"replicatedJobs": [{"name": "a"}]}}`,
			`{"spec": {"replicatedJobs": [{"name": "b"}, {"name": "a", "replicas": 2}]}}`},
		{`{"metadata": {"ownerReferences": [{"uid": "a"}, {}]}}`, `null`},
	} {
		for which := range byte(2) {
			f.Add(which, []byte(seed[0]), []byte(seed[1]), []byte(seed[1]))
		}
	}
	var types [2]*schema.Type
	for i, data := range [][]byte{[]byte(manyKinds), jobSetDefinition(f)} {
		root, err := schema.ParseOpenAPI(data)
		if err != nil {
			f.Fatal(err)
		}
		types[i] = root
	}
	f.Fuzz(func(t *testing.T, which byte, base, one, other []byte) {
		var objects [3]merge.Object
		for i, data := range [][]byte{base, one, other} {
			d := json.NewDecoder(bytes.NewReader(data))
			d.UseNumber()
			if d.Decode(&objects[i]) != nil {
				t.Skip("no object")
			}
		}
		before := encode(objects)
		result, err := merge.Apply(types[which%2], objects[0], []merge.Patch{
			{Manager: "a", Value: &objects[1]}, {Manager: "b", Value: &objects[2]},
		})
		if after := encode(objects); !bytes.Equal(before, after) {
			t.Fatalf("the inputs changed from\n%s\nto\n%s", before, after)
		}
		var rejected *merge.PatchError
		if err != nil {
			if !errors.As(err, &rejected) || rejected.Owner == "" {
				t.Fatalf("%v is no PatchError", err)
			}
			return
		}
		conflict.Find(result.History)
		holdsObject(t, result)
	})
}

// holdsObject checks that a result is JSON, that its paths have claims, and that its fields are
// JSON.
func holdsObject(t *testing.T, result *merge.Result[merge.Object]) {
	t.Helper()
	if _, err := json.Marshal(result.Value); err != nil {
		t.Fatal(err)
	}
	for path, claims := range result.History.All() {
		if len(claims) == 0 {
			t.Fatalf("%s has no claims", path)
		}
	}
	for layer, fields := range result.History.FieldsV1(nil) {
		if !json.Valid(fields) {
			t.Fatalf("%s owns %s", layer, fields)
		}
	}
}

// FuzzFieldsV1 reads any FieldsV1 value. Structured-merge-diff must read the same fields from a
// valid one.
func FuzzFieldsV1(f *testing.F) {
	for seed := range uint64(16) {
		c := fuzz.Merge(seed, fuzz.Options{Checked: true})
		result, err := runtimepatch.Apply(c.Template, c.Patches, runtimepatch.Options{})
		if err != nil {
			f.Fatal(err)
		}
		for _, fields := range result.History.FieldsV1(nil) {
			f.Add(fields)
		}
	}
	for _, seed := range []string{
		``, `null`, `{".":{}}`, `{"f:":{},"f:a b":{"i:0":{},"i:12":{".":{}}}}`,
		`{"v:1":{},"v:\"x\"":{},"v:{\"a\":[1.5]}":{},"v:null":{}}`,
		`{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"a\":true,\"b\":1e3}":{}}`, `{"f:a":{"x:b":{}}}`, `{"k:{}":{}}`, `{"v:1e999":{}} {}`,
		strings.Repeat(`{"f:a":`, 100) + "{}" + strings.Repeat("}", 100),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(equalsFieldPath)
}

// TestFieldsV1Paths reads the FieldsV1 of generated merges.
func TestFieldsV1Paths(t *testing.T) {
	seed, sets := testenv.Seed(t), 0
	for i := range uint64(300) {
		c := fuzz.Merge(seed+i, fuzz.Options{Tidy: true})
		result, err := runtimepatch.Apply(c.Template, c.Patches, runtimepatch.Options{})
		if err != nil {
			continue // a generated patch may be invalid
		}
		for _, data := range result.History.FieldsV1(nil) {
			equalsFieldPath(t, data)
			sets++
		}
	}
	if sets < 300 {
		t.Errorf("%d sets of fields read, want more", sets)
	}
}

// equalsFieldPath compares the paths of FieldsV1 with the paths that structured-merge-diff reads.
func equalsFieldPath(t *testing.T, data []byte) {
	var fields merge.Object
	if json.Unmarshal(data, &fields) != nil || fields == nil {
		return // no entry of an object
	}
	data, _ = json.Marshal(fields) // a name once
	var got []string
	for path, err := range merge.FieldsV1Paths(fields) {
		if err == nil {
			rounded := path.Append()
			for i := range rounded {
				rounded[i] = roundedStep(rounded[i])
			}
			got = append(got, rounded.String())
			continue
		}
		var invalid *merge.FieldsV1Error
		if !errors.As(err, &invalid) || path != nil {
			t.Fatalf("FieldsV1Paths(%q) yields %s and %v, want a FieldsV1Error alone", data,
				path, err)
		}
		return
	}
	set := smdpath.NewSet()
	if err := set.FromJSON(bytes.NewReader(data)); err != nil {
		t.Fatalf("FieldsV1Paths(%q) succeeds, want %v", data, err)
	}
	var want []string
	set.Iterate(func(p smdpath.Path) {
		var path fieldpath.Path
		for _, element := range p {
			path = append(path, roundedStep(fieldsV1Step(element)))
		}
		want = append(want, path.String())
	})
	slices.Sort(want)
	slices.Sort(got)
	if strings.ContainsRune(strings.Join(got, ""), utf8.RuneError) {
		return // two libraries replace broken characters in two ways
	}
	if diff := cmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" {
		t.Errorf("FieldsV1Paths(%q) (-structured-merge-diff +trainweld):\n%s", data, diff)
	}
}

// fieldsV1Step translates a step of structured-merge-diff.
func fieldsV1Step(element smdpath.PathElement) fieldpath.Step {
	switch {
	case element.FieldName != nil:
		name := *element.FieldName
		if regexp.MustCompile(`^[A-Za-z0-9_$-]+$`).MatchString(name) {
			return fieldpath.Field(name)
		}
		return fieldpath.Key(name)
	case element.Value != nil:
		return fieldpath.ElementOf((*element.Value).Unstructured())
	case element.Index != nil:
		return fieldpath.Index(*element.Index)
	default:
		var keys []fieldpath.ItemKey
		for _, field := range *element.Key {
			keys = append(
				keys, fieldpath.ItemKey{Name: field.Name, Value: field.Value.Unstructured()})
		}
		return fieldpath.ItemBy(keys...)
	}
}

// roundedStep converts numbers to float64, as structured-merge-diff does.
func roundedStep(step fieldpath.Step) fieldpath.Step {
	if keys := step.Keys(); keys != nil {
		for i := range keys {
			keys[i].Value = rounded(keys[i].Value)
		}
		return fieldpath.ItemBy(keys...)
	}
	if value, ok := step.ElementValue(); ok {
		return fieldpath.ElementOf(rounded(value))
	}
	return step
}

func rounded(value any) any {
	switch v := value.(type) {
	case int64:
		return float64(v)
	case float64:
		return v + 0 // which has no sign
	case []any:
		for i := range v {
			v[i] = rounded(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = rounded(v[key])
		}
	}
	return value
}

// FuzzLive merges a live object with owners and patches of two kinds. A merged object can be merged
// again.
func FuzzLive(f *testing.F) {
	const base = `{"apiVersion": "v1", "spec": {"n": 1, "m": {"x": 1}, "l": [{"k": "a", "v": "x"}]}, "metadata": {"managedFields": [
		{"manager": "a", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:n": {}, "f:l": {"k:{\"k\":\"a\",\"p\":80}": {".": {}, "f:k": {}, "f:v": {}}}}}},
		{"manager": "a", "operation": "Update", "apiVersion": "v1", "subresource": "status", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {".": {}, "f:m": {"f:x": {}}}}}]}}`
	for _, patch := range []string{`{"spec": {"m": {"y": 2}}}`, `{"spec": {"n": null, "l": []}}`,
		`{"spec": {"m": null, "u": {"a": {"b": 1}}}}`} {
		f.Add([]byte(base), []byte(patch),
			[]byte(`[{"op": "add", "path": "/spec/l/-", "value": {"k": "b"}}, {"op": "move", "from": "/spec/n", "path": "/spec/u"}]`))
		f.Add([]byte(patch), []byte(patch),
			[]byte("- {op: copy, from: /spec, path: /spec/u}\n- {op: test, path: /spec/m, value: "+
				"null}\n- {op: remove, path: /spec/m}"))
	}
	root, err := schema.ParseOpenAPI([]byte(manyKinds))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, base, patch, operations []byte) {
		var objects [2]merge.Object
		if json.Unmarshal(base, &objects[0]) != nil || json.Unmarshal(patch, &objects[1]) != nil {
			t.Skip("no object")
		}
		read, _ := merge.ReadPatch("b", operations)
		parsed, isPatch := read.Value.(merge.JSONPatch)
		if !isPatch {
			t.Skip("no JSON patch")
		}
		layers := []merge.Patch{
			{Manager: "a", Value: &objects[1]}, {Manager: "b", Value: parsed},
			{Manager: "a", Value: &objects[1]},
		}
		for _, o := range [][]merge.Option{{}, {merge.Live()}} {
			before := encode([]any{objects, parsed})
			result, err := merge.Apply(root, objects[0], layers, o...)
			if err != nil {
				var rejected *merge.PatchError
				if !errors.As(err, &rejected) {
					t.Fatal(err)
				}
				continue
			}
			conflict.Find(result.History)
			holdsObject(t, result)
			again, err := merge.Apply(root, result.Value, layers[:1], o...)
			if err != nil {
				t.Fatalf("the result cannot be merged again: %v", err)
			}
			fuzz.Scribble(result.Value)
			fuzz.Scribble(again.Value)
			if after := encode([]any{objects, parsed}); !bytes.Equal(before, after) {
				t.Fatalf("the inputs changed from\n%s\nto\n%s", before, after)
			}
		}
	})
}
