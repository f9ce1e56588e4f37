package merge_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
