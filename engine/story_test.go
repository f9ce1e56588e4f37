package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/schema"
)

// document has a field of every kind.
type document struct {
	Name   string  `json:"name,omitempty"`
	Text   *string `json:"text,omitempty"`
	On     bool    `json:"on,omitempty"`
	Switch *bool   `json:"switch,omitempty"`
	Count  int32   `json:"count,omitempty"`
	Limit  *int32  `json:"limit,omitempty"`
	Data   []byte  `json:"data,omitempty"`
	Mode   mode    `json:"mode,omitempty"`
	Other  *mode   `json:"other,omitempty"`
	Ref    *part   `json:"ref,omitempty"`
	Always *always `json:"always,omitempty"`
	Zero   part    `json:"zero,omitzero"`

	Whole  *part             `json:"whole,omitempty" patchStrategy:"replace"`
	Wholes map[string]string `json:"wholes,omitempty" patchStrategy:"replace"`

	Labels  map[string]string            `json:"labels,omitempty"`
	Modes   map[mode]mode                `json:"modes,omitempty"`
	Parts   map[string]part              `json:"parts,omitempty"`
	Amounts map[string]resource.Quantity `json:"amounts,omitempty"`
	Pairs   *map[string]string           `json:"pairs,omitempty"`
	Frees   map[string]any               `json:"frees,omitempty"`

	Items []entry  `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Refs  []*entry `json:"refs,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Ports []port   `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Loose []part   `json:"loose,omitempty" patchStrategy:"merge"`

	Tags  []string  `json:"tags,omitempty" patchStrategy:"merge"`
	Args  []string  `json:"args,omitempty"`
	Words *[]string `json:"words,omitempty"`
	Rows  []part    `json:"rows,omitempty"`

	Size   *resource.Quantity    `json:"size,omitempty"`
	Number *intstr.IntOrString   `json:"number,omitempty"`
	Any    *runtime.RawExtension `json:"any,omitempty"`
}

// always encodes each of its fields, even an empty one.
type always struct {
	Name   string               `json:"name"`
	Part   part                 `json:"part"`
	Pairs  *map[string]string   `json:"pairs"`
	Notes  map[string]string    `json:"notes"`
	Items  []entry              `json:"items" patchStrategy:"merge" patchMergeKey:"name"`
	Tags   []string             `json:"tags" patchStrategy:"merge"`
	Loose  []part               `json:"loose" patchStrategy:"merge"`
	Args   []string             `json:"args"`
	Amount resource.Quantity    `json:"amount"`
	Raw    runtime.RawExtension `json:"raw"`
}

type mode string

