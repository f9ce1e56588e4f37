package main

import (
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const few = `package p

const limit, wide = 1, limit + 2

func (t *tree[K]) count(a, b int, all []string) (n int, ok bool) {
	for i := 0; i < len(all); i++ { // a comment
		if ok && !t.has(all[i]) ||
			a == b {
			continue
		}
		n += a + 1
		t.see(i)
	}
	if t.done {
		return n, true
	}
	return wide + 1, ok
}
`

// TestMutate holds the mutants of a function, and that the changed file has each of them.
func TestMutate(t *testing.T) {
	consts, err := constants([]string{few})
	if err != nil {
		t.Fatal(err)
	}
	text, mutants, err := mutate("p/p.go", few, 7, consts)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"i < len(all)/negate/1", "i < len(all)/boundary/1", "ok && !t.has(all[i]) || a == b/logic/1", "ok && !t.has(all[i])/logic/1", "!t.has(all[i])/not/1", "a == b/negate/1", "continue/remove/1",
		"n += a + 1/remove/1", "a + 1/arithmetic/1", "t.see(i)/remove/1", "t.done/negate/1", "return n, true/literal/1",
	}
	var got []string
	for _, m := range mutants {
		if m.Function != "tree.count" || m.File != "p/p.go" {
			t.Errorf("%v is of %s in %s", m, m.Function, m.File)
		}
		got = append(got, m.Change+"/"+m.Kind+"/"+strconv.Itoa(m.Nth))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mutate() (-want +got):\n%s", diff)
	}
	if strings.Count(text, "\n") != strings.Count(few, "\n") {
		t.Errorf("lines moved:\n%s", text)
	}
	for _, source := range []string{text, switches("p", len(mutants))} {
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0); err != nil {
			t.Errorf("%v\n%s", err, source)
		}
	}
	for _, part := range []string{"mutantLess(8, i ,  len(all))", "!mutantOn(18)", "if !mutantOn(13) { continue }", "return wide + 1, ok"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text lacks %s:\n%s", part, text)
		}
	}
}

// TestReadAccepted wants a reason above each mutant.
func TestReadAccepted(t *testing.T) {
	reasons, err := readAccepted("survivors.txt")
	if err != nil || len(reasons) == 0 {
		t.Fatalf("%d reasons, %v", len(reasons), err)
	}
	for name, reason := range reasons {
		if strings.Count(name, "\t") != 4 || !strings.HasSuffix(reason, ".") {
			t.Errorf("%q: %q, want a mutant and a sentence", name, reason)
		}
	}
}
