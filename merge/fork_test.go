package merge_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestFork checks that a copy of an ownership and its original record later writes apart.
func TestFork(t *testing.T) {
	result := writtenResult(t, `{"text":"a","count":1,"labels":{"x":"1"}}`, `{"count":2}`,
		`{"text":"b"}`)
	writes(result.History, "w", jobOrigin, fieldpath.Fields("flag"))(nil, true)
	result.Value.Flag = true
	value := result.Value
	fork := result.History.Fork(&value)
	one := func(o *merge.History, layer merge.Owner, value *written, text string) {
		write{layer: layer, now: text, origin: jobOrigin, changes: false, path: "text"}.record(
			t, o, value)
		count := int64(len(layer))
		writes(o, layer, jobOrigin, fieldpath.Fields("count"))(value.Count, &count)
		writes(o, layer, jobOrigin,
			fieldpath.Fields("labels").Append(fieldpath.Key(string(layer))))(nil, "z")
		value.Count, value.Labels, value.Flag = &count,
			map[string]string{"x": "1", string(layer): "z"}, true
	}
	one(fork, "one", &value, `{"text":"c"}`)
	one(result.History, "another", &result.Value, `{"text":"d"}`)
	for _, tc := range []struct {
		owners *merge.History
		layers []merge.Owner
		want   []string
	}{
		{fork, []merge.Owner{"base", "manager/a", "manager/b", "w", "one"}, []string{
			`.count base=1 a=2 one=3 from .job`, `.flag w=true from .job`,
			`.labels["one"] one="z" from .job`, `.labels["x"] base="1"`,
			`.text base="a" b="b" one="c" from .job`,
		}},
		{result.History, []merge.Owner{"base", "manager/a", "manager/b", "w", "another"}, []string{
			`.count base=1 a=2 another=7 from .job`, `.flag w=true from .job`,
			`.labels["another"] another="z" from .job`, `.labels["x"] base="1"`,
			`.text base="a" b="b" another="d" from .job`,
		}},
	} {
		if diff := cmp.Diff(tc.want, locatedClaimsOf(tc.owners)); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(tc.layers, tc.owners.Owners()); diff != "" {
			t.Errorf("layers (-want +got):\n%s", diff)
		}
	}
	if layers := (*merge.History)(nil).Fork(written{}).Owners(); len(layers) != 1 {
		t.Errorf("the layers of a copy of nothing are %v", layers)
	}
}

// TestFork_Within checks that a copy of a part has only the history of the part, with later records
// and with the decisions of policies and the directives in it.
func TestFork_Within(t *testing.T) {
	plain := writtenResult(t, `{"text":"a","count":1,"labels":{"x":"1"}}`,
		`{"count":2,"labels":{"x":"2","y":"3"}}`, `{"text":"b","labels":{"x":"4"}}`).History
	base := fromJSON[*written](`{"text":"a","part":{"part":{"text":"b"}},"labels":{"":"x"}}`)
	patches := patchesOf(fromJSON[merge.Object],
		`a {"text":"c","labels":{"y":"z"},"part":{"text":"d","part":{"$retainKeys":["text"],"text":"e"}}}`)
	decided := must(
		must(planFor[written](schema.Rules{})).Apply(base, patches,
			merge.Protect(fieldpath.Fields("part", "part", "text")))).History
	for _, tc := range []struct {
		of   *merge.History
		path string
		// what a later layer finds and leaves
		before, now any
		want        []string
	}{
		{plain, `labels`, map[string]string{"x": "4", "y": "3"},
			map[string]string{"x": "5", "y": "3"},
			[]string{`["x"] base="1" a="2" b="4" one="5" from .job["x"]`, `["y"] a="3"`}},
		{plain, `labels`, map[string]string{"x": "4", "y": "3"},
			map[string]string{"x": "4", "y": "3"},
			[]string{`["x"] base="1" a="2" b="4"`, `["y"] a="3"`}},
		{plain, `part`, nil, &writtenPart{Text: "z"}, []string{`.text one="z" from .job.text`}},
		{decided, `part.part`, &writtenPart{Text: "b"}, &writtenPart{Text: "b", Args: []string{"f"}},
			[]string{`.args one=["f"] from .job.args`, `.text base="b" a="e" base="b"`}},
		{decided, `labels.nothing`, nil, nil, nil},
	} {
		whole, path := locatedClaimsOf(tc.of), must(fieldpath.ParsePath(tc.path))
		part := tc.of.Within(path)
		fork := part.Fork(tc.now)
		fork.Record("one", tc.before, tc.now, jobOrigin.Within)
		if diff := cmp.Diff(tc.want, locatedClaimsOf(fork)); diff != "" {
			t.Errorf("%s: claims (-want +got):\n%s", tc.path, diff)
		}
		if diff := cmp.Diff(whole, locatedClaimsOf(tc.of)); diff != "" {
			t.Errorf("%s: claims of the original (-want +got):\n%s", tc.path, diff)
		}
	}
}

