package admission

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"reflect"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	structurallisttype "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	structuralobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/release"
)

// drawn returns a random value of a schema. Most are valid, and few are of another type or outside
// of a limit.
func drawn(r *rand.Rand, s *structuralschema.Structural, depth int) any {
	const oneIn = 60
	if r.IntN(oneIn) == 0 {
		odd := []any{nil, true, "", "x", strings.Repeat("é", 300), int64(-1), int64(0),
			int64(1 << 40), 1.5, 2.0, map[string]any{}, []any{}, map[string]any{"": nil},
			[]any{nil, "x"}}
		return odd[r.IntN(len(odd))]
	}
	kind := s.Type
	if s.XIntOrString {
		kind = []string{"string", "integer"}[r.IntN(2)]
	}
	switch kind {
	case "object":
		fields := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			property := s.Properties[name]
			if depth > 0 && (r.IntN(4) == 0 || name == "spec" || name == "template") ||
				s.ValueValidation != nil && slices.Contains(s.ValueValidation.Required, name) &&
					r.IntN(oneIn) > 0 {
				fields[name] = drawn(r, &property, depth-1)
			}
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
			for i := range r.IntN(3) {
				fields[fmt.Sprint("key-", i)] = drawn(r, s.AdditionalProperties.Structural, depth-1)
			}
		}
		return fields
	case "array":
		list := []any{}
		for range r.IntN(3) {
			list = append(list, drawn(r, s.Items, depth-1))
		}
		return list
	case "string":
		texts := []string{"a", "example.com/a", "1Gi", "100m", "2026-11-23T10:00:00Z",
			"2026-02-30T10:00:00Z", "2026-11-23T24:00:00Z", "Always",
			"trainer.kubeflow.org/trainjob-controller"}
		if s.ValueValidation != nil && len(s.ValueValidation.Enum) > 0 {
			return s.ValueValidation.Enum[r.IntN(len(s.ValueValidation.Enum))].Object
		}
		return texts[r.IntN(len(texts))]
	case "integer":
		return []int64{0, 1, 2, 255, 1 << 31, 1<<31 - 1, -1 << 31}[r.IntN(7)]
	case "boolean":
		return r.IntN(2) == 0
	default:
		return 1.5
	}
}

// TestPlain draws values of the definitions of all releases. The API server's validator takes each
// plainly valid one, and none with mistakes.
func TestPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	cases := testenv.Cases(t, 1000)
	for _, of := range release.Known() {
		for _, kind := range []string{"TrainJob", "TrainingRuntime", "ClusterTrainingRuntime",
			jobSetKind} {
			d, err := compiledOf(&of, kind)
			if err != nil {
				t.Fatal(err)
			}
			taken, rejected := 0, 0
			for range cases {
				value := drawn(r, d.schema, 3+r.IntN(12))
				errs := validation.ValidateCustomResource(nil, value, d.validator)
				errs = append(errs, structuralobjectmeta.Validate(nil, value, d.schema, false)...)
				fields, _ := value.(map[string]any)
				errs = append(
					errs, structurallisttype.ValidateListSetsAndMaps(nil, d.schema, fields)...)
				if n := d.fast.mistakes(value); n > 0 && len(errs) == 0 {
					t.Fatalf("%s %s: %d mistakes, but valid\n%v", of.Name, kind, n, value)
				}
				switch {
				case !d.fast.accepts(value):
					rejected++
				case len(errs) > 0:
					t.Fatalf("%s %s: plainly valid, but %v\n%v", of.Name, kind, errs[0], value)
				default:
					taken++
				}
			}
			if taken == 0 || rejected == 0 {
				t.Errorf("%s %s: %d values taken, %d left to the validator", of.Name, kind, taken,
					rejected)
			}
		}
	}
}

// TestRulesOnCreate draws values of the definitions of all releases. The rules for new objects find
// what all rules find.
func TestRulesOnCreate(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	cases := testenv.Cases(t, 1000)
	for _, of := range release.Known() {
		for _, kind := range []string{"TrainJob", "TrainingRuntime", "ClusterTrainingRuntime",
			jobSetKind} {
			d, err := compiledOf(&of, kind)
			if err != nil {
				t.Fatal(err)
			}
			broken := 0
			for n := int64(0); n < int64(cases) || broken == 0 && n < 100*int64(cases); n++ {
				value := drawn(r, d.schema, 3+r.IntN(12))
				want, _ := d.rules.Validate(t.Context(), nil, d.schema, value, nil,
					celconfig.RuntimeCELCostBudget)
				got, _ := d.onCreate.Validate(t.Context(), nil, d.schema, value, nil,
					celconfig.RuntimeCELCostBudget)
				if fmt.Sprint(inOrder(want)) != fmt.Sprint(inOrder(got)) {
					t.Fatalf("%s %s: found %v, want %v\n%v", of.Name, kind, got, want, value)
				}
				broken += len(want)
			}
			if broken == 0 {
				t.Errorf("%s %s: no value breaks a rule", of.Name, kind)
			}
		}
	}
}

// TestPlain_Fill draws values of the definitions of all releases. Where fill returns true, the API
// server's functions prune nothing and fill in the same defaults. The drawn value stays as it is.
func TestPlain_Fill(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	cases := testenv.Cases(t, 6000)
	for _, of := range release.Known() {
		for _, kind := range []string{"TrainJob", "TrainingRuntime", "ClusterTrainingRuntime",
			jobSetKind} {
			d, err := compiledOf(&of, kind)
			if err != nil {
				t.Fatal(err)
			}
			filled, left := 0, 0
			for range cases {
				got, ok := drawn(r, d.schema, 3+r.IntN(12)).(map[string]any)
				if !ok {
					continue
				}
				want := clone(got).(map[string]any)
				got = clone(got).(map[string]any)
				// The fields of every object stay as they are. Their schema is open here, and
				// closed for the API server's functions.
				for _, name := range []string{"apiVersion", "kind", "metadata"} {
					delete(want, name)
					delete(got, name)
				}
				unknown := structuralpruning.PruneWithOptions(want, d.schema, true,
					structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
				structuraldefaulting.PruneNonNullableNullsWithoutDefaults(want, d.schema)
				if err := structuralobjectmeta.Coerce(nil, want, d.schema, false,
					false); err != nil {
					t.Fatal(err)
				}
				structuraldefaulting.Default(want, d.schema)
				before := clone(got).(map[string]any)
				result, isFilled := d.fast.withDefaults(got)
				if !reflect.DeepEqual(got, before) {
					t.Fatalf("%s %s: %v has become %v", of.Name, kind, before, got)
				}
				switch {
				case !isFilled:
					left++
				case len(unknown) > 0 || !reflect.DeepEqual(result, want):
					t.Fatalf("%s %s: fill(%v) = %v, want %v without %v", of.Name, kind, before,
						result, want, unknown)
				default:
					filled++
				}
			}
			if filled == 0 || left == 0 {
				t.Errorf("%s %s: %d values filled, %d left", of.Name, kind, filled, left)
			}
		}
	}
}
