package jsontext_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/render/internal/jsontext"
)

// FuzzMembers finds the members and elements of any JSON. The decoder of the standard library must read the same texts.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, ` {"a" : 1 , "b":[{}, null] }`, `{"a":1,"a":2}`, `{"\u0061":"\ud800", "":{}}`, `[1,"a",[],{"b":-1e9}]`, "\t[\r\n1 ,\n2]\n", `{"a":}`, `{"a" 1}`,
		`[1 2]`, `[,]`, `{,}`, `[1,]`, `{"a":1,}`, `{"a"::1}`, `{1:2}`, `[:1]`, `{"a":1}{"b":2}`, "[\"\xff\"]", `"a"`, `{"a":1`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		members, errObject := jsontext.Members(text, 0)
		elements, errArray := jsontext.Elements(text, 0)
		if errObject == nil && errArray == nil {
			t.Fatalf("%q is both an object and an array", text)
		}
		var whole any
		if json.Unmarshal(text, &whole) != nil {
			return // what comes behind the value, or an error within it
		}
		switch whole := whole.(type) {
		case map[string]any:
			if errObject != nil {
				t.Fatalf("Members(%q): %v", text, errObject)
			}
			got := map[string]any{}
			for _, m := range members {
				var name string
				key := bytes.TrimRight(text[m.Start:m.Value], " \t\r\n:")
				if err := json.Unmarshal(key, &name); err != nil || name != m.Name {
					t.Errorf("Members(%q): the key %q of %q", text, key, m.Name)
				}
				got[m.Name] = valueOf(t, text, m)
			}
			if !reflect.DeepEqual(got, whole) {
				t.Errorf("Members(%q) = %v, want %v", text, got, whole)
			}
		case []any:
			if errArray != nil {
				t.Fatalf("Elements(%q): %v", text, errArray)
			}
			got := []any{}
			for _, m := range elements {
				got = append(got, valueOf(t, text, m))
			}
			if !reflect.DeepEqual(got, whole) {
				t.Errorf("Elements(%q) = %v, want %v", text, got, whole)
			}
		default:
			if errObject == nil || errArray == nil {
				t.Errorf("%q has members", text)
			}
		}
	})
}

func valueOf(t *testing.T, text []byte, m jsontext.Member) (value any) {
	t.Helper()
	if m.Start < 0 || m.Start > m.Value || m.Value > m.End || m.End > len(text) {
		t.Fatalf("%q: a member at %+v", text, m)
	}
	if err := json.Unmarshal(text[m.Value:m.End], &value); err != nil {
		t.Errorf("%q: the value %q: %v", text, text[m.Value:m.End], err)
	}
	return value
}
