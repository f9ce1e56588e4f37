package merge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
)

// TestFieldsV1Paths tells the paths that each kind of name in FieldsV1 leads to.
func TestFieldsV1Paths(t *testing.T) {
	for _, tc := range casefile.Table[struct {
		Name, Fields string
		Want         []string
	}](t, "testdata/fieldsv1.yaml") {
		t.Run(tc.Name, func(t *testing.T) {
			got, err := pathsOf(tc.Fields)
			if err != nil {
				t.Fatalf("FieldsV1Paths(%s): %v", tc.Fields, err)
			}
			if diff := cmp.Diff(tc.Want, texts(got)); diff != "" {
				t.Errorf("FieldsV1Paths(%s) (-want +got):\n%s", tc.Fields, diff)
			}
		})
	}
}

// TestFieldsV1Paths_Invalid wants the place and the reason in the error of an invalid FieldsV1.
func TestFieldsV1Paths_Invalid(t *testing.T) {
	for _, tc := range []struct{ name, fields, want string }{
		{"a string for a field", `{"f:a":{"f:b":"x"}}`,
			`in .a: the value of "f:b" must be an object`},
		{"null for a field", `{"f:a":null}`, `the value of "f:a" must be an object`},
		{"an unknown prefix", `{"f:a":{"x:b":{}}}`,
			`in .a: invalid key "x:b": must start with "f:", "k:", "v:" or "i:"`},
		{"no prefix", `{"name":{}}`,
			`invalid key "name": must start with "f:", "k:", "v:" or "i:"`},
		{"half a prefix", `{"f":{}}`, `invalid key "f": must start with`},
		{"an empty key", `{"":{}}`, `invalid key "": must start with`},
		{"a long prefix", `{"ff:a":{}}`, `invalid key "ff:a": must start with`},
		{"an item without keys", `{"k:{}":{}}`, `must be an object with merge keys after "k:"`},
		{"an item of text", `{"k:name":{}}`, `invalid key "k:name": must be JSON after "k:"`},
		{"an item of a string", `{"k:\"a\"":{}}`, `must be an object with merge keys after "k:"`},
		{"an item with a list as its key", `{"k:{\"a\":[1]}":{}}`,
			`a merge key must have a name, and a scalar as its value`},
		{"an item with an empty key", `{"k:{\"\":1}":{}}`,
			`a merge key must have a name, and a scalar as its value`},
		{"an item with a huge number", `{"k:{\"a\":1e999}":{}}`, `must be JSON after "k:"`},
		{"an item with text after it", `{"k:{\"a\":1}x":{}}`, `must be JSON after "k:"`},
		{"an item without an end", `{"k:{\"a\":1":{}}`, `must be JSON after "k:"`},
		{"an element of nothing", `{"v:":{}}`, `invalid key "v:": must be JSON after "v:"`},
		{"an element with a huge number in it", `{"v:[{\"a\":1e999}]":{}}`,
			`must be JSON after "v:"`},
		{"an element with text after it", `{"v:1 2":{}}`, `must be JSON after "v:"`},
		{"no position", `{"i:":{}}`, `must be a position after "i:"`},
		{"a negative position", `{"i:-1":{}}`, `must be a position after "i:"`},
		{"a long key", `{"` + strings.Repeat("é", 1000) + `":{}}`, `éé…éé`},
		{"a key of 128 bytes", `{"` + strings.Repeat("x", 128) + `":{}}`,
			`invalid key "` + strings.Repeat("x", 128) + `"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := pathsOf(tc.fields)
			var invalid *merge.FieldsV1Error
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), tc.want) ||
				len(err.Error()) > 1000 {
				t.Errorf("FieldsV1Paths = %v, want a FieldsV1Error with %q", err, tc.want)
			}
		})
	}
}

// TestFieldsV1Error formats an error that states nothing.
func TestFieldsV1Error(t *testing.T) {
	for _, err := range []*merge.FieldsV1Error{nil, {}} {
		if err.Error() != "no error" || err.Unwrap() != nil {
			t.Errorf("%#v: Error = %q, Unwrap = %v", err, err.Error(), err.Unwrap())
		}
	}
}

// TestFieldsV1Paths_Deep reads fields as deep as JSON may nest. A value that contains itself is an
// error.
func TestFieldsV1Paths_Deep(t *testing.T) {
	const levels = 10_000
	text := strings.Repeat(`{".":{},"f:a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
	if paths, err := pathsOf(text); err != nil || len(paths) != levels-1 {
		t.Errorf("%d levels: %d paths, %v", levels, len(paths), err)
	}
	cycle := merge.Object{}
	cycle["f:a"] = cycle
	var last error
	for _, err := range merge.FieldsV1Paths(cycle) {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "nests more than 10000 deep") {
		t.Errorf("an object that contains itself: %v", last)
	}
}

// TestFieldsV1Paths_Stop ends the iteration early.
func TestFieldsV1Paths_Stop(t *testing.T) {
	fields := merge.Object{"f:a": merge.Object{"f:b": merge.Object{}, ".": merge.Object{}}, "x": 1}
	for path, err := range merge.FieldsV1Paths(fields) {
		if err != nil || path.String() != ".a" {
			t.Errorf("the first path is %s, %v, want .a", path, err)
		}
		break
	}
}

// TestFieldsV1Paths_Written reads back the FieldsV1 of generated merges.
func TestFieldsV1Paths_Written(t *testing.T) {
	paths := 0
	plan := nullablePlan(specSchema)
	next := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	for range 300 {
		base := merge.Object(randomSpec(next))
		one, other := merge.Object(randomSpec(next)), merge.Object(randomSpec(next))
		result, err := plan.Apply(&base, []merge.Patch{
			{Manager: "a", Value: &one}, {Manager: "b", Value: &other},
		})
		if err != nil {
			t.Fatal(err)
		}
		paths += readsBack(t, result.History)
	}
	if paths < 1000 {
		t.Errorf("%d paths of objects read, want more", paths)
	}
}

// randomSpec generates an object of specSchema.
func randomSpec(next *rand.Rand) map[string]any {
	word := func() string {
		return []string{"a", "b", "app.example.com/x", "<&>", `"`, ""}[next.IntN(6)]
	}
	spec := map[string]any{}
	if next.IntN(2) == 0 {
		spec["replicas"] = int64(next.IntN(3))
	}
	if next.IntN(2) == 0 {
		spec["labels"] = map[string]any{word(): word(), word(): word()}
	}
	if next.IntN(2) == 0 {
		spec["tags"] = []any{fmt.Sprint(next.IntN(3)), "x" + word()}
	}
	if next.IntN(3) == 0 {
		spec["args"] = []any{word()}
	}
	if next.IntN(3) == 0 {
		spec["selector"] = map[string]any{"app": word()}
	}
	if next.IntN(2) == 0 {
		spec["values"] = map[string]any{word(): map[string]any{word(): word()}, "n": []any{}}
	}
	if next.IntN(3) == 0 {
		spec["resources"] = []any{
			nil, map[string]any{}, map[string]any{"cpu": int64(1)}}[next.IntN(3)]
	}
	if next.IntN(3) > 0 {
		port := int64(80 + next.IntN(3))
		spec["ports"] = []any{map[string]any{"port": port, "name": word()},
			map[string]any{"port": port, "protocol": []string{"UDP", "<"}[next.IntN(2)]}}
	}
	return map[string]any{"spec": spec}
}

// readsBack compares the paths of each layer with the history. Written again, they must equal
// the input. It returns their number.
func readsBack(t *testing.T, owners *merge.History) (paths int) {
	t.Helper()
	claimed := map[string]bool{}
	for path, claims := range owners.All() {
		for _, c := range claims {
			claimed[string(c.Owner)+inFields(path).String()] = true
		}
	}
	for layer, data := range owners.FieldsV1(nil) {
		got, err := pathsOf(string(data))
		if err != nil {
			t.Fatalf("FieldsV1Paths(%s): %v", data, err)
		}
		paths += len(got)
		again := map[string]any{}
		for _, path := range got {
			if !claimed[string(layer)+path.String()] && !isMergeKey(path) {
				t.Errorf("%s owns %s, which it never claimed", layer, path)
			}
			insert(again, path)
		}
		var want any
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(canonical(t, want), any(again)); diff != "" {
			t.Fatalf("the fields of %s, read and written again (-want +got):\n%s", layer, diff)
		}
	}
	return paths
}

// isMergeKey reports whether a path leads to a merge key: who names an item owns it, without a
// claim.
func isMergeKey(path fieldpath.Path) bool {
	if len(path) < 2 {
		return false
	}
	name, _ := path[len(path)-1].Field()
	return slices.ContainsFunc(path[len(path)-2].Keys(), func(k fieldpath.ItemKey) bool {
		return k.Name == name
	})
}

// insert adds a path to a FieldsV1 value.
func insert(fields map[string]any, path fieldpath.Path) {
	for _, step := range path {
		key := elementText(step)
		if fields[key] == nil {
			fields[key] = map[string]any{}
		}
		fields = fields[key].(map[string]any)
	}
	fields["."] = map[string]any{}
}

// elementText is a step as FieldsV1 spells it, with sorted keys.
func elementText(step fieldpath.Step) string {
	if name, ok := step.Field(); ok {
		return "f:" + name
	}
	if name, ok := step.Key(); ok {
		return "f:" + name
	}
	if i, ok := step.Index(); ok {
		return fmt.Sprintf("i:%d", i)
	}
	var value any
	kind := "k:"
	if keys := step.Keys(); keys != nil {
		byName := map[string]any{}
		for _, key := range keys {
			byName[key.Name] = key.Value
		}
		value = byName
	} else {
		kind = "v:"
		value, _ = step.ElementValue()
	}
	data, _ := json.Marshal(value)
	return kind + string(data)
}

// canonical spells the keys of a FieldsV1 value as elementText does, with "." in every field that
// is named.
func canonical(t *testing.T, fields any) any {
	t.Helper()
	in, out := fields.(map[string]any), map[string]any{}
	for key, value := range in {
		if strings.HasPrefix(key, "k:") || strings.HasPrefix(key, "v:") {
			var element any
			if err := json.Unmarshal([]byte(key[2:]), &element); err != nil {
				t.Fatal(err)
			}
			data, _ := json.Marshal(element)
			key = key[:2] + string(data)
		}
		if inner := canonical(t, value).(map[string]any); key != "." && len(inner) == 0 {
			out[key] = map[string]any{".": map[string]any{}}
		} else {
			out[key] = inner
		}
	}
	return out
}

// inFields spells a path as FieldsV1Paths does, which cannot tell the keys of maps from fields.
func inFields(path fieldpath.Path) fieldpath.Path {
	var spelled fieldpath.Path
	for _, step := range path {
		name, ok := step.Key()
		if !ok {
			name, ok = step.Field()
		}
		if ok {
			step = nameStep(name)
		}
		spelled = append(spelled, step)
	}
	return spelled
}

const plainName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_$"

func nameStep(name string) fieldpath.Step {
	if name == "" || strings.ContainsFunc(name, func(c rune) bool {
		return !strings.ContainsRune(plainName, c)
	}) {
		return fieldpath.Key(name)
	}
	return fieldpath.Field(name)
}

// pathsOf reads all paths, or the error.
func pathsOf(text string) ([]fieldpath.Path, error) {
	var paths []fieldpath.Path
	var fields merge.Object
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return nil, err
	}
	for path, err := range merge.FieldsV1Paths(fields) {
		if err != nil {
			return nil, err
		}
		paths = append(paths, path.Append())
	}
	return paths, nil
}

func texts(paths []fieldpath.Path) []string {
	var all []string
	for _, path := range paths {
		all = append(all, path.String())
	}
	return all
}
