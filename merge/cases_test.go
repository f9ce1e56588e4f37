package merge_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

func TestMain(m *testing.M) { os.Exit(testenv.Tests{M: m}.Run()) }

var update = flag.Bool("update", false, "rewrite the outcomes of stories")

// A case is a base with the patches to it. In a file, "#" begins its name, "options" its options,
// "base" its base, and the name of a manager a patch. The patch is an object, after "typed" a Go
// value, or after "operations" a JSON patch. The outcome follows, and an empty line ends it:
//
//	= the value
//	the path of a field, and its claims in order
//	a manager "owns" the fields of FieldsV1
//	"contested", "conflict of managers", "duplicate", "zero null of a manager", "ignored from a manager",
//
// "protected from a manager" or "decided by a policy", and a path
//
// It may be an error. A patch that API machinery takes, and the engine does not, is "stricter". The
// outcome by the rules for duplicates follows if it differs.
type testCase struct {
	name, base string
	options    options
	hasOptions bool
	patches    []casePatch
}

type casePatch struct {
	manager, kind, text string // the kind is "typed", "operations" or "" for an object
}

// TestCases tells what patches make of values of Go types, and who owns the fields then. API
// machinery makes the same values.
func TestCases(t *testing.T) {
	runAll(t, "testdata/things.txt", operationOf[thing]())
	runAll(t, "testdata/documents.txt", operationOf[document]())
	runAll(t, "testdata/kinds.txt", operationOf[kinds]())
	runAll(t, "testdata/edges.txt", operationOf[edges]())
	runAll(t, "testdata/owned.txt", operationOf[owned]())
}

// TestObject_Cases tells what patches make of objects, by schemas and without one. Decoded and
// exact numbers merge alike.
func TestObject_Cases(t *testing.T) {
	for _, read := range []func(string) merge.Object{fromJSON[merge.Object], exactObject} {
		runAll(t, "testdata/objects.txt", objectOperation(nullablePlan(testCaseSchema), read))
		runAll(t, "testdata/specs.txt", objectOperation(nullablePlan(specSchema), read))
		runAll(t, "testdata/shapes.txt", objectOperation(nullablePlan(shapesSchema), read))
		runAll(t, "testdata/nulls.txt", objectOperation(objectPlan(nullsSchema), read))
		runAll(t, "testdata/json.txt", objectOperation(planForJSON(), read))
		runAll(t, "testdata/live.txt", objectOperation(nullablePlan(shapesSchema), read))
	}
}

// TestCases_Policies tells what the options make of patches, and who owns the fields then.
func TestCases_Policies(t *testing.T) {
	plan := must(
		planForAny(reflect.TypeFor[thing](), schema.Rules{Unions: map[reflect.Type][]schema.Union{
			reflect.TypeFor[thing](): {
				{Name: "kind", Members: []string{"on", "inner", "labels", "parts"}}},
			reflect.TypeFor[thingPart](): {
				{Name: "image", Members: []string{"args", "labels"}, Discriminator: "image",
					When: "x"}},
		}}))
	operation := operationOf[thing]()
	operation.plan, operation.hasDuplicates.merging = plan, nil
	runAll(t, "testdata/policies.txt", operation)
}

// positions matches the position of a duplicate in a path or in FieldsV1.
var positions = regexp.MustCompile(`(\[|"i:)\d+`)

