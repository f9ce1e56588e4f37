package merge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// TestOwnership_Write_Object shows what later layers write into an object.
func TestOwnership_Write_Object(t *testing.T) {
	const base = `{"count": 1, "labels": {"x": "1"}, "inner": {"a": "x"}, "tags": ["x"], "selector": {"app": "x"}, "values": {"x": {"y": 1}, "z": [1]},
		"boxes": [{"name": "x", "size": 1}], "hosts": [{"name": "x", "zone": "p"}], "ports": [{"port": 80}, {"port": "80"}, {"port": "\u0001"}], "numbers": [1]}`
	patches := []string{
		`a {"count": 2, "labels": {"x": "2"}, "boxes": [{"name": "x", "size": 2}], "hosts": [{"name": "x", "zone": "p"}], "ports": [{"port": 80}, {"port": "\u0001"}], "tags": ["x"], "numbers": [1]}`}
	all := claimsOf(shapesResult(t, base, patches...).History)
	type write struct {
		layer, path, before, now string
		changes                  bool
	}
	for _, tc := range []struct {
		name   string
		writes []write
		value  string   // the fields of the object after the writes
		less   []string // the lines that the history loses
		more   []string // the lines that it gets
		fields []string // a line for each of the layers that write
	}{
		{
			name: "an entry", writes: []write{{"d", `labels["x"]`, `"2"`, `"3"`, false}},
			value:  `{"labels": {"x": "3"}}`,
			less:   []string{`.labels["x"] base="1" a="2"`},
			more:   []string{`.labels["x"] base="1" a="2" d="3"`},
			fields: []string{`d owns {"f:labels":{"f:x":{}}}`},
		},
		{
			name:   "an entry by the name of a field",
			writes: []write{{"d", `labels.x`, `"2"`, `"3"`, false}},
			value:  `{"labels": {"x": "3"}}`,
			less:   []string{`.labels["x"] base="1" a="2"`},
			more:   []string{`.labels["x"] base="1" a="2" d="3"`},
			fields: []string{`d owns {"f:labels":{"f:x":{}}}`},
		},
		{
			name: "a field by a key", writes: []write{{"d", `inner["b"]`, ``, `"3"`, false}},
			value:  `{"inner": {"a": "x", "b": "3"}}`,
			more:   []string{`.inner.b d="3"`},
			fields: []string{`d owns {"f:inner":{"f:b":{}}}`},
		},
		{
			name: "an element",
			writes: []write{{"d", `tags[="y"]`, ``, `"y"`, false},
				{"d", `tags[="x"]`, `"x"`, ``, false}}, value: `{"tags": ["y"]}`,
			less: []string{`.tags[="x"] base=present a=present`},
			more: []string{
				`.tags[="y"] d=present`,
				`.tags[="x"] base=present a=present d=null`,
			},
			fields: []string{`d owns {"f:tags":{"v:\"y\"":{}}}`},
		},
		{
			name: "an element that is a number",
			writes: []write{{"d", `numbers[=1]`, `1`, ``, false},
				{"d", `numbers[=2]`, ``, `2`, false}}, value: `{"numbers": [2]}`,
			less: []string{`.numbers[=1] base=present a=present`},
			more: []string{
				`.numbers[=2] d=present`,
				`.numbers[=1] base=present a=present d=null`,
			},
			fields: []string{`d owns {"f:numbers":{"v:2":{}}}`},
		},
		{
			name:   "an item that goes",
			writes: []write{{"d", `boxes[name="x"]`, `{"name": "x", "size": 2}`, ``, false}},
			value:  `{"boxes": []}`,
			less: []string{
				`.boxes[name="x"] base=present a=present`,
				`.boxes[name="x"].name base="x" a="x"`,
				`.boxes[name="x"].size base=1 a=2`,
			},
			more: []string{
				`.boxes[name="x"] base=present a=present d=null`,
				`.boxes[name="x"].name base="x" a="x" d=null`,
				`.boxes[name="x"].size base=1 a=2 d=null`,
			},
		},
		{
			name:   "an item that comes",
			writes: []write{{"d", `boxes[name="y"]`, ``, `{"name": "y"}`, false}},
			value:  `{"boxes": [{"name": "y"}, {"name": "x", "size": 2}]}`,
			more: []string{
				`.boxes[name="y"] d=present`,
				`.boxes[name="y"].name d="y"`,
			},
			fields: []string{`d owns {"f:boxes":{"k:{\"name\":\"y\"}":{".":{},"f:name":{}}}}`},
		},
		{
			name:   "a field of an item",
			writes: []write{{"d", `boxes[name="x"].size`, `2`, `3`, false}},
			value:  `{"boxes": [{"name": "x", "size": 3}]}`,
			less:   []string{`.boxes[name="x"].size base=1 a=2`},
			more:   []string{`.boxes[name="x"].size base=1 a=2 d=3`},
			fields: []string{`d owns {"f:boxes":{"k:{\"name\":\"x\"}":{"f:size":{}}}}`},
		},
		{
			name: "an item by two strings",
			writes: []write{
				{"d", `hosts[name="x",zone="p"]`, `{"name": "x", "zone": "p"}`, ``, false}},
			value: `{"hosts": []}`,
			less: []string{
				`.hosts[name="x",zone="p"] base=present a=present`,
				`.hosts[name="x",zone="p"].name base="x" a="x"`,
				`.hosts[name="x",zone="p"].zone base="p" a="p"`,
			},
			more: []string{
				`.hosts[name="x",zone="p"] base=present a=present d=null`,
				`.hosts[name="x",zone="p"].name base="x" a="x" d=null`,
				`.hosts[name="x",zone="p"].zone base="p" a="p" d=null`,
			},
		},
		{
			name:   "an item by a number",
			writes: []write{{"d", `ports[port=80]`, `{"port": 80}`, ``, false}},
			value:  `{"ports": [{"port": "80"}, {"port": "\u0001"}]}`,
			less: []string{
				`.ports[port=80] base=present a=present`,
				`.ports[port=80].port base=80 a=80`,
			},
			more: []string{
				`.ports[port=80] base=present a=present d=null`,
				`.ports[port=80].port base=80 a=80 d=null`,
			},
		},
		{
			name:   "an item by a string",
			writes: []write{{"d", `ports[port="80"]`, `{"port": "80"}`, ``, false}},
			value:  `{"ports": [{"port": 80}, {"port": "\u0001"}]}`,
			less: []string{
				`.ports[port="80"] base=present`,
				`.ports[port="80"].port base="80"`,
			},
			more: []string{
				`.ports[port="80"] base=present d=null`,
				`.ports[port="80"].port base="80" d=null`,
			},
		},
		{
			name:   "an item by a string that begins with a control character",
			writes: []write{{"d", `ports[port="\x01"]`, `{"port": "\u0001"}`, ``, false}},
			value:  `{"ports": [{"port": 80}, {"port": "80"}]}`,
			less: []string{
				`.ports[port="\x01"] base=present a=present`,
				`.ports[port="\x01"].port base="\u0001" a="\u0001"`,
			},
			more: []string{
				`.ports[port="\x01"] base=present a=present d=null`,
				`.ports[port="\x01"].port base="\u0001" a="\u0001" d=null`,
			},
		},
		{
			name: "a value without a schema",
			writes: []write{{"d", `values.x.y`, `1`, `2`, false},
				{"d", `values.x.w`, ``, `{"v": 3}`, false}},
			value: `{"values": {"x": {"y": 2, "w": {"v": 3}}, "z": [1]}}`,
			less:  []string{`.values.x.y base=1`},
			more: []string{
				`.values.x.w d=present`,
				`.values.x.w.v d=3`,
				`.values.x.y base=1 d=2`,
			},
			fields: []string{`d owns {"f:values":{"f:x":{"f:w":{".":{},"f:v":{}},"f:y":{}}}}`},
		},
		{
			name:   "an object without a schema for a list",
			writes: []write{{"d", `values.z`, `[1]`, `{"y": 2}`, false}},
			value:  `{"values": {"x": {"y": 1}, "z": {"y": 2}}}`,
			less:   []string{`.values.z base=[1]`},
			more: []string{
				`.values.z base=[1] d=present`,
				`.values.z.y d=2`,
			},
			fields: []string{`d owns {"f:values":{"f:z":{".":{},"f:y":{}}}}`},
		},
		{
			name:   "an object that becomes empty",
			writes: []write{{"d", `values.x`, `{"y": 1}`, `{}`, false}},
			value:  `{"values": {"x": {}, "z": [1]}}`,
			less: []string{
				`.values.x base=present`,
				`.values.x.y base=1`,
			},
			more: []string{
				`.values.x base=present d=present`,
				`.values.x.y base=1 d=null`,
			},
			fields: []string{`d owns {"f:values":{"f:x":{}}}`},
		},
		{
			name:   "a whole object",
			writes: []write{{"d", ``, `{"count": 2}`, `{"count": 3}`, false}},
			value:  `{"count": 3}`,
			less:   []string{`.count base=1 a=2`},
			more:   []string{`.count base=1 a=2 d=3`},
			fields: []string{`d owns {"f:count":{}}`},
		},
		{
			name: "an object that goes", writes: []write{{"d", `inner`, `{"a": "x"}`, ``, true}},
			value: `{"inner": null}`,
			less:  []string{`.inner.a base="x"`},
			more:  []string{`.inner.a base="x" d=null`},
		},
		{
			name:   "an equal value",
			writes: []write{{"d", `count`, `2`, `2`, false}, {"e", `count`, `2`, `2.0`, true}},
			value:  ``,
			less:   []string{`.count base=1 a=2`},
			more:   []string{`.count base=1 a=2 d=2`},
			fields: []string{`d owns {"f:count":{}}`},
		},
		{
			name:   "an equal object",
			writes: []write{{"d", `inner`, `{"a": "x"}`, `{"a": "x"}`, false}}, value: ``,
			less:   []string{`.inner.a base="x"`},
			more:   []string{`.inner.a base="x" d="x"`},
			fields: []string{`d owns {"f:inner":{"f:a":{}}}`},
		},
		{
			name:   "a value twice",
			writes: []write{{"d", `count`, `2`, `3`, false}, {"d", `count`, `3`, `3`, false}},
			value:  `{"count": 3}`,
			less:   []string{`.count base=1 a=2`},
			more:   []string{`.count base=1 a=2 d=3`},
			fields: []string{`d owns {"f:count":{}}`},
		},
		{
			name:   "two layers",
			writes: []write{{"d", `count`, `2`, `3`, false}, {"e", `count`, `3`, `4`, false}},
			value:  `{"count": 4}`,
			less:   []string{`.count base=1 a=2`},
			more:   []string{`.count base=1 a=2 d=3 e=4`},
			fields: []string{`e owns {"f:count":{}}`},
		},
		{
			name: "duplicate elements and items without a key",
			writes: []write{{"d", `boxes`, `[]`, `[{"size": 1}, 1, {"name": "y"}]`, false},
				{"d", `tags`, `["x"]`, `["x", "x", {}]`, false}},
			value: `{"boxes": [{"name": "y"}], "tags": ["x", "x"]}`,
			less:  []string{`.tags[="x"] base=present a=present`},
			more: []string{
				`.boxes[name="y"] d=present`,
				`.boxes[name="y"].name d="y"`,
				`.tags[="x"] base=present a=present d=present`,
			},
			fields: []string{
				`d owns {"f:boxes":{"k:{\"name\":\"y\"}":{".":{},"f:name":{}}},"f:tags":{"v:\"x\"":{}}}`},
		},
		{
			name: "a field that the definition lacks",
			writes: []write{{"d", `nothing`, ``, `1`, false},
				{"d", `inner`, `{"a": "x"}`, `{"a": "x", "nothing": 1}`, true}},
			value: `{"nothing": 1, "inner": {"a": "x", "nothing": 1}}`,
		},
		{
			name:   "a value that the definition forbids",
			writes: []write{{"d", `inner.b`, ``, `1`, false}},
			value:  `{"inner": {"a": "x", "b": 1}}`,
		},
		{
			name:   "an object that the definition forbids",
			writes: []write{{"d", `inner.b`, ``, `{"c": 1}`, false}},
			value:  `{"inner": {"a": "x", "b": {"c": 1}}}`,
		},
		{name: "steps that lead nowhere", writes: []write{
			{"d", `boxes[0]`, ``, `{}`, false}, {"d", `boxes.x`, ``, `{}`, false},
			{"d", `boxes["x"]`, ``, `{}`, false}, {"d", `tags.x`, ``, `"y"`, false},
			{"d", `inner[name="x"]`, ``, `"y"`, false}, {"d", `inner[="a"]`, ``, `"y"`, false},
			{"d", `inner[0]`, ``, `"y"`, false}, {"d", `labels[="x"]`, ``, `"y"`, false},
			{"d", `count.x`, ``, `1`, false}, {"d", `count[="x"]`, ``, `1`, false},
			{"d", `args[="x"]`, ``, `1`, false}, {"d", `args[0]`, ``, `1`, false},
			{"d", `tags[="x"].x`, ``, `1`, false}, {"d", `tags[="x"][="x"]`, ``, `1`, false},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result := shapesResult(t, base, patches...)
			for _, w := range tc.writes {
				path, err := fieldpath.ParsePath(w.path)
				if err != nil {
					t.Fatal(err)
				}
				before, now := fromJSON[any](w.before), fromJSON[any](w.now)
				writes(result.History, merge.Owner(w.layer), merge.Origin{Always: !w.changes}, path)(
					before, now)
			}
			value, _ := fromJSON[any](tc.value).(merge.Object)
			for name, field := range value {
				if result.Value[name] = field; field == nil {
					delete(result.Value, name)
				}
			}
			history := claimsOf(result.History)
			without := func(lines, others []string) []string {
				return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
					return slices.Contains(others, line)
				})
			}
			if diff := cmp.Diff(tc.less, without(all, history), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the history loses (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.more, without(history, all), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the history gets (-want +got):\n%s", diff)
			}
			stopAnywhere(result.History, len(history))
			fields := slices.DeleteFunc(fieldsOf(result.History), func(line string) bool {
				return line[0] != 'd' && line[0] != 'e' || strings.HasSuffix(line, " owns {}")
			})
			if diff := cmp.Diff(tc.fields, fields, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("FieldsV1() (-want +got):\n%s", diff)
			}
		})
	}
}

