package printable_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/fieldpath"
)

func TestString(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 日本": "plain é 日本", "a\nb\tc\r": `a\nb\tc\r`, "\x1b[31m": `\x1b[31m`,
		"\u202e\u2028": `\u202e\u2028`, "a\u3164\u115f\u034f\u00ad": `a\u3164\u115f\u034f\xad`,
		"❤️\u00a0e\u0301": "❤️\u00a0e\u0301",
		"\U000e0001":      `\U000e0001`, "\uffff": `\uffff`, "a\xffb": "a\ufffdb",
		"##[error]": `#\x23[error]`, "::error::x": "::error::x",
	} {
		if got := printable.String(text); got != want {
			t.Errorf("String(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"a b/é-日本.yaml": "a b/é-日本.yaml", "": "", "::x": "::x", "#[": "#[",
		"a\nb": `"a\nb"`, "\a\b\t\v\f\r": `"\a\b\t\v\f\r"`,
		"\x00\x1b[31m\x7f": `"\000\033[31m\177"`, "é\n": `"é\n"`,
		"\u202ea": `"\342\200\256a"`, "a\xffb": `"a\377b"`, "\ufffd": "\ufffd", `a"b`: `"a\"b"`,
		"a##[error]": `"a\043#[error]"`,
	} {
		if got := printable.Name(name); got != want {
			t.Errorf("Name(%q) = %s, want %s", name, got, want)
		}
	}
	if want := map[bool]string{
		true: `a\b`, false: `"a\\b"`}[filepath.Separator == '\\']; printable.Name(`a\b`) != want {
		t.Errorf("Name(%s) = %s, want %s", `a\b`, printable.Name(`a\b`), want)
	}
}

func TestPosition(t *testing.T) {
	for want, p := range map[string]fieldpath.Position{
		"a.yaml:3:7":      {File: "a.yaml", Line: 3, Column: 7},
		`"a\n\033\377":3`: {File: "a\n\x1b\xff", Line: 3},
	} {
		if got := printable.Position(p); got != want {
			t.Errorf("Position(%+v) = %s, want %s", p, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{"::error::x": `\x3a:error::x`, "  ::x": `  \x3a:x`,
		"a ::x": "a ::x", "": "", "a\n\x1b": `a\n\x1b`} {
		if got := printable.Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestStartsCommand(t *testing.T) {
	for text, want := range map[string]bool{"##[x": true, "##vso[": true, "##teamcity[a": true,
		"#[": false, "a##[": false, "": false} {
		if got := printable.StartsCommand(text); got != want {
			t.Errorf("StartsCommand(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestQuoted(t *testing.T) {
	for name, want := range map[string]string{"a b": `"a b"`, "a\xff\"\n": `"a\377\"\n"`,
		"": `""`} {
		if got := printable.Quoted(name); got != want {
			t.Errorf("Quoted(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestError(t *testing.T) {
	const odd, quoted = "a\n\xff", `"a\n\377"`
	for _, tc := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%s: %w", odd, &fs.PathError{Op: "open", Path: odd, Err: fs.ErrNotExist}),
			quoted + ": open " + quoted + ": file does not exist"},
		{&os.LinkError{Op: "rename", Old: odd, New: "b", Err: fs.ErrExist},
			"rename " + quoted + " b: file already exists"},
		{&fs.PathError{Op: "open", Err: fs.ErrExist}, "open : file already exists"},
		{fs.ErrExist, "file already exists"},
	} {
		if got := printable.Error(tc.err); got != tc.want {
			t.Errorf("Error(%q) = %s, want %s", tc.err, got, tc.want)
		}
	}
}
