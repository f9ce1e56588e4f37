package engine_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// thing has a field for each way in which values of Go types merge.
type thing struct {
	Name      string                       `json:"name,omitempty"`
	Size      int64                        `json:"size,omitempty"`
	Count     *int64                       `json:"count,omitempty"`
	On        *bool                        `json:"on,omitempty"`
	Since     *metav1.Time                 `json:"since,omitempty"`
	Inner     *thing                       `json:"inner,omitempty"`
	Fixed     *fixed                       `json:"fixed,omitempty"`
	Labels    map[string]string            `json:"labels,omitempty"`
	Limits    map[word]resource.Quantity   `json:"limits,omitempty"`
	Counts    map[string]int64             `json:"counts,omitempty"`
	Times     map[string]metav1.Time       `json:"times,omitempty"`
	Lists     map[string][]string          `json:"lists,omitempty"`
	Maps      map[string]map[string]string `json:"maps,omitempty"`
	Wholes    map[string]*whole            `json:"wholes,omitempty"`
	Parts     []thingPart                  `json:"parts,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Ports     []thingPort                  `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Pointers  []*thingPart                 `json:"pointers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Slots     []slot                       `json:"slots,omitempty" patchStrategy:"merge" patchMergeKey:"slot"`
	Words     []*string                    `json:"words,omitempty" patchStrategy:"merge"`
	Amounts   []resource.Quantity          `json:"amounts,omitempty" patchStrategy:"merge"`
	Tags      []string                     `json:"tags,omitempty" patchStrategy:"merge"`
	Numbers   []int64                      `json:"numbers,omitempty" patchStrategy:"merge"`
	Args      []string                     `json:"args,omitempty"`
	Atoms     []whole                      `json:"atoms,omitempty"`
	Tables    []table                      `json:"tables,omitempty"`
	Labelings []map[string]string          `json:"labelings,omitempty"`
	Raws      []runtime.RawExtension       `json:"raws,omitempty"`
	Shapes    []shape                      `json:"shapes,omitempty"`
	Raw       *runtime.RawExtension        `json:"raw,omitempty"`
}

// fixed has fields that are always encoded.
type fixed struct {
	Name     string               `json:"name"`
	At       metav1.Time          `json:"at"`
	Part     thingPart            `json:"part"`
	Value    runtime.RawExtension `json:"value"`
	Selector map[string]string    `json:"selector"`
	Args     []string             `json:"args"`
	Parts    []thingPart          `json:"parts" patchStrategy:"merge" patchMergeKey:"name"`
}

// shape holds JSON of any shape.
type shape struct{ Text string }

func (s shape) MarshalJSON() ([]byte, error) { return []byte(cmp.Or(s.Text, "null")), nil }

func (s *shape) UnmarshalJSON(text []byte) error {
	s.Text = string(text)
	return nil
}

type table struct {
	Rows map[string]string `json:"rows,omitempty"`
}

// whole is part of values that a patch replaces whole.
type whole struct {
	Name   string                       `json:"name,omitempty"`
	Labels map[string]string            `json:"labels,omitempty"`
	Ranks  map[int]string               `json:"ranks,omitempty"`
	Times  map[string]metav1.Time       `json:"times,omitempty"`
	Maps   map[string]map[string]string `json:"maps,omitempty"`
	Wholes map[string]*whole            `json:"wholes,omitempty"`
	Whole  *whole                       `json:"whole,omitempty"`
	Raw    *runtime.RawExtension        `json:"raw,omitempty"`
	Value  runtime.RawExtension         `json:"value,omitzero"`
}

type thingPart struct {
	Name   string            `json:"name"`
	Image  string            `json:"image,omitempty"`
	Args   []string          `json:"args,omitempty"`
	Ports  []thingPort       `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Labels map[string]string `json:"labels,omitempty"`
	Inner  *thingPart        `json:"inner,omitempty"`
}