// TestWithin shows that a part shares its history with the whole.
func TestWithin(t *testing.T) {
	result := writtenResult(t, `{"part":{"text":"a","part":{"text":"b"}}}`,
		`{"part":{"part":{"text":"c"}}}`)
	part := result.History.Within(fieldpath.Fields("part")).Within(fieldpath.Fields("part"))
	part.Record("w", writtenPart{Text: "c"}, writtenPart{Text: "d"}, nil)
	want := []string{`.text base="b" a="c" w="d"`}
	if diff := cmp.Diff(want, claimsOf(part)); diff != "" {
		t.Errorf("claims of the part (-want +got):\n%s", diff)
	}
	claims := result.History.Of(fieldpath.Fields("part", "part", "text"))
	if len(claims) != 3 || claims[2].Owner != "w" {
		t.Errorf("the claims of the whole are %v", claims)
	}
	if claims = part.Of(fieldpath.Fields("args")); claims != nil {
		t.Errorf("a field that nobody sets has the claims %v", claims)
	}
	owned := []string{`base owns {}`, `a owns {}`, `w owns {"f:text":{}}`}
	if diff := cmp.Diff(owned, fieldsOf(part)); diff != "" {
		t.Errorf("fields of the part (-want +got):\n%s", diff)
	}
}

// TestFieldsV1_Removed shows that nobody owns a field that a later layer removes.
func TestFieldsV1_Removed(t *testing.T) {
	base := any(fromJSON[*thing](`{"args": ["a"], "name": "x", "tags": ["b"]}`))
	patch := fromJSON[any](`{"args": ["c"], "count": 1}`)
	result := applied(t, must(planForAny(reflect.TypeFor[thing](), schema.Rules{})), &base,
		[]merge.Patch{{Manager: "a", Value: patch}})
	value := result.Value.(*thing)
	result.History.Within(fieldpath.Fields("args")).Record("later", value.Args, nil, nil)
	value.Args = nil
	want := []string{
		`.args base=["a"] a=["c"] later=null`, `.count a=1`, `.name base="x"`,
		`.tags[="b"] base=present`,
		`base owns {"f:name":{},"f:tags":{"v:\"b\"":{}}}`, `a owns {"f:count":{}}`, `later owns {}`,
	}
	if d := cmp.Diff(want, append(claimsOf(result.History), fieldsOf(result.History)...)); d != "" {
		t.Errorf("owners (-want +got):\n%s", d)
	}
}

// TestWriteAgain shows that a layer which writes a value again has one claim.
func TestWriteAgain(t *testing.T) {
	plan := must(planForAny(reflect.TypeFor[document](), schema.Rules{}))
	base := any(fromJSON[*document](
		`{"name":"x","text":"x","switch":true,"on":true,"limit":1,"other":"x","args":["x"],"size":"1"}`))
	patch := base
	result := applied(t, plan, &base, []merge.Patch{{Manager: "a", Value: patch}})
	empty := &document{Name: "y"}
	writes(result.History, merge.Manager("a"), anew, nil)(result.Value, result.Value)
	writes(result.History, "late", anew, nil)(result.Value, empty)
	writes(result.History, "last", anew, nil)(empty, result.Value)
	n := 0
	for line := range slices.Values(linesOf(result.History, func(c merge.Claim) string {
		return string(c.Owner)
	})) {
		n++
		if path, layers, _ := strings.Cut(line, " "); layers != "base manager/a late last" {
			t.Errorf("%s: claimed by %s", path, layers)
		}
	}
	if n != 8 {
		t.Errorf("%d fields, want 8", n)
	}
}
