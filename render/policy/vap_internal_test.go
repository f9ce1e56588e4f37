package policy

import (
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

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

// TestMeet compares with a search among all labels.
func TestMeet(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	requirements := strings.Split("a a!=x a=x a!=y a=y !a a=z;a in (x,y);a notin (x,z);b!=x;!b;b=x", ";")
	requirements = append(strings.Fields(requirements[0]), requirements[1:]...)
	var all []labels.Set
	for _, a := range []string{"", "x", "y", "z", "w"} {
		for _, b := range []string{"", "x", "y"} {
			has := labels.Set{}
			if a != "" {
				has["a"] = a
			}
			if b != "" {
				has["b"] = b
			}
			all = append(all, has)
		}
	}
	random := func() (*metav1.LabelSelector, labels.Selector) {
		var some []string
		for range r.IntN(4) {
			some = append(some, requirements[r.IntN(len(requirements))])
		}
		text := strings.Join(some, ",")
		s, err := ParseSelector(text)
		selector, err2 := labels.Parse(text)
		if err != nil || err2 != nil {
			t.Fatal(text, err, err2)
		}
		if some == nil && r.IntN(2) == 0 {
			s = nil
		}
		return s, selector
	}
	counts := map[bool]int{}
	for range testenv.Cases(t, 4000) {
		a, matchesA := random()
		b, matchesB := random()
		want := slices.ContainsFunc(all, func(has labels.Set) bool { return matchesA.Matches(has) && matchesB.Matches(has) })
		if got := selectorsOverlap(a, b); got != want {
			t.Errorf("meet(%s, %s) = %t, want %t", matchesA, matchesB, got, want)
		}
		counts[want]++
	}
	if min(counts[true], counts[false]) < 20 {
		t.Errorf("%d selectors meet, and %d do not", counts[true], counts[false])
	}
}