// TestCases_Long shows that items merge alike in short lists and in long ones, which are indexed.
func TestCases_Long(t *testing.T) {
	operation := operationOf[thing]()
	for _, block := range strings.Split(`# a list that the base lacks
a {"parts": [{"name": "a", "image": "x"}, OTHERS, {"name": "b", "labels": {"a": "1"}}, {"name": "a", "args": ["y"]}]}
b {"parts": [{"name": "b", "image": "z"}]}

# a typed list that the base lacks
a typed {"parts": [OTHERS, {"name": "a", "image": "x"}, {"name": "b", "labels": {"a": "1"}}, {"name": "a", "args": ["y"]}]}

# a list that the base has
base {"parts": [{"name": "b"}, {"name": "c"}]}
a {"parts": [{"name": "a", "image": "x"}, {"name": "b", "labels": {"a": "1"}}, OTHERS, {"name": "a", "args": ["y"]}]}

# a list of distinct items
a {"parts": [{"name": "a"}, OTHERS, {"name": "b", "args": ["y"]}]}

# items without a name
a {"parts": [{"name": ""}, OTHERS, {"name": "", "args": ["y"]}]}`, "\n\n") {
		var want []string
		for _, n := range []int{1, 29, 30, 31, 100} {
			others := make([]string, n)
			for i := range others {
				others[i] = fmt.Sprintf(`{"name": "other-%d"}`, i)
			}
			testCase, _, _ := readCase(
				strings.ReplaceAll(block, "OTHERS", strings.Join(others, ", ")))
			got := slices.DeleteFunc(operation.run(t, testCase), func(line string) bool {
				return strings.Contains(line, "other-")
			})
			for i, line := range got {
				got[i] = positions.ReplaceAllString(line, "$1")
			}
			if want == nil {
				want = got
			} else if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s, with %d other items (-1 other +got):\n%s", testCase.name, n, d)
			}
		}
	}
}

