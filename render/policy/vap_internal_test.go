package policy

import (
	"math/rand/v2"
	"path"
	"regexp"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
)

// TestExpressionOf compares the regular expressions of patterns with path.Match.
func TestExpressionOf(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	word := func(letters string) string {
		var b []byte
		for range r.IntN(7) {
			b = append(b, letters[r.IntN(len(letters))])
		}
		return string(b)
	}
	matched := 0
	check := func(pattern, name string) {
		want, err := path.Match(pattern, name)
		if err != nil {
			return
		}
		e, err := regexp.Compile(expressionOf(pattern))
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		if got := e.MatchString(name); got != want {
			t.Errorf("%q against %q: %t, want %t", pattern, name, got, want)
		}
		if want {
			matched++
		}
	}
	check("[[:alpha:]]", "a]")
	check("[[:alpha:]]", "z")
	check("a^$.b", "a^$.b")
	for range testenv.Cases(t, 400_000) {
		check(word(`ab*?[]^-:.\\`), word("ab[]^-:."))
	}
	if matched < 100 {
		t.Errorf("%d patterns match", matched)
	}
}
