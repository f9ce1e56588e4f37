package merge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// outcome applies patches, and returns the lines of the outcome. It checks that the input stays as
// it is. Without options, API machinery must make the same value of a Go type.
func outcome[T any](t *testing.T, plan plan[T], base *T, patches []merge.Patch,
	s testCase) []string {
	t.Helper()
	before := asJSON([]any{base, patches})
	result, err := plan.Apply(base, patches, s.options.list()...)
	if after := asJSON([]any{base, patches}); after != before {
		t.Errorf("Apply changed its input from\n%s\nto\n%s", before, after)
	}
	var upstream string
	upstreamErr := errors.New("merges no objects")
	_, isObject := any(base).(*merge.Object)
	isUpstreams := !isObject && !s.hasOptions
	if isUpstreams {
		all := make([]any, len(patches))
		for i, p := range patches {
			all[i] = p.Value
		}
		upstream, upstreamErr = strategicMerge(*base, all...)
	}
	if err != nil {
		var rejected *merge.PatchError
		if !errors.As(err, &rejected) ||
			rejected.Index >= 0 &&
				rejected.Owner != merge.Manager(patches[rejected.Index].Manager) {
			t.Errorf("the error %v names another patch", err)
		}
		if upstreamErr == nil {
			return []string{"stricter: " + err.Error()}
		}
		return []string{"error: " + err.Error()}
	}
	value := asJSON(result.Value)
	if isUpstreams && (upstreamErr != nil || upstream != value) {
		t.Errorf("upstream makes %s, %v, want %s", upstream, upstreamErr, value)
	}
	claims := claimsOf(result.History)
	stopAnywhere(result.History, len(claims))
	lines := append([]string{"= " + value}, claims...)
	lines = append(lines, fieldsOf(result.History)...)
	checkValues(t, result.History)
	for _, c := range conflict.Find(result.History) {
		lines = append(
			lines, strings.TrimSpace(
				fmt.Sprintf("conflict of %s %s", strings.Join(c.Managers(), " "), c.Path)))
	}
	for _, path := range notePaths(result.Notes, merge.Duplicate) {
		lines = append(lines, "duplicate "+path.String())
	}
	for _, field := range notesOf(result.Notes, merge.Nulled) {
		lines = append(lines, fmt.Sprintf("zero null of %s %s", nameOf(field.Owner), field.Path))
	}
	for _, field := range notesOf(result.Notes, merge.Ignored) {
		lines = append(lines, fmt.Sprintf("ignored from %s %s", nameOf(field.Owner), field.Path))
	}
	for _, field := range notesOf(result.Notes, merge.Protected) {
		lines = append(lines, fmt.Sprintf("protected from %s %s", nameOf(field.Owner), field.Path))
	}
	for _, d := range notesOf(result.Notes, merge.Decided) {
		line := "decided by " + d.Option + " for " + nameOf(d.Owner) + " against"
		for _, loser := range d.Losers {
			line += " " + nameOf(loser)
		}
		lines = append(lines, line+" "+d.Path.String())
	}
	return lines
}

// stopAnywhere stops after each of the fields. An iteration that continues then panics.
func stopAnywhere(owners *merge.History, fields int) {
	for n := range fields {
		left := n
		for range owners.All() {
			if left--; left < 0 {
				break
			}
		}
	}
}

// checkValues wants claims with JSON alone.
func checkValues(t *testing.T, o *merge.History) {
	t.Helper()
	for path, claims := range o.All() {
		for _, c := range claims {
			v := reflect.ValueOf(c.Value)
			if v.Kind() == reflect.Pointer || v.Kind() == reflect.String &&
				v.Type() != reflect.TypeFor[string]() {
				t.Errorf("%v: the claimed value is a %T", path, c.Value)
			}
		}
	}
}

// claimsOf returns a line for each field, with its claims in order.
func claimsOf(o *merge.History) []string {
	return linesOf(o, claimText)
}

// sourcesOf returns a line for each field, with the sources of its claims.
func sourcesOf(o *merge.History) []string {
	return linesOf(o, func(c merge.Claim) string { return c.At.String() })
}

// linesOf returns a line for each field, with a text for each of its claims.
func linesOf(o *merge.History, text func(merge.Claim) string) []string {
	var lines []string
	for path, claims := range o.All() {
		line := path.String()
		for _, c := range claims {
			line += " " + text(c)
		}
		lines = append(lines, line)
	}
	return lines
}

