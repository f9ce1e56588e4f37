package fuzz_test

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	smdpath "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/merge"
)

// FuzzFieldsV1 reads any FieldsV1 value. Structured-merge-diff must read the same fields from a valid one.
func FuzzFieldsV1(f *testing.F) {
	for seed := range uint64(16) {
		c := fuzz.Merge(seed, fuzz.Options{Checked: true})
		result, err := merge.Apply(c.Template, c.Patches, merge.Options{Owners: true})
		if err != nil {
			f.Fatal(err)
		}
		for _, fields := range result.Owners.FieldsV1(nil) {
			f.Add(fields)
		}
	}
	for _, seed := range []string{
		``, `null`, `{".":{}}`, `{"f:":{},"f:a b":{"i:0":{},"i:12":{".":{}}}}`, `{"v:1":{},"v:\"x\"":{},"v:{\"a\":[1.5]}":{},"v:null":{}}`,
		`{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"a\":true,\"b\":1e3}":{}}`, `{"f:a":{"x:b":{}}}`, `{"k:{}":{}}`, `{"v:1e999":{}} {}`,
		strings.Repeat(`{"f:a":`, 100) + "{}" + strings.Repeat("}", 100),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got []string
		for path, err := range engine.FieldsV1Paths(data) {
			if err == nil {
				rounded := path.Append()
				for i := range rounded {
					rounded[i] = roundedStep(rounded[i])
				}
				got = append(got, rounded.String())
				continue
			}
			var invalid *engine.FieldsV1Error
			if !errors.As(err, &invalid) || path != nil {
				t.Fatalf("FieldsV1Paths(%q) yields %s and %v, want a FieldsV1Error alone", data, path, err)
			}
			return
		}
		set := smdpath.NewSet()
		if err := set.FromJSON(bytes.NewReader(data)); err != nil {
			t.Fatalf("FieldsV1Paths(%q) succeeds, want %v", data, err)
		}
		var want []string
		set.Iterate(func(p smdpath.Path) {
			var path fieldpath.Path
			for _, element := range p {
				path = append(path, roundedStep(fieldsV1Step(element)))
			}
			want = append(want, path.String())
		})
		slices.Sort(want)
		slices.Sort(got)
		if strings.ContainsRune(strings.Join(got, ""), utf8.RuneError) {
			return // two libraries replace broken characters in two ways
		}
		if diff := cmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" {
			t.Errorf("FieldsV1Paths(%q) (-structured-merge-diff +trainweld):\n%s", data, diff)
		}
	})
}

// fieldsV1Step translates a step of structured-merge-diff.
func fieldsV1Step(element smdpath.PathElement) fieldpath.Step {
	switch {
	case element.FieldName != nil:
		name := *element.FieldName
		if regexp.MustCompile(`^[A-Za-z0-9_$-]+$`).MatchString(name) {
			return fieldpath.Field(name)
		}
		return fieldpath.Key(name)
	case element.Value != nil:
		return fieldpath.ElementOf((*element.Value).Unstructured())
	case element.Index != nil:
		return fieldpath.Index(*element.Index)
	default:
		var keys []fieldpath.ItemKey
		for _, field := range *element.Key {
			keys = append(keys, fieldpath.ItemKey{Name: field.Name, Value: field.Value.Unstructured()})
		}
		return fieldpath.ItemBy(keys...)
	}
}

// roundedStep converts numbers to float64, as structured-merge-diff does.
func roundedStep(step fieldpath.Step) fieldpath.Step {
	if keys := step.Keys(); keys != nil {
		for i := range keys {
			keys[i].Value = rounded(keys[i].Value)
		}
		return fieldpath.ItemBy(keys...)
	}
	if value, ok := step.ElementValue(); ok {
		return fieldpath.ElementOf(rounded(value))
	}
	return step
}

func rounded(value any) any {
	switch v := value.(type) {
	case int64:
		return float64(v)
	case float64:
		return v + 0 // which has no sign
	case []any:
		for i := range v {
			v[i] = rounded(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = rounded(v[key])
		}
	}
	return value
}