// shapesResult applies patches such as `a {"on": true}` to a base.
func shapesResult(t testing.TB, base string, patches ...string) *merge.Result[merge.Object] {
	t.Helper()
	object := exactObject(base)
	return applied(t, objectPlan(shapesSchema), &object, patchesOf(exactObject, patches...))
}

// TestOwnership_Write_NoElement checks that a path to an object in a set of strings leads nowhere.
func TestOwnership_Write_NoElement(t *testing.T) {
	result := shapesResult(t, `{"tags": ["x"]}`)
	tag := fieldpath.Fields("tags").Append(fieldpath.ElementOf(merge.Object{}))
	writes(result.History, "d", anew, tag)(nil, merge.Object{})
	if diff := cmp.Diff([]string{`.tags[="x"] base=present`},
		claimsOf(result.History)); diff != "" {
		t.Errorf("All() (-want +got):\n%s", diff)
	}
}

// TestObject_Sources checks the source of each claim. It is a place in the document of the base, of
// a patch or of a later layer.
func TestObject_Sources(t *testing.T) {
	base, patch := merge.Object{"inner": merge.Object{"a": "x"}, "count": int64(1)},
		merge.Object{"count": int64(2)}
	result, err := objectPlan(shapesSchema).Apply(&base, []merge.Patch{
		{Manager: "a", Value: &patch, At: fieldpath.Fields("patches").Append(fieldpath.Index(0))},
	}, merge.Base(merge.BaseLayer, fieldpath.Fields("base")))
	if err != nil {
		t.Fatal(err)
	}
	inner := merge.Object{"a": "y", "b": "z"}
	writes(result.History, "d", merge.Origin{Path: fieldpath.Fields("policy")},
		fieldpath.Fields("inner"))(result.Value["inner"], inner)
	writes(result.History, "e",
		merge.Origin{Path: fieldpath.Fields("policy", "count"), Computed: true},
		fieldpath.Fields("count"))(int64(2), int64(3))
	result.Value["inner"], result.Value["count"] = inner, int64(3)
	got := sourcesOf(result.History)
	if diff := cmp.Diff(
		[]string{`.count .base.count .patches[0].count .policy.count`,
			`.inner.a .base.inner.a .policy.a`, `.inner.b .policy.b`}, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

// TestObject_Ignored checks that FieldsV1 omits the ignored fields of an object.
func TestObject_Ignored(t *testing.T) {
	owners := shapesResult(t, `{"on": true, "labels": {"z": "1"}}`,
		`a {"count": 2, "labels": {"x": "2", "y": "2"}}`).History
	got := map[merge.Owner]string{}
	for layer, fields := range owners.FieldsV1(func(path fieldpath.Path) bool {
		return slices.Contains([]string{".on", `.labels["y"]`}, path.String())
	}) {
		got[layer] = string(fields)
	}
	want := map[merge.Owner]string{merge.BaseLayer: `{"f:labels":{"f:z":{}}}`,
		merge.Manager("a"): `{"f:count":{},"f:labels":{"f:x":{}}}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("FieldsV1() (-want +got):\n%s", diff)
	}
}
