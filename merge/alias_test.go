package merge_test

import (
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestApply_Alias changes every part of a result. The base, the patches, the history and the result
// of another merge stay as they are.
func TestApply_Alias(t *testing.T) {
	const base = `{"struct":{"name":"a","part":{"count":1}},"parts":[{"part":{"count":2}}],"labels":{"a":"b"},"pointers":[{"name":"p","labels":{"c":"d"}}],"set":["x"],"raw":{"a":[{"b":1}]}}`
	patches := []string{
		`{"struct":{"part":{"count":3}},"pointers":[{"name":"q","labels":{"e":"f"},"part":{"count":4}}],"set":["y"]}`,
		`{"parts":[{"part":{"count":5}}],"labels":{"a":null,"g":"h"},"raw":{"c":[{"d":2}]}}`,
	}
	for name, options := range map[string][]merge.Option{
		"none": {}, "owners": {}, "base": {merge.BaseWins()},
		"first":     {merge.First(), merge.KeepOrder()},
		"protected": {merge.Protect(fieldpath.Fields("struct"), fieldpath.Fields("labels"))},
	} {
		values, objects := must(planFor[kinds](schema.Rules{})),
			must(planForType(reflect.TypeFor[kinds](), schema.Rules{}))
		value, object := fromJSON[*kinds](base), fromJSON[merge.Object](base)
		var layers []merge.Patch
		for i, text := range patches {
			patch := fromJSON[merge.Object](text)
			layers = append(layers, merge.Patch{Manager: string(rune('a' + i)), Value: &patch})
		}
		before := asJSON([]any{value, object, layers})
		byValue, byObject := must(values.Apply(value, layers, options...)),
			must(objects.Apply(&object, layers, options...))
		want, claims := asJSON(byObject.Value), claimsOf(byObject.History)
		again := must(objects.Apply(&object, layers, options...))
		scribble(reflect.ValueOf(&byValue.Value))
		scribble(reflect.ValueOf(&again.Value))
		if after := asJSON([]any{value, object, layers}); after != before {
			t.Errorf("%s: a change of the results changed the input from\n%s\nto\n%s", name, before,
				after)
		}
		if after := asJSON(byObject.Value); after != want {
			t.Errorf("%s: a change of a result changed another one from\n%s\nto\n%s", name, want,
				after)
		}
		scribble(reflect.ValueOf(&byObject.Value))
		if after := claimsOf(byObject.History); !reflect.DeepEqual(after, claims) {
			t.Errorf("%s: a change of the result changed its history from\n%v\nto\n%v", name,
				claims, after)
		}
	}
}

// TestApply_AliasOfObjects changes results of objects without a Go type, and then their inputs. A
// result shares nothing with its base and its patches, which a merge leaves as they are.
func TestApply_AliasOfObjects(t *testing.T) {
	const base = `{"apiVersion": "example.com/v1", "kind": "A", "spec": {
		"labels": {"a": "b"}, "args": ["x"], "tags": ["t"],
		"selector": {"app": "a"}, "values": {"a": {"b": [{"c": 1}]}},
		"ports": [{"port": 80, "name": "web"}, {"port": 81}]}}`
	const applied = `{"spec": {"labels": {"c": "d"}, "args": ["y"], "tags": ["u"],
		"selector": {"tier": "b"}, "values": {"a": {"d": [{"e": 2}]}, "f": {"g": []}},
		"resources": {"cpu": 1}, "ports": [{"port": 80, "name": "new"}, {"port": 82}]}}`
	const updated = `[{"op": "add", "path": "/spec/values/h", "value": {"i": [{"j": 1}]}},
		{"op": "copy", "from": "/spec/values/a", "path": "/spec/values/k"},
		{"op": "move", "from": "/spec/labels", "path": "/spec/values/l"}]`
	defined, untyped := objectPlan(specSchema), planForJSON()
	for name, tc := range map[string]struct {
		plan    plan[merge.Object]
		patches []string
		option  merge.Option
	}{
		"a definition":           {defined, []string{applied}, nil},
		"a definition, no patch": {defined, nil, nil},
		"a definition, updates":  {defined, []string{updated, applied, updated}, nil},
		"a definition, the base": {defined, []string{applied}, merge.BaseWins()},
		"a live object":          {defined, []string{applied}, merge.Live()},
		"no type":                {untyped, []string{applied}, nil},
		"no type and no patch":   {untyped, nil, nil},
		"no type, and updates":   {untyped, []string{updated, applied}, nil},
		"no type and the base":   {untyped, []string{applied}, merge.BaseWins()},
	} {
		object := fromJSON[merge.Object](base)
		var patches []merge.Patch
		for i, text := range tc.patches {
			patches = append(patches, must(merge.ReadPatch(string(rune('a'+i)), []byte(text))))
		}
		before := asJSON([]any{object, patches})
		result, again := must(tc.plan.Apply(&object, patches, tc.option)),
			must(tc.plan.Apply(&object, patches, tc.option))
		scribble(reflect.ValueOf(again.Value))
		if after := asJSON([]any{object, patches}); after != before {
			t.Errorf("%s: a change of the result changed the input from\n%s\nto\n%s", name, before,
				after)
		}
		want, claims := asJSON(result.Value), claimsOf(result.History)
		scribble(reflect.ValueOf(object))
		for _, p := range patches {
			scribble(reflect.ValueOf(p.Value))
		}
		if after := asJSON(result.Value); after != want {
			t.Errorf("%s: a change of the input changed the result from\n%s\nto\n%s", name, want,
				after)
		}
		if after := claimsOf(result.History); !reflect.DeepEqual(after, claims) {
			t.Errorf("%s: a change of the input changed the history from\n%v\nto\n%v", name, claims,
				after)
		}
	}
}