// claimText returns the layer of a claim and its value. It distinguishes null from a value that
// encodes as null.
func claimText(c merge.Claim) string {
	value := asJSON(c.Value)
	switch {
	case c.Value == merge.Presence{}:
		value = "present"
	case value == "null" && c.Value != nil:
		value = fmt.Sprintf("null(%T)", c.Value)
	}
	return nameOf(c.Owner) + "=" + value
}

// fieldsOf returns a line for each layer, with its fields.
func fieldsOf(o *merge.History) []string {
	var lines []string
	for layer, fields := range o.FieldsV1(nil) {
		lines = append(lines, fmt.Sprintf("%s owns %s", nameOf(layer), fields))
	}
	return lines
}

// nameOf returns the name of a manager, or of another layer.
func nameOf(l merge.Owner) string {
	if name, ok := l.Manager(); ok {
		return name
	}
	return string(l)
}

// objectPlan returns the plan of an OpenAPI schema.
func objectPlan(text string) plan[merge.Object] {
	return planForObject(must(schema.ParseOpenAPI([]byte(text))))
}

// nullablePlan is objectPlan with null for every value that may be nullable.
func nullablePlan(text string) plan[merge.Object] {
	root := exactObject(text)
	makeNullable(root, nil)
	return planForObject(must(schema.ParseOpenAPI([]byte(asJSON(root)))))
}

// makeNullable makes the values within a schema nullable, except for the keys of a list-map.
func makeNullable(within map[string]any, keys []any) {
	allow := func(of any, except bool, keys []any) {
		if s, ok := of.(map[string]any); ok {
			if s["type"] != nil && !except {
				s["nullable"] = true
			}
			makeNullable(s, keys)
		}
	}
	properties, _ := within["properties"].(map[string]any)
	for name, of := range properties {
		allow(of, slices.Contains(keys, any(name)), nil)
	}
	allow(within["additionalProperties"], false, nil)
	kind := within["x-kubernetes-list-type"]
	keys, _ = within["x-kubernetes-list-map-keys"].([]any)
	allow(within["items"], kind == "map" || kind == "set", keys)
}

// strategicMerge returns the JSON that API machinery makes of patches to a value of a Go type. It
// panics for some patches, and then an API server rejects the request.
func strategicMerge(base any, patches ...any) (result string, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = "", fmt.Errorf("panic: %v", p)
		}
	}()
	of := reflect.TypeOf(base)
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	result = asJSON(base)
	for _, patch := range patches {
		merged, err := strategicpatch.StrategicMergePatch([]byte(result), []byte(asJSON(patch)),
			reflect.Zero(of).Interface())
		if err != nil {
			return "", err
		}
		into := reflect.New(of).Interface()
		if err := kjson.UnmarshalCaseSensitivePreserveInts(merged, into); err != nil {
			return "", err
		}
		result = asJSON(into)
	}
	return result, nil
}

// fromJSON reads JSON as API machinery does: an integer is an int64. It returns the zero value for
// "".
func fromJSON[T any](text string) T {
	var into T
	if text == "" {
		return into
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &into); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return into
}

// applied returns the result of patches, with its owners.
func applied[B any](t testing.TB, plan plan[B], base *B, patches []merge.Patch) *merge.Result[B] {
	t.Helper()
	result, err := plan.Apply(base, patches)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// patchesOf reads patches such as `a {"on": true}`, which begin with the manager.
func patchesOf[P any](read func(text string) P, lines ...string) []merge.Patch {
	patches := make([]merge.Patch, len(lines))
	for i, line := range lines {
		manager, text, _ := strings.Cut(line, " ")
		patches[i] = merge.Patch{Manager: manager, Value: read(text)}
	}
	return patches
}

// exactObject reads an object with its numbers as they stand.
func exactObject(text string) merge.Object { return exactJSON(text).(merge.Object) }

// exactJSON reads JSON with its numbers as they stand. It returns nil for "".
func exactJSON(text string) any {
	if text == "" {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return v
}

// asJSON returns a value as JSON.
func asJSON(v any) string { return string(must(json.Marshal(v))) }

// must returns a value that is part of a test, and so has no error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