// runAll compares the outcomes of the cases in a file.
func runAll[T any](t *testing.T, file string, operation operation[T]) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	for i, block := range blocks {
		testCase, told, want := readCase(block)
		t.Run(testCase.name, func(t *testing.T) {
			got := operation.run(t, testCase)
			if d := cmp.Diff(want, got); d != "" && !*update {
				t.Errorf("outcome (-want +got):\n%s", d)
			}
			blocks[i] = strings.Join(slices.Concat(told, got), "\n")
		})
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(blocks, "\n\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// readCase returns a case, the lines that describe it and the lines of its outcome.
func readCase(block string) (s testCase, told, outcome []string) {
	lines := strings.Split(block, "\n")
	for i, line := range lines {
		switch word, text, _ := strings.Cut(line, " "); word {
		case "#":
			s.name = text
		case "options":
			s.options, s.hasOptions = readOptions(text), true
		case "base":
			s.base = text
		case "=", "error:", "stricter:":
			return s, lines[:i], lines[i:]
		default:
			kind, rest, _ := strings.Cut(text, " ")
			if kind != "typed" && kind != "operations" {
				kind, rest = "", text
			}
			s.patches = append(s.patches, casePatch{word, kind, rest})
		}
	}
	return s, lines, nil
}

// readOptions reads options such as `precedence=first protected=inner.name managed`.
func readOptions(text string) (o options) {
	for _, option := range strings.Fields(text) {
		switch name, value, _ := strings.Cut(option, "="); name {
		case "order":
			o.Order = string(value)
		case "unions":
			o.Unions = string(value)
		case "empty":
			o.Empty = string(value)
		case "precedence":
			o.Precedence = string(value)
		case "managers":
			o.Managers = strings.Split(value, ",")
		case "protected":
			o.Protected = append(o.Protected, must(fieldpath.ParsePath(value)))
		case "managed":
			o.Managed = true
		default:
			panic("unknown option " + option)
		}
	}
	return o
}

// An operation runs cases of values, or of objects.
type operation[T any] struct {
	plan          plan[T]
	hasDuplicates plan[T] // takes patches with two items of one key
	base          func(text string) *T
	patch         func(p casePatch) any
	objects       func(t *testing.T, s testCase, outcome string) // merges by the plans of objects
}

// operationOf runs cases of values of a Go type.
func operationOf[V any]() operation[any] {
	of := reflect.TypeFor[V]()
	read := func(text string) *any {
		v := any(fromJSON[*V](text))
		return &v
	}
	return operation[any]{
		plan:          must(planForAny(of, schema.Rules{})),
		hasDuplicates: must(planForAny(of, schema.Rules{AllowDuplicateKeys: true})),
		base: func(text string) *any {
			if text == "" {
				text = "{}"
			}
			return read(text)
		},
		patch: func(p casePatch) any {
			if p.kind == "typed" {
				return fromJSON[*V](p.text)
			}
			return fromJSON[any](p.text)
		},
		objects: mergesObjects[V],
	}
}

// mergesObjects checks that the plans of objects for a Go type make the same value, or return the
// same error.
func mergesObjects[V any](t *testing.T, s testCase, outcome string) {
	t.Helper()
	patches := make([]merge.Patch, len(s.patches))
	for i, p := range s.patches {
		patch, ok := fromJSON[any](p.text).(merge.Object)
		if p.kind != "" || !ok {
			return
		}
		patches[i] = merge.Patch{Manager: p.manager, Value: &patch}
	}
	values := must(planFor[V](schema.Rules{}))
	objects := must(planForType(reflect.TypeFor[V](), schema.Rules{}))
	base, object := fromJSON[*V](s.base), fromJSON[merge.Object](s.base)
	kind, want, _ := strings.Cut(outcome, " ")
	wantObject := want
	if kind == "=" {
		wantObject = asJSON(fromJSON[any](want))
	}
	if result, err := values.Apply(base, patches); err != nil && err.Error() != want ||
		err == nil && asJSON(result.Value) != want {
		t.Errorf("Strategic makes %v, %v, want %s", result, err, outcome)
	}
	if result, err := objects.Apply(&object, patches); err != nil && err.Error() != wantObject ||
		err == nil && asJSON(result.Value) != wantObject {
		t.Errorf("StrategicObject makes %v, %v, want %s", result, err, outcome)
	}
}

// objectOperation runs cases of objects.
func objectOperation(plan plan[merge.Object],
	readObject func(string) merge.Object) operation[merge.Object] {
	read := func(text string) *merge.Object {
		if text == "" {
			return nil
		}
		object := readObject(text)
		return &object
	}
	return operation[merge.Object]{plan: plan, base: read, patch: func(p casePatch) any {
		return read(p.text)
	}}
}

// run returns the lines of a case's outcome.
func (w operation[T]) run(t *testing.T, s testCase) []string {
	t.Helper()
	base := w.base(s.base)
	patches := make([]merge.Patch, len(s.patches))
	for i, p := range s.patches {
		patches[i].Manager = p.manager
		if p.kind == "operations" {
			patches[i].Value = must(operationsOf([]byte(p.text)))
		} else {
			patches[i].Value = w.patch(p)
		}
	}
	lines := outcome(t, w.plan, base, patches, s)
	if w.hasDuplicates.merging == nil {
		return lines
	}
	w.objects(t, s, lines[0])
	switch others := outcome(t, w.hasDuplicates, base, patches, s); {
	case slices.Equal(others, lines):
		return lines
	case strings.HasPrefix(lines[0], "= "):
		t.Errorf("%s: the rules for twins change the outcome (-without +with):\n%s", s.name,
			cmp.Diff(lines, others))
		return lines
	default:
		return append(lines, others...)
	}
}

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
	lines = append(lines, patchedOf(t, result.History, isObject)...)
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

// patchedOf returns a line for each field that patches contest.
func patchedOf(t *testing.T, o *merge.History, ofObjects bool) []string {
	t.Helper()
	var lines []string
	yielded := map[string]bool{}
	for path, claims := range o.All() {
		yielded[path.String()] = true
		for _, c := range claims {
			v := reflect.ValueOf(c.Value)
			if v.Kind() == reflect.Pointer || v.Kind() == reflect.String &&
				v.Type() != reflect.TypeFor[string]() {
				t.Errorf("%v: the claimed value is a %T", path, c.Value)
			}
		}
	}
	next, stop := iter.Pull2(o.Reached())
	defer stop()
	reached, same, more := next()
	for path, claims := range o.All() {
		if more && slices.Equal(reached, path) {
			if !reflect.DeepEqual(same, claims) {
				t.Errorf("%v: Reached has the claims %v, and All has %v", path, same, claims)
			}
			reached, same, more = next()
		} else if len(claims) != 1 || claims[0].Owner != o.Owners()[0] {
			t.Errorf("Reached omits %v: %v", path, claims)
		}
	}
	if more {
		t.Errorf("Reached has %v, and All has not", reached)
	}
	for f := range o.Patched() {
		path := f.Path()
		if claims := f.Claims(); !ofObjects && len(claims) > 0 &&
			claims[0].Value != (merge.Presence{}) && !yielded[path.String()] {
			t.Errorf("%v has claims, and All omits it: %v", path, claims)
		}
	}
	return lines
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
