package merge_test

import (
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

// TestFieldsV1Paths_Invalid wants an error for what structured-merge-diff refuses, which does not
// repeat a long input.
func TestFieldsV1Paths_Invalid(t *testing.T) {
	for _, fields := range []string{
		`[]`, `{"f:a":{"f:b":"x"}}`, `{"f:a":{"f:b":{}`, `{"f:a":{,}}`, `{"f:a":{}} {}`, `{}]`,
		`{"name":{}}`, `{"f":{}}`, `{"k:name":{}}`, `{"k:{\"a\":1}x":{}}`, `{"v:":{}}`,
		`{"v:1 2":{}}`, `{"i:":{}}`, `{"` + strings.Repeat("é", 1000) + `":{}}`,
		strings.Repeat(`{"f:a":`, 1_000_000) + "{}" + strings.Repeat("}", 1_000_000),
	} {
		paths, err := pathsOf(fields)
		if err == nil || len(err.Error()) > 300 {
			t.Errorf("FieldsV1Paths(%.100s) = %.100v, %v; want a short error", fields, paths, err)
		}
	}
}

// TestFieldsV1Paths_Large reads an object of many fields below many levels, each of which is named.
func TestFieldsV1Paths_Large(t *testing.T) {
	const levels, fields = 9_900, 100_000
	var b strings.Builder
	for range levels {
		b.WriteString(`{".":{},"f:a":`)
	}
	b.WriteString(`{"f:0":{}`)
	for i := range fields - 1 {
		fmt.Fprintf(&b, `,"f:%d":{}`, i+1)
	}
	b.WriteString(strings.Repeat("}", levels+1))
	n := 0
	for path, err := range merge.FieldsV1Paths([]byte(b.String())) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == levels+fields-1 && len(path) != levels+1 {
			t.Errorf("the last path has %d steps, want %d", len(path), levels+1)
		}
	}
	if n != levels-1+fields {
		t.Errorf("FieldsV1Paths yields %d paths, want %d", n, levels-1+fields)
	}
}

// TestFieldsV1Paths_Stop ends the iteration early.
func TestFieldsV1Paths_Stop(t *testing.T) {
	for path, err := range merge.FieldsV1Paths([]byte(`{"f:a":{".":{},"f:b":{}},"f:x":{}}`)) {
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

// readsBack wants each path of a layer among its claims, and returns their number.
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
		for _, path := range got {
			if paths++; !claimed[string(layer)+path.String()] && !isMergeKey(path) {
				t.Errorf("%s owns %s, which it never claimed", layer, path)
			}
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
func pathsOf(fields string) ([]fieldpath.Path, error) {
	var paths []fieldpath.Path
	for path, err := range merge.FieldsV1Paths([]byte(fields)) {
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
