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
