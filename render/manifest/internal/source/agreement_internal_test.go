package source

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"
)

// library reads a text as kubectl does.
func library(text []byte) (value any, err error) {
	j, err := sigsyaml.YAMLToJSONStrict(text)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(j, &value)
	}
	return value, err
}

// read returns the value of a text, and whether a caller reads it without the library.
func read(s *Source) (value any, isCertain bool, err error) {
	root, err := s.Nodes()
	if err != nil || root == nil {
		return nil, !s.IsUnusual(), err
	}
	value, isDoubtful, err := NewReading(s).Tree(root)
	return value, !isDoubtful && !s.IsUnusual(), err
}

func sourceOf(text string) *Source {
	return &Source{File: &File{Name: "a.yaml"}, Text: []byte(text), Line: 1, Column: 1}
}

// TestTree_Scalars wants each scalar as the library reads it.
func TestTree_Scalars(t *testing.T) {
	for _, text := range []string{
		"! 12", "! ", "&a ! 12", "[!, ! 1, 2]", "!!str 12", "!local 12", `! "12"`,
		"a: !\nb: ! true\nc: 'x ! y'",
		"yes", "No", "y", "~", "null", "NULL", "nULL", "tRUE", "TRUE", "off", "often", "none", "n1",
		"_1", "0", "-0", "+1", "-", "--1", "1_000", "0x1F", "0o17", "017", "08", "0b1", "1e3",
		"1E+2",
		"1.", ".5", ".inf", "-.INF", ".nan", "1.5Gi", "100m", "8Gi", "1e", "12:30:00", "2026-01-31",
		"2026-01-31T09:00:00Z", "10.0.0.1", "9223372036854775807", "9223372036854775808",
		"18446744073709551616",
		"1:", "a: 1:", "=", "<<", "- <<", "1 2", "1\n  2", "\u2028", "a: b\u0085  c",
		"{1: a, 2.50: b, true: c}", "? 1\n: 2",
	} {
		want, wantErr := library([]byte(text))
		got, _, err := read(sourceOf(text))
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v, %v, want %#v, %v", text, got, err, want, wantErr)
		}
	}
}

// TestIsUnusual wants the library asked for each text that it rejects and the nodes take.
func TestIsUnusual(t *testing.T) {
	aliases := "a: &a [" + strings.Repeat("x, ", 1200) + "x]\nb: &b [" +
		strings.Repeat("*a, ", 400) + "*a]\n"
	for name, text := range map[string]string{
		"a tab, a comment": "# c\n\t# d\na: 1\n",
		"many aliases":     aliases,
		"a template":       "a: {{ b }}\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := sourceOf(text)
			if root, err := s.Nodes(); err != nil || root == nil {
				t.Fatalf("the nodes refuse it: %v", err)
			}
			if s.Rejection() == nil {
				t.Error("the library takes it")
			}
			if !s.IsUnusual() {
				t.Error("nobody asks the library")
			}
		})
	}
}

// FuzzTree reads any text with the nodes and with the library. Both reject it, or give the same
// value.
func FuzzTree(f *testing.F) {
	for _, text := range []string{
		"a: 1\nb: [x, {c: ~}]\n", "a: &a {b: 1}\nc: {<<: *a, b: 2}\n",
		"- |\n  a\n   b\n- >-\n  c\n\n  d\n", "? a\n: b\n", "a: 'it''s'\nb: \"\\u00e9\\n\"\n",
		"%YAML 1.1\n", "a: b\n...\nc\n", "# only\n", "a:\n- b\n-\n",
		"\ufeffa: b", "a: !\nb: !!int \"3\"\n", "{a: 1, a: 2}", "1: a\n\"1\": b\n", "a\tb: c\n\t\n",
		"a: \"x\n  y\"\n", "k: [1_0, 0x1f, 010, .inf, 2026-01-31]\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
			return
		}
		for c := range Split(data) {
			if c.JSON || c.Err != nil || c.CheckJSON() == nil {
				continue
			}
			s := c.Source(&File{Name: "a.yaml"})
			got, isCertain, err := read(s)
			want, wantErr := library(s.Text)
			// The library takes keys of two types that are the same in JSON, and reads one of the
			// two values.
			isOurs := errors.Is(err, ErrDuplicate) || errors.Is(err, ErrTooDeep) ||
				errors.Is(err, ErrBomb) || errors.Is(err, ErrCycle) ||
				errors.As(err, new(TrailingError))
			switch {
			// the caller asks the library, reports the key, or rejects what kubectl reads in part
			case !isCertain || isOurs:
			// a key may override a merged one
			case wantErr != nil && strings.HasPrefix(wantErr.Error(), "yaml: unmarshal errors:") &&
				bytes.Contains(s.Text, []byte("<<")):
			case (err == nil) != (wantErr == nil):
				t.Errorf("%q: the nodes: %v, the library: %v", s.Text, err, wantErr)
			case err == nil && !reflect.DeepEqual(got, want):
				t.Errorf("%q: the nodes: %#v, the library: %#v", s.Text, got, want)
			}
		}
	})
}
