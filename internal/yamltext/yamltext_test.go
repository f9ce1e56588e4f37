package yamltext

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestToJSON_Aliases counts the memory for aliases of long strings, of short lists and of maps, and
// for merge keys.
func TestToJSON_Aliases(t *testing.T) {
	nested := func(first, item string) string {
		text := "a: &a " + first + "\n"
		for c := 'b'; c < 'h'; c++ {
			text += fmt.Sprintf("%c: &%c "+item+"\n", c, c,
				strings.Repeat("*"+string(c-1)+", ", 10))
		}
		return text
	}
	for _, tc := range []struct{ name, text, err string }{
		{"a few", "a: &a x\nb: [*a, *a]\n", ""},
		{"no alias", "a: '" + strings.Repeat("&*", 1<<21) + "'\n", ""},
		{"strings", "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [*a, *a, *a]\n",
			"more than 3 MiB"},
		{"keys", "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [{*a : 1}, {*a : 1}, {*a : 1}]\n",
			"more than 3 MiB"},
		{"strings in lists", "a: &a " + strings.Repeat("x", 1<<17) +
			"\nb: &b [*a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b]\n", "more than 3 MiB"},
		{"lists", nested("[]", "[%s]"), "excessive aliasing"},
		{"maps", nested("{}", "{x: [%s]}"), "excessive aliasing"},
		{"merge keys", "a: &a {x: " + strings.Repeat("x", 1<<20) +
			"}\nb: {<<: *a}\nc: {<<: *a}\nd: {<<: *a}\n", "more than 3 MiB"},
		{"a circle", "a: &a [*a]\n", "contains itself"},
		{"duplicate keys", "a: &a 1\na: *a\n", "already set"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ToJSON([]byte(tc.text))
		runtime.ReadMemStats(&after)
		if tc.err == "" && err != nil ||
			tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
		}
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 192<<20 {
			t.Errorf("%s takes %d MiB", tc.name, bytes>>20)
		}
	}
}

// FuzzToJSON converts any text. It reads only YAML that the plain conversion reads, and to the same
// JSON.
func FuzzToJSON(f *testing.F) {
	for _, seed := range []string{"a: &a x\nb: [*a, {<<: {c: *a}}]\n", "a: &a [*a]\n",
		"? {a: 1}\n: b\n", "- *a\n- &a 1\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ToJSON(text)
		if err != nil {
			return
		}
		if want, err := yaml.YAMLToJSONStrict(text); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s, want %s, %v", got, want, err)
		}
	})
}
