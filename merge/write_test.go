package merge_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// written has a field of each kind.
type written struct {
	Text   string            `json:"text,omitempty"`
	Count  *int64            `json:"count,omitempty"`
	Flag   bool              `json:"flag,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Items  []writtenItem     `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Set    []string          `json:"set,omitempty" patchStrategy:"merge"`
	Args   []string          `json:"args,omitempty"`
	Struct writtenPart       `json:"struct,omitzero"`
	Part   *writtenPart      `json:"part,omitempty"`
}

type writtenItem struct {
	Name   string            `json:"name"`
	Value  string            `json:"value,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Ports  []*writtenPort    `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Part   *writtenPart      `json:"part,omitempty"`
}

type writtenPort struct {
	Port int32  `json:"port"`
	Name string `json:"name,omitempty"`
}

type writtenPart struct {
	Text string       `json:"text,omitempty"`
	Args []string     `json:"args,omitempty"`
	Part *writtenPart `json:"part,omitempty"`
}

// A write is one call of Write, or of WriteChanges, and the value of all fields after it.
type write struct {
	layer   merge.Owner
	path    string
	now     string
	origin  merge.Origin
	changes bool
}

var jobOrigin = merge.Origin{Path: fieldpath.Fields("job")}

var writeCases = []struct {
	reason, base string
	patches      []string // of the managers a, b, …
	writes       []write
	want         []string
}{
	{
		"a layer sets, changes, repeats and empties fields, and touches no other",
		`{"text":"a","labels":{"x":"1"},"args":["a"]}`, nil,
		[]write{{layer: "w",
			now: `{"count":1,"flag":true,"labels":{"x":"1","y":"2"},"args":["b"]}`}},
		[]string{
			`.args base=["a"] w=["b"]`, `.count w=1`, `.flag w=true`, `.labels["x"] base="1" w="1"`,
			`.labels["y"] w="2"`, `.text base="a" w=null`,
		},
	},
	{
		"changes record differences only",
		`{"text":"a","count":1,"labels":{"x":"1","z":"1"},"args":["a"],"set":["a","b"],"items":[{"name":"a"},{"name":"b"}],"part":{}}`, nil,
		[]write{{layer: "w", changes: true,
			now: `{"text":"a","count":2,"labels":{"x":"1","y":"2"},"args":["a"],"set":["b","c"],"items":[{"name":"a"},{"name":"c"}],"part":{}}`}},
		[]string{
			`.args base=["a"]`, `.count base=1 w=2`, `.items[name="a"] base=present`,
			`.items[name="c"] w=present`, `.items[name="b"] base=present w=null`,
			`.labels["x"] base="1"`, `.labels["y"] w="2"`, `.labels["z"] base="1" w=null`,
			`.part base=present`,
			`.set[="b"] base=present`, `.set[="c"] w=present`, `.set[="a"] base=present w=null`,
			`.text base="a"`,
		},
	},
	{
		"a write follows the patches, and the first claim is the base's",
		`{"text":"a","count":1,"set":["a"]}`, []string{`{"text":"b","flag":true}`},
		[]write{{layer: "w", now: `{"text":"c","count":2,"set":["a"]}`}},
		[]string{`.count base=1 w=2`, `.flag a=true w=null`, `.set[="a"] base=present w=present`,
			`.text base="a" a="b" w="c"`},
	},
	{
		"a layer that says the same again makes no claim", `{}`, nil,
		[]write{
			{layer: "w", path: "count", now: `{"count":2}`, origin: jobOrigin},
			{layer: "w", path: "text", now: `{"count":2,"text":"a"}`},
			{layer: "w", path: "text", now: `{"count":2,"text":"a"}`, origin: jobOrigin},
			{layer: "w", path: "count", now: `{"count":2,"text":"a"}`},
			{layer: "w", path: "count", now: `{"count":2,"text":"a"}`},
			{layer: "x", path: "count", now: `{"count":3,"text":"a"}`},
			{layer: "w", path: "count", now: `{"count":2,"text":"a"}`},
			{layer: "w", path: "args", now: `{"count":2,"text":"a","args":["a"]}`},
			{layer: "x", path: "text", now: `{"count":2,"text":"b","args":["a"]}`},
			{layer: "x", path: "text", now: `{"count":2,"text":"c","args":["a"]}`},
		},
		[]string{`.args w=["a"]`, `.count w=2 from .job x=3 w=2`, `.text w="a" x="b" x="c"`},
	},
	{
		"another claim between two equal ones keeps both", `{"text":"a"}`, []string{`{"text":"b"}`},
		[]write{{layer: "manager/a", path: "text", now: `{"text":"b"}`},
			{layer: "base", path: "text", now: `{"text":"b"}`},
			{layer: "base", path: "text", now: `{"text":"b"}`}},
		[]string{`.text base="a" a="b" base="b"`},
	},
	{
		"the source is the field below the origin, or the origin of a computed value", `{}`, nil,
		[]write{
			{layer: "w", path: "part", now: `{"part":{"text":"a"}}`, origin: jobOrigin},
			{layer: "w", path: "labels", now: `{"part":{"text":"a"},"labels":{"x":"1"}}`,
				origin: merge.Origin{Path: fieldpath.Fields("job", "labels"), Computed: true}},
			{layer: "w", path: `items[name="a"]`,
				now:    `{"part":{"text":"a"},"labels":{"x":"1"},"items":[{"name":"a","value":"b"}]}`,
				origin: jobOrigin},
			{layer: "w", path: "text",
				now: `{"part":{"text":"a"},"labels":{"x":"1"},"items":[{"name":"a","value":"b"}],"text":"c"}`},
		},
		[]string{`.items[name="a"] w=present from .job`,
			`.items[name="a"].value w="b" from .job.value`, `.labels["x"] w="1" from .job.labels`,
			`.part.text w="a" from .job.text`, `.text w="c"`},
	},
	{
		"a struct without fields is present", `{"part":{}}`, nil,
		[]write{{layer: "w", now: `{"part":{"part":{}}}`}, {layer: "x", now: `{"part":{}}`},
			{layer: "y", now: `{}`}},
		[]string{`.part base=present x=present y=null`, `.part.part w=present x=null`},
	},
	{
		"a struct that a layer removes is empty with all its fields",
		`{"part":{"text":"a","part":{"args":["b"]}},"struct":{"text":"c"}}`, nil,
		[]write{{layer: "w", now: `{}`}, {layer: "w", now: `{"part":{"text":"d"}}`},
			{layer: "w", now: `{}`}},
		[]string{`.part w=null w=present w=null`, `.part.part w=null`,
			`.part.part.args base=["b"] w=null`, `.part.text base="a" w=null w="d" w=null`,
			`.struct.text base="c" w=null`},
	},
	{
		"a struct that was there only, and a part of it", `{"part":{"text":"a"}}`,
		[]string{`{"part":{"args":["b"]}}`},
		[]write{{layer: "w", path: "part.text", now: `{"part":{"args":["b"]}}`}},
		[]string{`.part.args a=["b"]`, `.part.text base="a" w=null`},
	},
	{
		"items come, stay and go with their fields",
		`{"items":[{"name":"a","value":"1"},{"name":"b","ports":[{"port":1,"name":"p"}]}]}`, nil,
		[]write{{layer: "w",
			now: `{"items":[{"name":"a","value":"1"},{"name":"c","value":"3","ports":[{"port":1}]}]}`}},
		[]string{
			`.items[name="a"] base=present w=present`, `.items[name="a"].value base="1" w="1"`,
			`.items[name="c"] w=present`, `.items[name="c"].ports[port="1"] w=present`,
			`.items[name="c"].value w="3"`,
			`.items[name="b"] base=present w=null`,
			`.items[name="b"].ports[port="1"] base=present w=null`,
			`.items[name="b"].ports[port="1"].name base="p" w=null`,
		},
	},
	{
		"an item by its path", `{"items":[{"name":"a","value":"1"},{"name":"b"}]}`, nil,
		[]write{
			{layer: "w", path: `items[name="b"]`,
				now:     `{"items":[{"name":"a","value":"1"},{"name":"b","value":"2"}]}`,
				changes: true},
			{layer: "w", path: `items[name="b"].ports[port="7"]`,
				now: `{"items":[{"name":"a","value":"1"},{"name":"b","value":"2","ports":[{"port":7,"name":"p"}]}]}`},
			{layer: "w", path: `items[name="a"]`,
				now: `{"items":[{"name":"b","value":"2","ports":[{"port":7,"name":"p"}]}]}`},
		},
		[]string{
			`.items[name="b"] base=present`, `.items[name="b"].ports[port="7"] w=present`,
			`.items[name="b"].ports[port="7"].name w="p"`, `.items[name="b"].value w="2"`,
			`.items[name="a"] base=present w=null`, `.items[name="a"].value base="1" w=null`,
		},
	},
	{
		"a struct in an item by its path", `{"items":[{"name":"a"}]}`, nil,
		[]write{{layer: "w", path: `items[name="a"].part`,
			now: `{"items":[{"name":"a","part":{"text":"b"}}]}`}},
		[]string{`.items[name="a"] base=present`, `.items[name="a"].part.text w="b"`},
	},
	{
		"another layer after one that says the same again", `{}`, nil,
		[]write{
			{layer: "w", path: "args", now: `{"args":["a"]}`},
			{layer: "w", path: "count", now: `{"args":["a"],"count":2}`},
			{layer: "w", path: "count", now: `{"args":["a"],"count":2}`},
			{layer: "x", path: "count", now: `{"args":["a"],"count":3}`},
		},
		[]string{`.args w=["a"]`, `.count w=2 x=3`},
	},
	{
		"an entry and an element by their paths", `{"labels":{"x":"1"},"set":["a"]}`, nil,
		[]write{
			{layer: "w", path: `labels["x"]`, now: `{"labels":{"x":"2"},"set":["a"]}`},
			{layer: "w", path: `labels["y.z"]`, now: `{"labels":{"x":"2","y.z":"3"},"set":["a"]}`},
			{layer: "w", path: `set[="b"]`, now: `{"labels":{"x":"2","y.z":"3"},"set":["a","b"]}`,
				origin: jobOrigin},
			{layer: "w", path: `set[="a"]`, now: `{"labels":{"x":"2","y.z":"3"},"set":["b"]}`},
		},
		[]string{`.labels["x"] base="1" w="2"`, `.labels["y.z"] w="3"`,
			`.set[="b"] w=present from .job`, `.set[="a"] base=present w=null`},
	},
	{
		"items that share a key count by their positions",
		`{"items":[{"name":"a","value":"1"},{"name":"a","value":"2"}]}`, nil,
		[]write{
			{layer: "w", path: "items[1]",
				now: `{"items":[{"name":"a","value":"1"},{"name":"a","value":"3"}]}`},
			{layer: "x", path: "items[1].value",
				now: `{"items":[{"name":"a","value":"1"},{"name":"a","value":"4"}]}`},
			{layer: "y", now: `{"items":[{"name":"a","value":"1"},{"name":"a","value":"4"},{"name":"a"}]}`, changes: true},
		},
		[]string{
			`.items[name="a"] base=present`, `.items[name="a"].value base="1"`,
			`.items[1] base=present w=present`, `.items[1].name base="a" w="a"`,
			`.items[1].value base="2" w="3" x="4"`,
			`.items[2] y=present`, `.items[2].name y="a"`,
		},
	},
	{
		"a path that leads to no field", `{"text":"a","labels":{"x":"1"},"args":["a"]}`, nil,
		[]write{
			{layer: "w", path: "nowhere", now: `{"text":"a","labels":{"x":"1"},"args":["a"]}`},
			{layer: "w", path: `text["x"]`, now: `{"text":"a","labels":{"x":"1"},"args":["a"]}`},
			{layer: "w", path: "part.nowhere.text",
				now: `{"text":"a","labels":{"x":"1"},"args":["a"]}`},
			{layer: "w", path: "labels.x.y", now: `{"text":"a","labels":{"x":"1"},"args":["a"]}`},
			{layer: "w", path: `part["text"]`, now: `{"text":"a","labels":{"x":"1"},"args":["a"]}`},
		},
		[]string{`.args base=["a"]`, `.labels["x"] base="1"`, `.text base="a"`},
	},
	{
		"an item that one patch added belongs to it, field by field", `{}`,
		[]string{`{"items":[{"name":"a","value":"1","ports":[{"port":1,"name":"p"}],"labels":{"x":"1"},"part":{"text":"t"}}]}`},
		[]write{
			{layer: "w", path: `items[name="a"]`,
				now: `{"items":[{"name":"a","value":"2","ports":[{"port":1}],"labels":{"x":"1","y":"2"},"part":{"text":"t"}}]}`, changes: true},
		},
		[]string{
			`.items[name="a"] a=present`, `.items[name="a"].labels["x"] a="1"`,
			`.items[name="a"].labels["y"] w="2"`, `.items[name="a"].part.text a="t"`,
			`.items[name="a"].ports[port="1"] a=present`,
			`.items[name="a"].ports[port="1"].name a="p" w=null`,
			`.items[name="a"].value a="1" w="2"`,
		},
	},
	{
		"an item that one patch added goes", `{}`,
		[]string{`{"items":[{"name":"a","value":"1","ports":[{"port":1}],"part":{"text":"t"}}]}`},
		[]write{{layer: "w", now: `{}`}},
		[]string{
			`.items[name="a"] a=present w=null`, `.items[name="a"].part w=null`,
			`.items[name="a"].part.text a="t" w=null`,
			`.items[name="a"].ports[port="1"] a=present w=null`,
			`.items[name="a"].value a="1" w=null`,
		},
	},
	{
		"a struct that a patch made is not the base's", `{}`,
		[]string{`{"part":{"text":"a","part":{"args":null}}}`},
		[]write{{layer: "w", now: `{"part":{"part":{}}}`}, {layer: "x", now: `{"part":{}}`}},
		[]string{`.part a=present x={}`, `.part.part a=present w=present x=null`,
			`.part.part.args a=null`, `.part.text a="a" w=null`},
	},
	{
		"a patch removes what another patch and the base set",
		`{"items":[{"name":"a","value":"1","part":{"text":"t"}}],"part":{"part":{"text":"u"}},"set":["a"]}`,
		[]string{`{"items":[{"name":"b","part":{"text":"v"}}]}`,
			`{"items":null,"part":null,"set":null}`}, nil,
		[]string{
			`.items b=null`, `.items[name="b"] a=present b=null`,
			`.items[name="b"].part.text a="v" b=null`,
			`.items[name="a"] base=present b=null`, `.items[name="a"].part.text base="t" b=null`,
			`.items[name="a"].value base="1" b=null`,
			`.part b=null`, `.part.part.text base="u" b=null`, `.set b=null`,
			`.set[="a"] base=present b=null`,
		},
	},
}