type thingPort struct {
	Port *int32 `json:"port,omitempty"`
	Name string `json:"name,omitempty"`
}

type slot struct {
	Slot *int32 `json:"slot"`
	Name string `json:"name,omitempty"`
}

type word string

// A patchStory is a base with the patches to it, in testdata/patches.txt.
type patchStory struct {
	reason  string
	base    string
	patches []string // an Object each, or after "typed" a thing
}

// TestPatches tells what each kind of patch makes of a value, and who owns the fields then. API machinery makes the same value,
// or the result is called stricter.
func TestPatches(t *testing.T) {
	const file = "testdata/patches.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plan, twins := thingPlan(t, schema.Rules{}), thingPlan(t, schema.Rules{Twins: true})
	var told []string
	for _, want := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		story := readStory(want)
		got := story.String() + story.tell(t, plan, twins)
		told = append(told, got)
		if d := gocmp.Diff(want, got); d != "" && !*update {
			t.Errorf("%s (-want +got):\n%s", story.reason, d)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(told, "\n\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// positions matches the position of a duplicate in a path or in FieldsV1.
var positions = regexp.MustCompile(`(\[|"i:)\d+`)

// TestPatches_Long shows that items merge alike in short lists and in long ones, which are indexed.
func TestPatches_Long(t *testing.T) {
	plan, twins := thingPlan(t, schema.Rules{}), thingPlan(t, schema.Rules{Twins: true})
	for reason, story := range map[string]func(others string) patchStory{
		"a list that the base lacks": func(others string) patchStory {
			return patchStory{base: `{}`, patches: []string{
				`{"parts": [{"name": "a", "image": "x"}, ` + others + `{"name": "b", "labels": {"a": "1"}}, {"name": "a", "args": ["y"]}]}`,
				`{"parts": [{"name": "b", "image": "z"}]}`,
			}}
		},
		"a typed list that the base lacks": func(others string) patchStory {
			return patchStory{base: `{}`, patches: []string{
				`typed {"parts": [` + others + `{"name": "a", "image": "x"}, {"name": "b", "labels": {"a": "1"}}, {"name": "a", "args": ["y"]}]}`,
			}}
		},
		"a list that the base has": func(others string) patchStory {
			return patchStory{base: `{"parts": [{"name": "b"}, {"name": "c"}]}`, patches: []string{
				`{"parts": [{"name": "a", "image": "x"}, {"name": "b", "labels": {"a": "1"}}, ` + others + `{"name": "a", "args": ["y"]}]}`,
			}}
		},
		"a list of distinct items": func(others string) patchStory {
			return patchStory{base: `{}`, patches: []string{`{"parts": [{"name": "a"}, ` + others + `{"name": "b", "args": ["y"]}]}`}}
		},
		"items without a name": func(others string) patchStory {
			return patchStory{base: `{}`, patches: []string{`{"parts": [{"name": ""}, ` + others + `{"name": "", "args": ["y"]}]}`}}
		},
	} {
		var want string
		for i, n := range []int{1, 29, 30, 31, 100} {
			var others strings.Builder
			for j := range n {
				fmt.Fprintf(&others, `{"name": "other-%d"}, `, j)
			}
			s := story(others.String())
			s.reason = reason
			var lines []string
			for line := range strings.Lines(s.tell(t, plan, twins)) {
				if !strings.Contains(line, "other-") {
					lines = append(lines, line)
				}
			}
			got := positions.ReplaceAllString(strings.Join(lines, ""), "$1")
			if i == 0 {
				want = got
			} else if got != want {
				t.Errorf("%s, with %d other items (-1 other +got):\n%s", reason, n, gocmp.Diff(want, got))
			}
		}
	}
}

// TestPatched_Order shows that a directive reaches the entries of a map in the order of their keys.
func TestPatched_Order(t *testing.T) {
	base := decoded(t, `{"labels": {"h": "", "d": "", "a": "", "c": "", "g": "", "b": "", "f": "", "e": ""}}`, true)
	patch := decoded(t, `{"labels": {"$retainKeys": []}}`, false)
	result, err := thingPlan(t, schema.Rules{}).Apply(&base, []engine.Layered[any]{{Layer: "a", Patch: &patch}}, engine.Options{Owners: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for f := range result.Owners.Patched() {
		if f.HasNull() {
			got = append(got, f.Path().String())
		}
	}
	if !slices.IsSorted(got) || len(got) != 8 {
		t.Errorf("Patched = %q, want 8 paths in order", got)
	}
}

// TestFieldsV1_Removed shows that nobody owns a field that a later layer removes.
func TestFieldsV1_Removed(t *testing.T) {
	base := decoded(t, `{"args": ["a"], "name": "x", "tags": ["b"]}`, true)
	patch := decoded(t, `{"args": ["c"], "count": 1}`, false)
	result, err := thingPlan(t, schema.Rules{}).Apply(&base, []engine.Layered[any]{{Layer: "a", Patch: &patch}}, engine.Options{Owners: true})
	if err != nil {
		t.Fatal(err)
	}
	value := result.Value.(*thing)
	result.Owners.Write("later", engine.Origin{}, fieldpath.Fields("args"), value.Args, nil)
	value.Args = nil
	got := ownersText(t, result)
	want := `
.args: base ["a"], a ["c"], later null
.count: a 1
.name: base "x"
.tags[="b"]: base present
owned by base: {"f:name":{},"f:tags":{"v:\"b\"":{}}}
owned by a: {"f:count":{}}`
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("owners (-want +got):\n%s", d)
	}
}

// TestPatches_NoJSON shows that a value without JSON stays as it is.
func TestPatches_NoJSON(t *testing.T) {
	want := []runtime.RawExtension{{Raw: []byte(`{`)}, {Raw: []byte(`1`)}}
	var base, patch any = &thing{}, &thing{Raws: want}
	result, err := thingPlan(t, schema.Rules{}).Apply(&base, []engine.Layered[any]{{Layer: "a", Patch: &patch}}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Value.(*thing).Raws; !reflect.DeepEqual(got, want) {
		t.Errorf("raws = %q, want %q", got, want)
	}
}

func thingPlan(t *testing.T, r schema.Rules) *engine.Plan[any, any] {
	t.Helper()
	plan, err := engine.ForAny(reflect.TypeFor[thing](), r)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func readStory(text string) patchStory {
	var s patchStory
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if reason, ok := strings.CutPrefix(line, "# "); ok {
			s.reason = reason
		} else if base, ok := strings.CutPrefix(line, "base "); ok {
			s.base = base
		} else if patch, ok := strings.CutPrefix(line, s.next()); ok {
			s.patches = append(s.patches, patch)
		}
	}
	return s
}

// next begins the line of the next patch.
func (s patchStory) next() string { return string(rune('a'+len(s.patches))) + " " }

func (s patchStory) String() string {
	text := "# " + s.reason + "\nbase " + s.base
	for i, patch := range s.patches {
		text += "\n" + string(rune('a'+i)) + " " + patch
	}
	return text
}

// decoded returns a value of JSON, as a thing or as an object.
func decoded(t *testing.T, text string, isThing bool) any {
	t.Helper()
	into := any(new(engine.Object))
	if isThing {
		into = new(thing)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), into); err != nil {
		t.Fatalf("%s: %s", text, err)
	}
	if o, ok := into.(*engine.Object); ok {
		return *o
	}
	return into
}

// tell applies the patches, and returns the result, or the error. The plan for twins takes patches with two items of one key.
func (s patchStory) tell(t *testing.T, plan, twins *engine.Plan[any, any]) string {
	t.Helper()
	base := decoded(t, s.base, true)
	patches := make([]engine.Layered[any], len(s.patches))
	for i, text := range s.patches {
		text, isThing := strings.CutPrefix(text, "typed ")
		patch := decoded(t, text, isThing)
		patches[i] = engine.Layered[any]{Layer: engine.Layer(rune('a' + i)), Patch: &patch}
	}
	before := jsonText(t, []any{base, patches})
	result, err := plan.Apply(&base, patches, engine.Options{Owners: true})
	bare, bareErr := plan.Apply(&base, patches, engine.Options{})
	if after := jsonText(t, []any{base, patches}); after != before {
		t.Errorf("%s: Apply changed its input from\n%s\nto\n%s", s.reason, before, after)
	}
	upstream, upstreamErr := s.upstream(t)
	if err != nil {
		if bareErr == nil || errors.Unwrap(bareErr).Error() != errors.Unwrap(err).Error() {
			t.Errorf("%s: without owners the error is %v, want %v", s.reason, bareErr, err)
		}
		if upstreamErr != nil {
			return fmt.Sprintf("\nerror: %s", err)
		}
		stricter := fmt.Sprintf("\nstricter: %s", err)
		if plan == twins {
			return stricter
		}
		return stricter + s.tell(t, twins, twins)
	}
	value := jsonText(t, result.Value)
	switch {
	case bareErr != nil:
		t.Errorf("%s: %s without owners", s.reason, bareErr)
	case upstreamErr != nil:
		t.Errorf("%s: upstream fails: %s", s.reason, upstreamErr)
	case value != upstream:
		t.Errorf("%s (-upstream +got):\n%s", s.reason, gocmp.Diff(upstream, value))
	case value != jsonText(t, bare.Value):
		t.Errorf("%s (-with owners +without):\n%s", s.reason, gocmp.Diff(value, jsonText(t, bare.Value)))
	}
	return "\n= " + value + ownersText(t, result)
}

// upstream returns the JSON that API machinery makes. It panics for some patches, and then an API server rejects the request.
func (s patchStory) upstream(t *testing.T) (value string, err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	value = jsonText(t, decoded(t, s.base, true))
	for _, patch := range s.patches {
		patch, isThing := strings.CutPrefix(patch, "typed ")
		if isThing {
			patch = jsonText(t, decoded(t, patch, true))
		}
		merged, err := strategicpatch.StrategicMergePatch([]byte(value), []byte(patch), thing{})
		if err != nil {
			return "", err
		}
		into := new(thing)
		if err := json.Unmarshal(merged, into); err != nil {
			return "", err
		}
		value = jsonText(t, into)
	}
	return value, nil
}

// ownersText returns the claims on all fields, a line each, and what else the result records.
func ownersText(t *testing.T, result *engine.Result[any]) string {
	t.Helper()
	var s strings.Builder
	for path, claims := range result.Owners.All() {
		fmt.Fprintf(&s, "\n%s:", path)
		for i, c := range claims {
			if i > 0 {
				s.WriteString(",")
			}
			text := "present"
			if c.Value != (engine.Presence{}) {
				text = jsonText(t, c.Value)
			}
			fmt.Fprintf(&s, " %s %s", c.Layer, text)
		}
	}
	for layer, fields := range result.Owners.FieldsV1(nil) {
		if string(fields) != "{}" {
			fmt.Fprintf(&s, "\nowned by %s: %s", layer, fields)
		}
	}
	for f := range result.Owners.Patched() {
		for _, layer := range result.Owners.Layers() {
			if f.IsEmptied(layer) {
				fmt.Fprintf(&s, "\nemptied by %s: %s", layer, f.Path())
			}
		}
	}
	for _, path := range result.Duplicates {
		fmt.Fprintf(&s, "\nduplicate %s", path)
	}
	for _, field := range result.Ignored {
		fmt.Fprintf(&s, "\n%s: ignored from %s", field.Path, field.Layer)
	}
	return s.String()
}

func jsonText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
