package fieldpath_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/fieldpath"
)

func ExampleParsePath() {
	path, err := fieldpath.ParsePath(
		`spec.replicatedJobs[name="node"].template.metadata.labels["app"]`)
	fmt.Println(path, err)
	key, value, _ := path[2].Item()
	fmt.Println(key, value)

	path, _ = fieldpath.ParsePath(`spec.replicatedJobs[name=node]`) // as a shell leaves it
	fmt.Println(path)
	_, err = fieldpath.ParsePath(`spec.replicatedJobs[name="node]`)
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
		want   fieldpath.Path
		reason string
	}{
		{``, nil, "the empty path is the object itself"},
		{`.spec`, fieldpath.Fields("spec"), "a field"},
		{`spec.suspend`, fieldpath.Fields("spec", "suspend"), "the first dot is optional"},
		{`.list[name="a"]`, fieldpath.Path{fieldpath.Field("list"), fieldpath.Item("name", "a")},
			"an item by its merge key"},
		{`.list[name=""]`, fieldpath.Path{fieldpath.Field("list"), fieldpath.Item("name", "")},
			"an empty key is a key"},
		{`.labels["a.b/c"]`, fieldpath.Path{fieldpath.Field("labels"), fieldpath.Key("a.b/c")},
			"dots and slashes are part of a quoted key"},
		{`.labels[""]`, fieldpath.Path{fieldpath.Field("labels"), fieldpath.Key("")},
			"an empty key of a map"},
		{`.labels["a\"]b"]`, fieldpath.Path{fieldpath.Field("labels"), fieldpath.Key(`a"]b`)},
			"a quote within a key is escaped"},
		{`.finalizers[="x"]`, fieldpath.Path{fieldpath.Field("finalizers"), fieldpath.Element("x")},
			"an element of a set"},
		{`.labels[app]`, fieldpath.Path{fieldpath.Field("labels"), fieldpath.Key("app")},
			"a key without its quotes"},
		{`.list[*].a`,
			fieldpath.Path{fieldpath.Field("list"), fieldpath.Any(), fieldpath.Field("a")},
			"any item, key or element"},
		{`.labels["*"]`, fieldpath.Path{fieldpath.Field("labels"), fieldpath.Key("*")},
			"in quotes, a star is a key"},
		{`.list[name=*]`, fieldpath.Path{fieldpath.Field("list"), fieldpath.Item("name", "*")},
			"a star is no value of a key but itself"},
		{`.list[name=a,b]`, fieldpath.Path{fieldpath.Field("list"), fieldpath.Item("name", "a,b")},
			"a comma without a key behind it is part of a value"},
		{`.list["a=b"="c"]`, fieldpath.Path{fieldpath.Field("list"), fieldpath.Item("a=b", "c")},
			"an odd name of a key has quotes"},
		{`.list[0][12].a`,
			fieldpath.Path{fieldpath.Field("list"), fieldpath.Index(0), fieldpath.Index(12),
				fieldpath.Field("a")}, "positions"},
		{`["a"]`, fieldpath.Path{fieldpath.Key("a")}, "a path may begin with a key"},
		{`.a[name="ü\n"]`, fieldpath.Path{fieldpath.Field("a"), fieldpath.Item("name", "ü\n")},
			"the quotes have the syntax of Go"},
	} {
		got, err := fieldpath.ParsePath(tc.text)
		if err != nil {
			t.Errorf("%s: %v: %s", tc.text, err, tc.reason)
			continue
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v: %s", tc.text, got, tc.want, tc.reason)
		}
		again, err := fieldpath.ParsePath(got.String())
		if err != nil || !slices.Equal(again, got) {
			t.Errorf("%s: %q is read back as %v, %v", tc.text, got.String(), again, err)
		}
	}
}

func TestParsePathErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{`.`, `path ".", character 2: expected the name of a field`},
		{`.a..b`, `path ".a..b", character 4: expected the name of a field`},
		{`.a.`, `path ".a.", character 4: expected the name of a field`},
		{`.a[`, `path ".a[", character 4: expected a value in double quotes`},
		{`.a[]`, `path ".a[]", character 4: expected a position, *, "key" or key="value" within the brackets`},
		{`.a[-1]`, `path ".a[-1]", character 6: expected a position, *, "key" or key="value" within the brackets`},
		{`.a[99999999999]`,
			`path ".a[99999999999]", character 15: expected a position, *, "key" or key="value" within the brackets`},
		{`.a[name=]`, `path ".a[name=]", character 9: expected a value in double quotes`},
		{`.a[name='bc']`, `path ".a[name='bc']", character 9: expected a value in double quotes`},
		{`.a[name="b]`, `path ".a[name=\"b]", character 9: expected a value in double quotes`},
		{`.a[name="b"`, `path ".a[name=\"b\"", character 12: expected "]"`},
		{`.a[name"b"]`, `path ".a[name\"b\"]", character 8: expected "="`},
		{`.a["b"x]`, `path ".a[\"b\"x]", character 7: expected "]"`},
		{`.a[k="b",]`, `path ".a[k=\"b\",]", character 10: expected "="`},
		{`.a["b"]c`, `path ".a[\"b\"]c", character 8: expected "." or "["`},
	} {
		path, err := fieldpath.ParsePath(tc.text)
		switch {
		case err == nil:
			t.Errorf("%s: no error, and the path %v", tc.text, path)
		case err.Error() != tc.want:
			t.Errorf("%s:\n got %s\nwant %s", tc.text, err, tc.want)
		case path != nil:
			t.Errorf("%s: a path with an error: %v", tc.text, path)
		}
	}
}

func TestPathAppendSharesNothing(t *testing.T) {
	base := fieldpath.Fields("spec", "a")[:1]
	first := base.Append(fieldpath.Field("b"))
	second := base.Append(fieldpath.Field("c"), fieldpath.Index(1))
	if got := fmt.Sprint(base, first, second); got != `.spec .spec.b .spec.c[1]` {
		t.Error(got)
	}
	if full := fieldpath.Fields("spec", "a"); full[:1].Append(
		fieldpath.Field("x")).String() != ".spec.x" || full.String() != ".spec.a" {
		t.Errorf("appending wrote into the path that it was cut from: %v", full)
	}
	copied := base.Append()
	if base[0] = fieldpath.Field("other"); copied.String() != ".spec" {
		t.Errorf("a copy changed with its original: %v", copied)
	}
}

// patchPath is the path of a manager's entry in a list.
func patchPath(manager string) fieldpath.Path {
	return fieldpath.Fields("spec", "runtimePatches").Append(fieldpath.Item("manager", manager),
		fieldpath.Field("template"))
}

func TestPathHasPrefix(t *testing.T) {
	path := patchPath("a.example.com/x").Append(fieldpath.Field("metadata"))
	for _, tc := range []struct {
		prefix fieldpath.Path
		want   bool
	}{
		{nil, true},
		{fieldpath.Fields("spec", "runtimePatches"), true},
		{patchPath("a.example.com/x"), true},
		{path, true},
		{patchPath("a.example.com/y"), false},
		{path.Append(fieldpath.Field("labels")), false},
		{fieldpath.Path{fieldpath.Key("spec")}, false}, // of another kind
	} {
		if got := path.HasPrefix(tc.prefix); got != tc.want {
			t.Errorf("%v has the prefix %v: %v", path, tc.prefix, got)
		}
	}
}

