package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/schema"
)

var updateStories = flag.Bool("update", false, "rewrite the outcomes in testdata/stories.txt")

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

	Labels  map[string]string            `json:"labels,omitempty"`
	Modes   map[mode]mode                `json:"modes,omitempty"`
	Parts   map[string]part              `json:"parts,omitempty"`
	Amounts map[string]resource.Quantity `json:"amounts,omitempty"`
	Pairs   *map[string]string           `json:"pairs,omitempty"`

	Items []entry  `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Refs  []*entry `json:"refs,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Ports []port   `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`

	Tags []string `json:"tags,omitempty" patchStrategy:"merge"`
	Args []string `json:"args,omitempty"`
	Rows []part   `json:"rows,omitempty"`

	Size   *resource.Quantity    `json:"size,omitempty"`
	Number *intstr.IntOrString   `json:"number,omitempty"`
	Any    *runtime.RawExtension `json:"any,omitempty"`
}

// always encodes each of its fields, even an empty one.
type always struct {
	Name   string               `json:"name"`
	Part   part                 `json:"part"`
	Notes  map[string]string    `json:"notes"`
	Items  []entry              `json:"items" patchStrategy:"merge" patchMergeKey:"name"`
	Tags   []string             `json:"tags" patchStrategy:"merge"`
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
}

type port struct {
	Port  int32  `json:"port"`
	Value string `json:"value,omitempty"`
}

// TestStories merges the patches of testdata/stories.txt. A story begins with its name. Then come the base and the patches, each
// with the name of its layer; the values of "typed" patches are Go values. The outcome follows "=". It is the value, each field
// with its claims, and the fields that patches contest or make.
func TestStories(t *testing.T) {
	const file = "testdata/stories.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		told, want, _ := strings.Cut(block, "\n=")
		want = strings.TrimSpace(want)
		name, _, _ := strings.Cut(told, "\n")
		var got string
		t.Run(strings.TrimPrefix(name, "# "), func(t *testing.T) {
			got = tell(t, told)
			if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" && !*updateStories {
				t.Errorf("outcome (-want +got):\n%s", d)
			}
		})
		if i > 0 {
			all.WriteString("\n")
		}
		fmt.Fprintf(&all, "%s\n= %s\n", told, got)
	}
	if *updateStories {
		if err := os.WriteFile(file, []byte(all.String()), 0o666); err != nil {
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
	value := valueOf(t, result.Value)
	if other := valueOf(t, without.Value); other != value {
		t.Errorf("without owners %s", other)
	}
	if other := new(document); upstream == nil || json.Unmarshal(upstream, other) != nil || valueOf(t, other) != value {
		t.Errorf("upstream makes %s", upstream)
	}
	lines := []string{value}
	for path, claims := range result.Owners.All() {
		line := path.String()
		if twins && strings.Contains(line, "[1]") {
			continue // the first item of a key has the claims on both
		}
		for _, c := range claims {
			if v := reflect.ValueOf(c.Value); v.Kind() == reflect.String && v.Type() != reflect.TypeFor[string]() {
				t.Errorf("%v: the claimed string is a %T", path, c.Value)
			}
			name, ok := c.Layer.Manager()
			if !ok {
				name = string(c.Layer)
			}
			line += " " + name + "=" + finding.FormatValue(path, c.Value, true)
		}
		lines = append(lines, line)
	}
	made := map[string]bool{}
	for f := range result.Owners.Patched() {
		path := f.Path()
		if f.Contested() {
			lines = append(lines, "contested "+path.String())
		}
		if made[path.String()] = f.IsMade(); f.IsMade() && !made[path[:max(len(path)-1, 0)].String()] {
			lines = append(lines, "made "+path.String())
		}
	}
	for _, path := range result.Duplicates {
		lines = append(lines, "duplicate "+path.String())
	}
	for _, ignored := range result.Ignored {
		lines = append(lines, "ignored "+ignored.Path.String())
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
func valueOf(t *testing.T, v any) string {
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