type part struct {
	X     string            `json:"x,omitempty"`
	Y     *int32            `json:"y,omitempty"`
	Inner *part             `json:"inner,omitempty"`
	Map   map[string]string `json:"map,omitempty"`
	List  []entry           `json:"list,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
}

type entry struct {
	Name  string            `json:"name"`
	Value string            `json:"value,omitempty"`
	Y     *int32            `json:"y,omitempty"`
	Ref   *part             `json:"ref,omitempty"`
	Map   map[string]string `json:"map,omitempty"`
	Tags  []string          `json:"tags,omitempty" patchStrategy:"merge"`
	Subs  []entry           `json:"subs,omitempty" patchStrategy:"merge" patchMergeKey:"name"`

	Any   *runtime.RawExtension `json:"any,omitempty"`
	Frees map[string]any        `json:"frees,omitempty"`
}

type port struct {
	Port  int32  `json:"port"`
	Value string `json:"value,omitempty"`
}

// TestStories merges the patches of testdata/stories.txt. A story begins with its name. Then come the base and the patches, each
// with the name of its layer; the values of "typed" patches are Go values. The outcome follows "=". It is the value, each field
// with its claims, and the fields that patches contest or make.
func TestStories(t *testing.T) { tellAll(t, "testdata/stories.txt", tell) }

// TestObjectStories merges objects: those of testdata/objects.txt by storySchema, and those of testdata/json.txt without a
// schema. The outcome also has the sets of fields of all layers.
func TestObjectStories(t *testing.T) {
	typ, err := schema.ParseOpenAPI([]byte(storySchema))
	if err != nil {
		t.Fatal(err)
	}
	tellAll(t, "testdata/objects.txt", func(t *testing.T, story string) string { return tellObject(t, engine.ForObject(typ), story) })
	tellAll(t, "testdata/json.txt", func(t *testing.T, story string) string { return tellObject(t, engine.ForJSON(), story) })
}

// tellAll compares the outcomes of the stories in a file.
func tellAll(t *testing.T, file string, tell func(*testing.T, string) string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		told, want, _ := strings.Cut(block, "\n=")
		want = strings.TrimSpace(want)
		name, _, _ := strings.Cut(told, "\n")
		t.Run(strings.TrimPrefix(name, "# "), func(t *testing.T) {
			got := tell(t, told)
			if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" && !*update {
				t.Errorf("outcome (-want +got):\n%s", d)
			}
			all = append(all, told+"\n= "+got+"\n")
		})
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(all, "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// tell returns the outcome of a story.
func tell(t *testing.T, story string) string {
	twins := strings.HasPrefix(story, "# twins")
	plan, err := engine.ForAny(reflect.TypeFor[document](), schema.Rules{Twins: twins})
	if err != nil {
		t.Fatal(err)
	}
	var base any = new(document)
	var patches []engine.Layered[any]
	upstream := []byte(`{}`)
	for line := range strings.Lines(story) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		layer, text, _ := strings.Cut(line, " ")
		if layer == "base" {
			if err := json.Unmarshal([]byte(text), base); err != nil {
				t.Fatal(err)
			}
			upstream, _ = json.Marshal(base)
			continue
		}
		var patch any
		if typed, ok := strings.CutPrefix(text, "typed "); ok {
			patch = new(document)
			if err := json.Unmarshal([]byte(typed), patch); err != nil {
				t.Fatal(err)
			}
		} else if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &patch); err != nil {
			t.Fatal(err)
		}
		patches = append(patches, engine.Layered[any]{Layer: engine.Manager(layer), Patch: &patch})
	}
	inputs := func() []byte {
		data, err := json.Marshal([]any{base, patches})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	before := inputs()
	if upstream, err = laid(upstream, patches); err != nil {
		upstream = nil
	}
	result, err := plan.Apply(&base, patches, engine.Options{Owners: true})
	if !bytes.Equal(inputs(), before) {
		t.Errorf("the inputs changed to %s", inputs())
	}
	without, errWithout := plan.Apply(&base, patches, engine.Options{})
	if err != nil {
		var refused *engine.PatchError
		if !errors.As(err, &refused) || errWithout == nil || errWithout.Error() != err.Error() {
			t.Errorf("with owners %v, without %v", err, errWithout)
		}
		if upstream != nil && !strings.Contains(err.Error(), "duplicate") { // upstream merges both items
			t.Errorf("upstream makes %s", upstream)
		}
		return err.Error()
	}
	if errWithout != nil {
		t.Fatalf("without owners: %v", errWithout)
	}
	value := valueText(t, result.Value)
	if other := valueText(t, without.Value); other != value {
		t.Errorf("without owners %s", other)
	}
	if other := new(document); upstream == nil || json.Unmarshal(upstream, other) != nil || valueText(t, other) != value {
		t.Errorf("upstream makes %s", upstream)
	}
	lines := append([]string{value}, outcomeOf(t, result.Owners, false, func(path fieldpath.Path) bool {
		return twins && slices.ContainsFunc(path, isPosition) // the first item of a key has the claims on both
	})...)
	for _, path := range result.Duplicates {
		lines = append(lines, "duplicate "+path.String())
	}
	for _, ignored := range result.Ignored {
		lines = append(lines, "ignored "+ignored.Path.String())
	}
	return strings.Join(lines, "\n")
}

func isPosition(step fieldpath.Step) bool { _, ok := step.Index(); return ok }

// outcomeOf returns the fields with their claims, and the fields that patches contest or make.
func outcomeOf(t *testing.T, o *engine.Ownership, ofObjects bool, skip func(fieldpath.Path) bool) []string {
	var lines []string
	yielded := map[string]bool{}
	for path, claims := range o.All() {
		if skip(path) {
			continue
		}
		line := path.String()
		for _, c := range claims {
			text := finding.FormatValue(path, c.Value, true)
			v := reflect.ValueOf(c.Value)
			if v.Kind() == reflect.Pointer || v.Kind() == reflect.String && v.Type() != reflect.TypeFor[string]() || v.IsValid() && text == "null" && c.Layer != engine.Base {
				t.Errorf("%v: the claimed value is a %T", path, c.Value)
			}
			line += " " + nameOf(c.Layer) + "=" + text
		}
		lines = append(lines, line)
		yielded[path.String()] = true
	}
	made := map[string]bool{}
	for f := range o.Patched() {
		path := f.Path()
		if claims := f.Claims(); !ofObjects && len(claims) > 0 && claims[0].Value != (engine.Presence{}) && !yielded[path.String()] {
			t.Errorf("%v has claims, and All omits it: %v", path, claims)
		}
		if f.Contested() {
			lines = append(lines, "contested "+path.String())
		}
		if made[path.String()] = f.IsMade(); f.IsMade() && !made[path[:max(len(path)-1, 0)].String()] {
			lines = append(lines, "made "+path.String())
		}
	}
	return lines
}

// nameOf returns the name of a manager, or of another layer.
func nameOf(l engine.Layer) string {
	name, ok := l.Manager()
	if !ok {
		return string(l)
	}
	return name
}

// storySchema has a field of every kind of a definition.
const storySchema = `{"type": "object", "properties": {
	"apiVersion": {"type": "string"}, "kind": {"type": "string"},
	"name": {"type": "string"}, "count": {"type": "integer"}, "on": {"type": "boolean"}, "port": {"x-kubernetes-int-or-string": true},
	"labels": {"type": "object", "additionalProperties": {"type": "string"}},
	"parts": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "integer"}}}},
	"args": {"type": "array", "items": {"type": "string"}},
	"rows": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "array", "items": {"type": "integer"}},
		"z": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}}}},
	"tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
	"choice": {"type": "object", "properties": {"app": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}, "x-kubernetes-map-type": "atomic"},
	"any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "free": {"x-kubernetes-preserve-unknown-fields": true},
	"groups": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}},
	"ref": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "integer"}, "ref": {"type": "object", "properties": {"x": {"type": "string"}}}}},
	"items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "value": {"type": "string"},
			"tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}}}},
	"ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items": {
		"type": "object", "required": ["port"],
		"properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "name": {"type": "string"}}}}
}}`

// tellObject returns the outcome of a story of objects.
func tellObject(t *testing.T, plan *engine.Plan[engine.Object, engine.Object], story string) string {
	var base *engine.Object
	var patches []engine.Layered[engine.Object]
	for line := range strings.Lines(story) {
		layer, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if layer == "#" {
			continue
		}
		var object engine.Object
		if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		if layer == "base" {
			base = &object
		} else {
			patches = append(patches, engine.Layered[engine.Object]{Layer: engine.Manager(layer), Patch: &object})
		}
	}
	inputs := func() string {
		data, err := json.Marshal([]any{base, patches})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := inputs()
	result, err := plan.Apply(base, patches, engine.Options{Owners: true})
	without, errWithout := plan.Apply(base, patches, engine.Options{})
	if after := inputs(); after != before {
		t.Errorf("the inputs changed to %s", after)
	}
	if err != nil {
		if errWithout == nil || errWithout.Error() != err.Error() {
			t.Errorf("with owners %v, without %v", err, errWithout)
		}
		return err.Error()
	}
	if errWithout != nil || !reflect.DeepEqual(without.Value, result.Value) {
		t.Errorf("without owners: %v, %v", errWithout, without)
	}
	data, err := json.Marshal(result.Value)
	if err != nil {
		t.Fatal(err)
	}
	lines := append([]string{string(data)}, outcomeOf(t, result.Owners, true, func(fieldpath.Path) bool { return false })...)
	for layer, fields := range result.Owners.FieldsV1(nil) {
		lines = append(lines, nameOf(layer)+" "+string(fields))
	}
	return strings.Join(lines, "\n")
}

// laid returns what the API machinery makes of the patches.
func laid(base []byte, patches []engine.Layered[any]) ([]byte, error) {
	for _, p := range patches {
		patch, err := json.Marshal(*p.Patch)
		if err != nil {
			return nil, err
		}
		if base, err = strategicpatch.StrategicMergePatch(base, patch, document{}); err != nil {
			return nil, err
		}
		decoded := new(document)
		if err := json.Unmarshal(base, decoded); err != nil {
			return nil, err
		}
		if base, err = json.Marshal(decoded); err != nil {
			return nil, err
		}
	}
	return base, nil
}

// valueOf returns the encoding of a document, with sorted names.
func valueText(t *testing.T, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var fields any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	data, _ = json.Marshal(fields)
	return string(data)
}

// TestObjectEdges merges patches that set nothing, and values as deep and as wide as allowed.
func TestObjectEdges(t *testing.T) {
	uncompiled := engine.ForObject(nil)
	if _, err := uncompiled.Apply(nil, nil, engine.Options{}); err == nil || uncompiled.Type() != nil {
		t.Errorf("the plan of no type merges: %v", err)
	}
	values, err := engine.ForAny(reflect.TypeFor[document](), schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.ForObject(values.Type()).Apply(nil, nil, engine.Options{}); err == nil {
		t.Error("the plan of a Go type merges objects")
	}
	plan := engine.ForJSON()
	var nothing engine.Object
	wide := engine.Object{}
	for i := range 10_001 {
		wide[strconv.Itoa(i)] = int64(i)
	}
	wide["l"] = slices.Repeat([]any{"x"}, 10_001)
	nested := func(levels int) *engine.Object {
		o := engine.Object{}
		for range levels {
			o = engine.Object{"x": o}
		}
		return &o
	}
	for _, test := range []struct {
		reason      string
		base, patch *engine.Object
		want        *engine.Object
	}{
		{"no patch", &wide, nil, &wide},
		{"a nil patch", &wide, &nothing, &wide},
		{"a nil base", &nothing, &wide, &wide},
		{"10,000 levels in a patch", nil, nested(10_000), nested(10_000)},
		{"9,999 levels in a base", nested(9_999), nil, nested(9_999)},
		{"10,001 levels in a patch", nil, nested(10_001), nil},
		{"10,000 levels in a base", nested(10_000), nil, nil},
		{"10,001 levels in both", nested(9_999), nested(10_001), nil},
	} {
		for _, owners := range []bool{false, true} {
			result, err := plan.Apply(test.base, []engine.Layered[engine.Object]{{Layer: "a", Patch: test.patch}}, engine.Options{Owners: owners})
			switch {
			case test.want == nil && (err == nil || !strings.HasSuffix(err.Error(), "nests more than 10000 deep")):
				t.Errorf("%s: %v", test.reason, err)
			case test.want != nil && err != nil:
				t.Errorf("%s: %v", test.reason, err)
			case test.want != nil && !reflect.DeepEqual(result.Value, *test.want):
				t.Errorf("%s: another value", test.reason)
			}
		}
	}
}

// TestSources: the source of a claim begins with the place of its base or its patch, and goes on with the path of the field.
func TestSources(t *testing.T) {
	plan, err := engine.For[document, engine.Object](schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	first, second := fieldpath.Fields("patches", "first"), fieldpath.Fields("patches", "second")
	for _, place := range []fieldpath.Path{nil, fieldpath.Fields("spec")} {
		result, err := plan.Apply(&document{Name: "x", Mode: "m"}, []engine.Layered[engine.Object]{
			{Layer: engine.Manager("a"), Patch: &engine.Object{"name": "y"}, Source: first},
			{Layer: engine.Manager("b"), Patch: &engine.Object{"name": "z"}, Source: second},
			{Layer: engine.Manager("c"), Patch: &engine.Object{"name": "z"}},
		}, engine.Options{Owners: true, Source: place})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for path, claims := range result.Owners.All() {
			for _, c := range claims {
				got[path.String()] = append(got[path.String()], c.Source.String())
			}
		}
		want := map[string][]string{
			".mode": {place.String() + ".mode"},
			".name": {place.String() + ".name", ".patches.first.name", ".patches.second.name", ".name"},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("sources (-want +got):\n%s", d)
		}
	}
}

// TestWriteAgain: a layer that writes the same value again has one claim, and no later layer contests a field.
func TestWriteAgain(t *testing.T) {
	plan, err := engine.ForAny(reflect.TypeFor[document](), schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	value := &document{}
	if err := json.Unmarshal([]byte(`{"name":"x","text":"x","switch":true,"on":true,"limit":1,"other":"x","args":["x"],"size":"1"}`), value); err != nil {
		t.Fatal(err)
	}
	var base any = value
	patch := base
	result, err := plan.Apply(&base, []engine.Layered[any]{{Layer: engine.Manager("a"), Patch: &patch}}, engine.Options{Owners: true})
	if err != nil {
		t.Fatal(err)
	}
	empty := &document{Name: "y"}
	result.Owners.Write(engine.Manager("a"), engine.Origin{}, nil, result.Value, result.Value)
	result.Owners.Write("late", engine.Origin{}, nil, result.Value, empty)
	result.Owners.Write("last", engine.Origin{}, nil, empty, result.Value)
	n := 0
	for path, claims := range result.Owners.All() {
		n++
		var layers []engine.Layer
		for _, c := range claims {
			layers = append(layers, c.Layer)
		}
		if want := []engine.Layer{engine.Base, engine.Manager("a"), "late", "last"}; !slices.Equal(layers, want) {
			t.Errorf("%v: claimed by %v, want %v", path, layers, want)
		}
	}
	for f := range result.Owners.Patched() {
		if f.Contested() {
			t.Errorf("%v is contested", f.Path())
		}
	}
	if n != 8 {
		t.Errorf("%d fields, want 8", n)
	}
}