func TestPathAsJSON(t *testing.T) {
	path := patchPath("a.example.com/x")
	text, err := json.Marshal(path)
	if err != nil {
		t.Fatal(err)
	}
	var back fieldpath.Path
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
	steps := map[string]fieldpath.Step{
		"field": fieldpath.Field("x"), "item": fieldpath.Item("name", "x"),
		"key": fieldpath.Key("x"), "element": fieldpath.Element("x"), "index": fieldpath.Index(0),
		"any": fieldpath.Any(),
	}
	for kind, step := range steps {
		_, field := step.Field()
		_, _, item := step.Item()
		name, key := step.Key()
		if wantName := map[string]string{
			"field": "x", "key": "x", "element": "x"}[kind]; wantName != "" && name != wantName {
			t.Errorf("%s: Key() = %q, want %q", kind, name, wantName)
		}
		_, element := step.Element()
		_, index := step.Index()
		got := map[string]bool{"field": field, "item": item, "key": key, "element": element,
			"index": index}
		for other, is := range got {
			if is != (other == kind) {
				t.Errorf("%s: says of itself that it is a step to: %s", kind, other)
			}
		}
	}
}

func TestPathOfSeveralKeys(t *testing.T) {
	port := fieldpath.ItemKey{Name: "port", Value: int64(80)}
	for want, step := range map[string]fieldpath.Step{
		`[port=80,protocol="TCP"]`: fieldpath.ItemBy(
			fieldpath.ItemKey{Name: "protocol", Value: "TCP"}, port),
		`[port=80]`:   fieldpath.ItemBy(port),
		`[name="80"]`: fieldpath.ItemBy(fieldpath.ItemKey{Name: "name", Value: "80"}),
		`[a=1.5,b=null,c=true]`: fieldpath.ItemBy(fieldpath.ItemKey{Name: "c", Value: true},
			fieldpath.ItemKey{Name: "a", Value: 1.5}, fieldpath.ItemKey{Name: "b"}),
		`[a="x,y]\"",b="="]`: fieldpath.ItemBy(fieldpath.ItemKey{Name: "a", Value: `x,y]"`},
			fieldpath.ItemKey{Name: "b", Value: "="}),
		`[=80]`:   fieldpath.ElementOf(int64(80)),
		`[="80"]`: fieldpath.ElementOf("80"),
	} {
		if got := step.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		path, err := fieldpath.ParsePath("a" + want + ".b")
		if err != nil || len(path) != 3 || path[1] != step {
			t.Errorf("%s is read as %v: %v", want, path, err)
		}
	}
	unquoted, _ := fieldpath.ParsePath("a[port=80,protocol=TCP]")
	if want := `.a[port=80,protocol="TCP"]`; unquoted.String() != want {
		t.Errorf("without quotes it is %s, want %s", unquoted, want)
	}
	number, _ := fieldpath.ParsePath("a[name=0].b")
	if text := (fieldpath.Path{
		fieldpath.Field("a"), fieldpath.Item("name", "0")}); !number.HasPrefix(text) {
		t.Errorf("%s is not within %s, and a shell takes quotes away", number, text)
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		got  fmt.Stringer
		want string
	}{
		{fieldpath.Object{Kind: "TrainJob", Namespace: "team-a", Name: "llm"},
			"TrainJob team-a/llm"},
		{fieldpath.Object{Kind: "ClusterTrainingRuntime", Name: "torch"},
			"ClusterTrainingRuntime torch"},
		{fieldpath.Object{Kind: "TrainJob"}, "TrainJob"},
		{fieldpath.Object{}, ""},
		{fieldpath.Position{File: "a.yaml", Line: 3, Column: 7}, "a.yaml:3:7"},
		{fieldpath.Position{File: "a.yaml", Line: 3}, "a.yaml:3"},
		{fieldpath.Position{File: "a.yaml"}, "a.yaml"},
		{fieldpath.Position{File: "é\n\x1b", Line: 3}, `"é\n\x1b":3`},
		{fieldpath.Position{File: "a\xff"}, `"a\xff"`},
		{fieldpath.Position{}, ""},
	} {
		if got := tc.got.String(); got != tc.want {
			t.Errorf("%#v: %q, want %q", tc.got, got, tc.want)
		}
	}
}