// TestWrite records the writes of layers after the patches.
func TestWrite(t *testing.T) {
	for _, tc := range writeCases {
		t.Run(tc.reason, func(t *testing.T) {
			result := writtenResult(t, tc.base, tc.patches...)
			for _, w := range tc.writes {
				w.record(t, result.History, &result.Value)
			}
			if diff := cmp.Diff(tc.want, locatedClaimsOf(result.History)); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

// writtenResult applies patches by the managers a and b.
func writtenResult(t *testing.T, base string, patches ...string) *merge.Result[written] {
	t.Helper()
	lines := make([]string, len(patches))
	for i, patch := range patches {
		lines[i] = string(rune('a'+i)) + " " + patch
	}
	return applied(t, must(planFor[written](schema.Rules{})), fromJSON[*written](base),
		patchesOf(fromJSON[merge.Object], lines...))
}

// locatedClaimsOf returns a line for each field, with its claims. It adds the source of each claim
// that a write located.
func locatedClaimsOf(o *merge.History) []string {
	return linesOf(o, func(c merge.Claim) string {
		if slices.Contains(c.At, fieldpath.Field("job")) {
			return claimText(c) + " from " + c.At.String()
		}
		return claimText(c)
	})
}

// record sets the value, and records the write of the field at its path.
func (w write) record(t *testing.T, owners *merge.History, value *written) {
	t.Helper()
	path, err := fieldpath.ParsePath(w.path)
	if err != nil {
		t.Fatal(err)
	}
	now := fromJSON[*written](w.now)
	before := fieldAt(reflect.ValueOf(*value), path)
	w.origin.Always = !w.changes
	writes(owners, w.layer, w.origin, path)(before, fieldAt(reflect.ValueOf(*now), path))
	*value = *now
}

// writes returns a function that records a write of the field at a path.
func writes(o *merge.History, owner merge.Owner, from merge.Origin,
	path fieldpath.Path) func(before, now any) {
	return func(before, now any) { o.Within(path).Record(owner, before, now, from.Within) }
}

// anew is the origin of a write that counts also where it changes nothing.
var anew = merge.Origin{Always: true}

// fieldAt returns the field at a path, or nil if the value lacks it.
func fieldAt(v reflect.Value, path fieldpath.Path) any {
	for _, step := range path {
		for v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v = stepInto(v, step); !v.IsValid() {
			return nil
		}
	}
	if len(path) > 0 && v.IsZero() {
		return nil
	}
	return v.Interface()
}

func stepInto(v reflect.Value, step fieldpath.Step) reflect.Value {
	name, isField := step.Field()
	key, item, isItem := step.Item()
	position, isIndex := step.Index()
	element, isElement := step.Element()
	entry, _ := step.Key()
	switch {
	case isField && v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); tag == name {
				return v.Field(i)
			}
		}
	case isIndex && position < v.Len():
		return v.Index(position)
	case isItem || isElement:
		for i := range v.Len() {
			if isElement && v.Index(i).String() == element ||
				isItem && fmt.Sprint(fieldAt(v.Index(i), fieldpath.Fields(key))) == item {
				return v.Index(i)
			}
		}
	case v.Kind() == reflect.Map:
		return v.MapIndex(reflect.ValueOf(entry))
	}
	return reflect.Value{}
}

// TestWrite_Zero checks that an ownership that is nil or zero accepts writes, and records nothing.
func TestWrite_Zero(t *testing.T) {
	for _, o := range []*merge.History{nil, {}} {
		o.Record("w", written{}, written{Text: "a"}, nil)
		o.Within(fieldpath.Fields("text")).Record("w", "a", "b", nil)
		if lines := claimsOf(o); lines != nil {
			t.Errorf("claims = %v, want none", lines)
		}
	}
}

// TestWrite_Pointers checks that a write accepts a value and a pointer to it alike, and a nil
// pointer for none.
func TestWrite_Pointers(t *testing.T) {
	var want []string
	for i, to := range []func(*written) any{func(w *written) any {
		return *w
	}, func(w *written) any { return w }} {
		result := writtenResult(t, `{"text":"a"}`)
		before, now := result.Value, written{Text: "b", Part: &writtenPart{}}
		result.History.Record("w", to(&before), to(&now), nil)
		result.History.Within(fieldpath.Fields("part")).Record("x", now.Part, (*writtenPart)(nil),
			nil)
		result.Value = written{Text: "b"}
		if i == 0 {
			want = []string{`.part w=present x=null`, `.text base="a" w="b"`}
		}
		if diff := cmp.Diff(want, claimsOf(result.History)); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
	}
}

// TestWrite_Keys checks that a path tells the key 80 of an item from the key "80".
func TestWrite_Keys(t *testing.T) {
	base := any(fromJSON[*edges](`{"ports":[{"port":80,"note":"a"},{"port":"80","note":"b"}]}`))
	result := applied(t, must(planForAny(reflect.TypeFor[edges](), schema.Rules{})), &base,
		[]merge.Patch{})
	for i, path := range []string{`ports[port=80].note`, `ports[port="80"].note`} {
		writes(result.History, "w", merge.Origin{}, must(fieldpath.ParsePath(path)))(
			nil, []string{"c", "d"}[i])
	}
	want := []string{`.ports[port=80] base=present`, `.ports[port=80].note w="c"`,
		`.ports[port="80"] base=present`, `.ports[port="80"].note w="d"`}
	if diff := cmp.Diff(want, claimsOf(result.History)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}
