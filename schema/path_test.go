package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/schema"
)

func ExampleParsePath() {
	path, err := schema.ParsePath(`spec.replicatedJobs[name="node"].template.metadata.labels["app"]`)
	fmt.Println(path, err)
	key, value, _ := path[2].Item()
	fmt.Println(key, value)

	path, _ = schema.ParsePath(`spec.replicatedJobs[name=node]`) // as a shell leaves it
	fmt.Println(path)
	_, err = schema.ParsePath(`spec.replicatedJobs[name="node]`)
	fmt.Println(err)
	// Output:
	// .spec.replicatedJobs[name="node"].template.metadata.labels["app"] <nil>
	// name node
	// .spec.replicatedJobs[name="node"]
	// path "spec.replicatedJobs[name=\"node]", character 26: expected a value in double quotes
}

func TestParsePath(t *testing.T) {
	for _, tc := range []struct {
		text   string
		want   schema.Path
		reason string
	}{
		{``, nil, "the empty path is the object itself"},
		{`.spec`, schema.Fields("spec"), "a field"},
		{`spec.suspend`, schema.Fields("spec", "suspend"), "the first dot may be left out"},
		{`.list[name="a"]`, schema.Path{schema.Field("list"), schema.Item("name", "a")}, "an item by its merge key"},
		{`.list[name=""]`, schema.Path{schema.Field("list"), schema.Item("name", "")}, "an empty key is a key"},
		{`.labels["a.b/c"]`, schema.Path{schema.Field("labels"), schema.Key("a.b/c")}, "dots and slashes are part of a quoted key"},
		{`.labels[""]`, schema.Path{schema.Field("labels"), schema.Key("")}, "an empty key of a map"},
		{`.labels["a\"]b"]`, schema.Path{schema.Field("labels"), schema.Key(`a"]b`)}, "a quote within a key is escaped"},
		{`.finalizers[="x"]`, schema.Path{schema.Field("finalizers"), schema.Element("x")}, "an element of a set"},
		{`.labels[app]`, schema.Path{schema.Field("labels"), schema.Key("app")}, "a key without its quotes"},
		{`.list[0][12].a`, schema.Path{schema.Field("list"), schema.Index(0), schema.Index(12), schema.Field("a")}, "positions"},
		{`["a"]`, schema.Path{schema.Key("a")}, "a path may begin with a key"},
		{`.a[name="ü\n"]`, schema.Path{schema.Field("a"), schema.Item("name", "ü\n")}, "the quotes are those of Go"},
	} {
		got, err := schema.ParsePath(tc.text)
		if err != nil {
			t.Errorf("%s: %v: %s", tc.text, err, tc.reason)
			continue
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v: %s", tc.text, got, tc.want, tc.reason)
		}
		again, err := schema.ParsePath(got.String())
		if err != nil || !slices.Equal(again, got) {
			t.Errorf("%s: %q is read back as %v, %v", tc.text, got.String(), again, err)
		}
	}
}

func TestParsePathErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{`.`, `path ".", character 1: expected the name of a field`},
		{`.a..b`, `path ".a..b", character 3: expected the name of a field`},
		{`.a.`, `path ".a.", character 3: expected the name of a field`},
		{`.a[`, `path ".a[", character 4: expected a value in double quotes`},
		{`.a[]`, `path ".a[]", character 4: expected a position, "key" or key="value" within the brackets`},
		{`.a[-1]`, `path ".a[-1]", character 6: expected a position, "key" or key="value" within the brackets`},
		{`.a[99999999999]`, `path ".a[99999999999]", character 15: expected a position, "key" or key="value" within the brackets`},
		{`.a[name=]`, `path ".a[name=]", character 9: expected a value in double quotes`},
		{`.a[name='bc']`, `path ".a[name='bc']", character 9: expected a value in double quotes`},
		{`.a[name="b]`, `path ".a[name=\"b]", character 9: expected a value in double quotes`},
		{`.a[name="b"`, `path ".a[name=\"b\"", character 12: expected "]"`},
		{`.a[name"b"]`, `path ".a[name\"b\"]", character 8: expected "="`},
		{`.a["b"]c`, `path ".a[\"b\"]c", character 8: expected "." or "["`},
	} {
		path, err := schema.ParsePath(tc.text)
		switch {
		case err == nil:
			t.Errorf("%s: no error, and the path %v", tc.text, path)
		case err.Error() != tc.want:
			t.Errorf("%s:\n got %s\nwant %s", tc.text, err, tc.want)
		case path != nil:
			t.Errorf("%s: a path beside an error: %v", tc.text, path)
		}
	}
}

func TestPathAppendSharesNothing(t *testing.T) {
	base := schema.Fields("spec", "a")[:1]
	first := base.Append(schema.Field("b"))
	second := base.Append(schema.Field("c"), schema.Index(1))
	if got := fmt.Sprint(base, first, second); got != `.spec .spec.b .spec.c[1]` {
		t.Error(got)
	}
	if full := schema.Fields("spec", "a"); full[:1].Append(schema.Field("x")).String() != ".spec.x" || full.String() != ".spec.a" {
		t.Errorf("appending wrote into the path that it was cut from: %v", full)
	}
}

func TestPathHasPrefix(t *testing.T) {
	path := schema.PatchPath("a.example.com/x").Append(schema.Field("metadata"))
	for _, tc := range []struct {
		prefix schema.Path
		want   bool
	}{
		{nil, true},
		{schema.Fields("spec", "runtimePatches"), true},
		{schema.PatchPath("a.example.com/x"), true},
		{path, true},
		{schema.PatchPath("a.example.com/y"), false},
		{path.Append(schema.Field("labels")), false},
		{schema.Path{schema.Key("spec")}, false}, // of another kind
	} {
		if got := path.HasPrefix(tc.prefix); got != tc.want {
			t.Errorf("%v has the prefix %v: %v", path, tc.prefix, got)
		}
	}
}

func TestPathAsJSON(t *testing.T) {
	path := schema.PatchPath("a.example.com/x")
	text, err := json.Marshal(path)
	if err != nil {
		t.Fatal(err)
	}
	var back schema.Path
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(path.String(), back.String()); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(`"a["`), &back); err == nil {
		t.Error("a path with an open bracket was read")
	}
}

func TestStepAccessors(t *testing.T) {
	steps := map[string]schema.Step{
		"field": schema.Field("x"), "item": schema.Item("name", "x"), "key": schema.Key("x"), "element": schema.Element("x"), "index": schema.Index(0),
	}
	for kind, step := range steps {
		_, field := step.Field()
		_, _, item := step.Item()
		_, key := step.Key()
		_, element := step.Element()
		_, index := step.Index()
		got := map[string]bool{"field": field, "item": item, "key": key, "element": element, "index": index}
		for other, is := range got {
			if is != (other == kind) {
				t.Errorf("%s: says of itself that it is a step to: %s", kind, other)
			}
		}
	}
}
