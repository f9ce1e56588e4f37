package source

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
)

// TestValue asks for fields that the text spells, does not spell, or spells in another way. It
// wants the text parsed only if its spelling does not tell.
func TestValue(t *testing.T) {
	spec := func(name string) fieldpath.Path { return fieldpath.Fields("spec", name) }
	for _, tc := range []struct {
		text   string
		path   fieldpath.Path
		has    bool
		parsed bool
		reason string
	}{
		{"spec: {replicas: 0}", spec("replicas"), true, true,
			"where it stands, only the nodes tell"},
		{"spec: {}\nreplicas: 0", spec("replicas"), false, true, "it may stand elsewhere"},
		{"spec: {suspend: false}", spec("replicas"), false, false,
			"a name that the text lacks is not a field"},
		{"spec: {}", spec("suspend"), false, false, "an empty object has none"},
		{`spec: {"repl\u0069cas": 0}`, spec("replicas"), true, true, "an escape spells it"},
		{`{"spec": {"repl\u0069cas": 0}}`, spec("replicas"), true, true, "and so it does in JSON"},
		{"spec: {!!binary cmVwbGljYXM=: 0}", spec("replicas"), true, true, "a tag encodes it"},
		{"spec: {!<tag:yaml.org,2002:binary> cmVwbGljYXM=: 0}", spec("replicas"), true, true,
			"and so does one that is written out"},
		{"x: &x replicas\nspec: {*x : 0}", spec("replicas"), true, true,
			"an alias stands for text that is there"},
		{"x: &x {replicas: 0}\nspec: {<<: *x}", spec("replicas"), true, true,
			"and so does a merge key"},
		{"spec: {True: 0}", spec("true"), true, true, "a truth value has several spellings"},
		{"spec: {0x10: 0}", spec("16"), true, true, "and so has a number"},
		{"spec: {a: b}", spec("spec").Append(fieldpath.Key("c")), false, true,
			"a key of a map may be anything"},
		{"spec: {}", nil, true, true, "the object itself is there"},
	} {
		s := &Source{File: &File{Name: "in", Data: []byte(tc.text)}, Text: []byte(tc.text), Line: 1,
			Column: 1, JSON: tc.text[0] == '{'}
		if got := s.Value(nil, tc.path) != nil; got != tc.has {
			t.Errorf("%q has %s: %v, want %v: %s", tc.text, tc.path, got, tc.has, tc.reason)
		}
		if got := s.root != nil; got != tc.parsed {
			t.Errorf("%q has %s: parsed: %v, want %v: %s", tc.text, tc.path, got, tc.parsed,
				tc.reason)
		}
	}
}

// TestFind_SeveralKeys finds items that several keys name, in short lists and in lists with an
// index.
func TestFind_SeveralKeys(t *testing.T) {
	port := func(number int64, protocol string) fieldpath.Path {
		return fieldpath.Fields("ports").Append(
			fieldpath.ItemBy(fieldpath.ItemKey{Name: "port", Value: number},
				fieldpath.ItemKey{Name: "protocol", Value: protocol}))
	}
	short := "ports:\n- {port: 53}\n- {port: 53, protocol: UDP}\n- {protocol: TCP, port: 80}\n" +
		"- {port: 80}\n"
	for _, text := range []string{short, short + strings.Repeat("- {port: 1}\n", fewest)} {
		for _, tc := range []struct {
			path fieldpath.Path
			line int
			why  string
		}{
			{port(53, "TCP"), 2, "an item may omit a key that has a default"},
			{port(53, "UDP"), 3, "all keys count"},
			{port(80, "TCP"), 4, "in any order, and an item that has them all comes first"},
			{port(54, "UDP"), 1, "none has the keys"},
		} {
			s := &Source{File: &File{Name: "in", Data: []byte(text)}, Text: []byte(text), Line: 1,
				Column: 1}
			if got := s.Position(s.Find(nil, tc.path)); got.Line != tc.line {
				t.Errorf("%s is in line %d of %q, want %d: %s", tc.path, got.Line, text, tc.line,
					tc.why)
			}
		}
	}
}
