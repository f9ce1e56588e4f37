package printable_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/printable"
)

func TestString(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 日本": "plain é 日本", "a\nb\tc\r": `a\nb\tc\r`, "\x1b[31m": `\x1b[31m`, "\u202e\u2028": `\u202e\u2028`,
		"\U000e0001": `\U000e0001`, "a\xffb": "a\ufffdb", "##[error]": `#\x23[error]`, "::error::x": "::error::x",
	} {
		if got := printable.String(text); got != want {
			t.Errorf("String(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{"::error::x": `\x3a:error::x`, "  ::x": `  \x3a:x`, "a ::x": "a ::x", "": ""} {
		if got := printable.Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestStartsCommand(t *testing.T) {
	for text, want := range map[string]bool{"##[x": true, "##vso[": true, "##teamcity[a": true, "#[": false, "a##[": false, "": false} {
		if got := printable.StartsCommand(text); got != want {
			t.Errorf("StartsCommand(%q) = %v, want %v", text, got, want)
		}
	}
}
