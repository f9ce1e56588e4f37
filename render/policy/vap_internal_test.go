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
	"k8s.io/apimachinery/pkg/util/validation"

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
	requirements := strings.Split(
		"a a!=x a=x a!=y a=y !a a=z;a in (x,y);a notin (x,z);b!=x;!b;b=x", ";")
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
	var random func() (*metav1.LabelSelector, labels.Selector)
	random = func() (*metav1.LabelSelector, labels.Selector) {
		var some []string
		for range r.IntN(4) {
			some = append(some, requirements[r.IntN(len(requirements))])
		}
		text := strings.Join(some, ",")
		s, err := ParseSelector(text)
		selector, err2 := labels.Parse(text)
		isVoid := !slices.ContainsFunc(all, func(has labels.Set) bool {
			return selector.Matches(has)
		})
		if isVoid != (err != nil) || err2 != nil {
			t.Fatal(text, err, err2)
		}
		if isVoid {
			return random()
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
		want := slices.ContainsFunc(all, func(has labels.Set) bool {
			return matchesA.Matches(has) && matchesB.Matches(has)
		})
		if got := selectorsOverlap(a, b); got != want {
			t.Errorf("meet(%s, %s) = %t, want %t", matchesA, matchesB, got, want)
		}
		counts[want]++
	}
	if min(counts[true], counts[false]) < 20 {
		t.Errorf("%d selectors meet, and %d do not", counts[true], counts[false])
	}
}

// TestIsVoid compares with a search among all short names.
func TestIsVoid(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	const letters = "ab0-."
	names := []string{""}
	for i := 0; i < len(names) && len(names[i]) < 4; i++ {
		for _, c := range letters {
			names = append(names, names[i]+string(c))
		}
	}
	elements := []string{"a", "b", "0", "-", ".", "*", "?", "[ab]", "[^a]", `[\-.]`, `[\]a]`, `\a`,
		`\*`, "A", "_", "é"}
	counts := map[bool]int{}
	for range testenv.Cases(t, 3000) {
		pattern := ""
		for range 1 + r.IntN(3) { // what they match is short, or stands for one that is
			pattern += elements[r.IntN(len(elements))]
		}
		for _, isNamespace := range []bool{false, true} {
			want := !slices.ContainsFunc(names, func(name string) bool {
				matches, err := path.Match(pattern, name)
				if err != nil {
					t.Fatal(pattern, err)
				}
				if isNamespace {
					return matches && validation.IsDNS1123Label(name) == nil
				}
				return matches && validation.IsDNS1123Subdomain(name) == nil
			}) && !strings.ContainsAny(pattern, `[\`)
			if got := isVoid(pattern, isNamespace); got != want {
				t.Errorf("isVoid(%q, %t) = %t, want %t", pattern, isNamespace, got, want)
			}
			counts[want]++
		}
	}
	for pattern, want := range map[string]bool{
		strings.Repeat("a", 63): false, strings.Repeat("a", 64): true,
		"*" + strings.Repeat("?", 63): false, "*" + strings.Repeat("?", 64): true,
	} {
		if got := isVoid(pattern, true); got != want {
			t.Errorf("isVoid(%q) = %t, want %t", pattern, got, want)
		}
	}
	// Many of the patterns match no name; few cases of a seed may have less.
	if min(counts[true], counts[false]) < 60 {
		t.Errorf("%v", counts)
	}
}
