package jsontext_test

import (
	"slices"
	"testing"

	"github.com/trainweld/trainweld/render/internal/jsontext"
)

func TestMembers(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		at         int
		want       []string
		reason     string
	}{
		{"spaces", "{ \"a\" : 1 ,\n\t\"b\":[ {} ] }", 0, []string{"a=1", "b=[ {} ]"}, "white space is outside the values"},
		{"strings", `{"a,\"}":"]}","":null,"c":-1.5e3}`, 0, []string{`a,"}="]}"`, "=null", "c=-1.5e3"}, "a string may hold brackets"},
		{"inner", `[{"a":true}]`, 1, []string{"a=true"}, "an object may begin at an offset"},
		{"duplicates", `{"a":1,"a":2}`, 0, []string{"a=1", "a=2"}, "each member counts"},
		{"empty", " {} ", 0, nil, "an empty object has no members"},
		{"more", `{"a":"x"} trailing`, 0, []string{`a="x"`}, "only the object is read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			members, err := jsontext.Members([]byte(tc.text), tc.at)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range members {
				if tc.text[m.Start] != '"' {
					t.Errorf("member %q starts with %q", m.Name, tc.text[m.Start])
				}
				got = append(got, m.Name+"="+tc.text[m.Value:m.End])
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("Members(%s) = %q, want %q: %s", tc.text, got, tc.want, tc.reason)
			}
		})
	}
}

func TestElements(t *testing.T) {
	text := `[ "a" , {"b":[1,2]},3]`
	elements, err := jsontext.Elements([]byte(text), 0)
	var got []string
	for _, e := range elements {
		got = append(got, text[e.Start:e.End])
	}
	if want := []string{`"a"`, `{"b":[1,2]}`, "3"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Elements(%s) = %q, %v, want %q", text, got, err, want)
	}
}

func TestMembers_Invalid(t *testing.T) {
	for _, text := range []string{"", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":1]`, `{1:2}`, `{"a":tru}`, "[]", "7", "\x00"} {
		if members, err := jsontext.Members([]byte(text), 0); err == nil {
			t.Errorf("Members(%q) = %v, want an error", text, members)
		}
	}
	if _, err := jsontext.Elements([]byte("{}"), 0); err == nil {
		t.Error("Elements({}) returns no error")
	}
	if _, err := jsontext.Elements(nil, 7); err == nil {
		t.Error("Elements returns no error for an offset outside the text")
	}
}
