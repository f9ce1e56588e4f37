package manifest_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/manifest"
)

func TestMain(m *testing.M) { os.Exit(testenv.Tests{M: m}.Run()) }

// TestHostile reads input that was made to do harm. It is rejected by name, within bounds of time
// and memory. The bounds are generous for slow machines, and far below the demands of the input.
func TestHostile(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   func() string
		want string // of the first finding: code and message
		mega int    // bytes allocated, in MiB
	}{
		{"a large file", func() string {
			return strings.Repeat("# comment\n", 7<<20)
		}, "TW100 is larger than 64 MiB", 1},
		{"a large document", func() string {
			return job + "spec: {}\n" + strings.Repeat("# comment\n", 1<<19)
		}, "TW100 the document has 5.0 MiB: must have at most 3 MiB, as in the API server", 1},
		{"a large JSON object", func() string {
			return `{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"` +
				strings.Repeat("a", 4<<20) + `"}}`
		}, "TW100 the document has 4.0 MiB: must have at most 3 MiB, as in the API server", 40},
		{"a NUL", func() string { return "kind: \x00\n" }, "TW100 must be text: byte 7 is NUL", 1},
		{"a binary file", func() string {
			return "\x7fELF\x02\x01\x01\x00"
		}, "TW100 must be text: byte 8 is NUL", 1},
		{"UTF-16", func() string {
			return "\xff\xfek\x00i\x00"
		}, "TW100 must be UTF-8, not UTF-16", 1},
		{"Latin-1", func() string {
			return "kind: caf\xe9\n"
		}, "TW100 must be UTF-8: byte 10 is invalid", 1},
		{"a control character", func() string {
			return "kind: \x01\n"
		}, "TW100 cannot be parsed: control characters are not allowed", 1},
		{"nested lists", func() string {
			return strings.Repeat("[", 3<<20)
		}, "TW100 is nested deeper than 1000 levels", 40},
		{"nested lists, closed", func() string {
			return "a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
		}, "TW100 is nested deeper than 1000 levels", 60},
		{"nested block lists", func() string {
			return strings.Repeat("- ", 9000) + "a\n"
		}, "TW100 is nested deeper than 1000 levels", 60},
		{"nested objects", func() string {
			return strings.Repeat("{a: ", 700000)
		}, "TW100 is nested deeper than 1000 levels", 60},
		{"nested keys", func() string {
			return strings.Repeat("? ", 9000) + "\n"
		}, "TW100 is nested deeper than 1000 levels", 60},
		{"nested JSON", func() string {
			return strings.Repeat(`{"a":`, 1<<20)
		}, "TW100 is nested deeper than 1000 levels", 40},
		{"nested JSON in a List", func() string {
			return `{"kind":"List","apiVersion":"v1","items":[` + strings.Repeat("[", 1500) +
				strings.Repeat("]", 1500) + "]}"
		}, "TW100 is nested deeper than 1000 levels", 10},
		{"an alias bomb", func() string {
			var b strings.Builder
			b.WriteString("a: &a [x, x, x, x, x, x, x, x, x]\n")
			for c := 'b'; c <= 'z'; c++ {
				fmt.Fprintf(&b, "%c: &%c [%s]\n", c, c,
					strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), ", "))
			}
			return b.String()
		}, "TW100 is rejected: its aliases expand it to more than 3 MiB", 10},
		{"an alias bomb of text", func() string {
			return "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" +
				strings.Repeat("*a, ", 10000) + "]\n"
		}, "TW100 is rejected: its aliases expand it to more than 3 MiB", 60},
		{"an alias bomb of merge keys", func() string {
			var b strings.Builder
			b.WriteString("a0: &a0 {" + strings.Repeat("x: y, ", 10) + "}\n")
			for i := 1; i < 40; i++ {
				fmt.Fprintf(&b, "a%d: &a%d {l: *a%d, r: *a%d}\n", i, i, i-1, i-1)
			}
			return b.String()
		}, "TW100 is rejected: its aliases expand it to more than 3 MiB", 10},
		{"aliases of many documents", func() string {
			return strings.Repeat("---\na: &a [x, "+strings.Repeat("x", 2000)+"]\nb: ["+
				strings.Repeat("*a,", 1400)+"*a]\n", 40)
		}, "TW100 aliases expand it above 32 MiB: the rest is not read", 300},
		{"a deep chain of aliases", func() string {
			var b strings.Builder
			b.WriteString("a0: &a0 x\n")
			for i := 1; i < 2000; i++ {
				fmt.Fprintf(&b, "a%d: &a%d [*a%d]\n", i, i, i-1)
			}
			return b.String()
		}, "TW100 is nested deeper than 1000 levels", 40},
		{"a chain of merge keys", func() string {
			var b strings.Builder
			b.WriteString(job + "spec:\n  a0: &a0 {k0: x}\n")
			for i := 1; i < 700; i++ {
				fmt.Fprintf(&b, "  a%d: &a%d {<<: *a%d, k%d: x}\n", i, i, i-1, i)
			}
			return b.String()
		}, "TW101 unknown field \"a0\"", 2000},
		{"an alias to itself", func() string {
			return "a: &a [*a]\n"
		}, "TW100 is rejected: an alias refers to the value that contains it", 1},
		{"a merge of itself", func() string {
			return "a: &a {<<: *a}\n"
		}, "TW100 is rejected: an alias refers to the value that contains it", 1},
		{"a million values", func() string {
			return "[" + strings.Repeat("1,", 1<<20) + "1]"
		}, "TW100 has more than 20000 findings: the rest is not read", 100},
		{"a million values in YAML", func() string {
			return job + "spec: {trainer: {command: [" + strings.Repeat("a,", 700000) +
				"]}, x: 1}\n"
		}, "TW101 unknown field \"x\"", 3000},
		{"many findings", func() string {
			var b strings.Builder
			b.WriteString(job)
			for i := range 100000 {
				fmt.Fprintf(&b, "a%d: 1\n", i)
			}
			return b.String()
		}, "TW100 has more than 20000 findings: the rest is not read", 1000},
		{"many documents", func() string {
			return strings.Repeat("---\na\n", 1<<20)
		}, "TW100 has more than 20000 findings: the rest is not read", 1000},
		{"many objects", func() string {
			return "[" + strings.Repeat(`{"kind":"A","apiVersion":"b"},`, 120000) + "1]"
		}, "TW100 has more than 100000 objects: the rest is not read", 1000},
		{"a long key", func() string {
			return job + strings.Repeat("a", 1000) + ": 1\n"
		}, "TW101 unknown field \"" + strings.Repeat("a", 60) + "…\"", 2},
		{"a very long key", func() string {
			return job + "? " + strings.Repeat("a", 1<<20) + "\n: 1\n"
		}, "TW101 unknown field \"" + strings.Repeat("a", 60) + "…\"", 100},
		{"a long JSON line", func() string {
			return `{"apiVersion":"v1","kind":"ConfigMap","x":1,"data":{` +
				strings.TrimSuffix(strings.Repeat(`"k":"v",`, 100000), ",") + "}}"
		}, "TW100 has more than 20000 findings: the rest is not read", 1000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.mega >= 1000 && tc.name != "many objects" {
				testenv.LongOnly(
					t, "it reads megabytes of values, and smaller inputs meet the same limits")
			}
			data := []byte(tc.in())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, findings := manifest.Decode("in", data)
			runtime.ReadMemStats(&after)
			if len(findings) == 0 {
				t.Fatal("nothing was found")
			}
			if got := string(findings[0].Code) + " " + findings[0].Message; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if findings[0].Severity != finding.Error || findings[0].Remedy.Text == "" {
				t.Errorf("%v: it should be an error that says what to do", findings[0])
			}
			if len(findings) > 20_010 {
				t.Errorf("%d findings", len(findings))
			}
			mega := int(after.TotalAlloc-before.TotalAlloc) >> 20
			if mega > tc.mega {
				t.Errorf("allocated %d MiB, want at most %d", mega, tc.mega)
			}
			t.Logf("%d bytes, %d MiB", len(data), mega)
		})
	}
}

// TestDecode_Limits reads objects that are as deep or as large as an object may be, and objects that
// are a level deeper or a byte larger.
func TestDecode_Limits(t *testing.T) {
	const head = `{"kind":"A","apiVersion":"b","x":`
	large := func(size int) string {
		return head + `"` + strings.Repeat("x", size-len(head)-len(`""}`)) + `"}`
	}
	deep := func(head string, levels int, end string) string {
		return head + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + end
	}
	const yamlHead = "kind: A\napiVersion: b\nx: "
	for name, tc := range map[string]struct{ at, beyond, want string }{
		"size":           {large(3 << 20), large(3<<20 + 1), "must have at most 3 MiB"},
		"levels of JSON": {deep(head, 1000, "}"), deep(head, 1001, "}"), "deeper than 1000 levels"},
		"levels of YAML": {deep(yamlHead, 1000, "\n"), deep(yamlHead, 1001, "\n"),
			"deeper than 1000 levels"},
	} {
		if documents, found := manifest.Decode("in", []byte(tc.at)); len(documents) != 1 ||
			len(found) > 0 {
			t.Errorf("%s at the limit: %d documents, %v", name, len(documents), found)
		}
		if _, found := manifest.Decode("in", []byte(tc.beyond)); len(found) != 1 ||
			!strings.Contains(found[0].Message, tc.want) {
			t.Errorf("%s beyond the limit: %v, want %q", name, found, tc.want)
		}
	}
}

// TestLargeList reads a List in JSON that is larger than an object may be.
func TestLargeList(t *testing.T) {
	item := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"` +
		strings.Repeat("a", 1<<20) + `"}}`
	in := `{"apiVersion":"v1","kind":"List","items":[` + strings.Repeat(item+",", 5) + item + "]}"
	documents, findings := manifest.Decode("in", []byte(in))
	if len(documents) != 6 || len(findings) > 0 {
		t.Fatalf("got %d documents, %v; each item is small enough", len(documents), findings)
	}
	if got, want := documents[1].Position(nil).Column, 43+len(item)+1; got != want {
		t.Errorf("the second item is at column %d, want %d", got, want)
	}
}

// TestLegitimateAliases reads anchors as people use them.
func TestLegitimateAliases(t *testing.T) {
	documents, findings := manifest.Decode(
		"in", []byte("x: &x {a: &y [b], c: *y}\nkind: Pod\napiVersion: v1\nz: [*x, *x, *y]\n"))
	if len(documents) != 1 || len(findings) > 0 {
		t.Errorf("got %d documents, %v", len(documents), findings)
	}
}
