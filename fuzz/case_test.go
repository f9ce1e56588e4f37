package fuzz_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Tests{M: m}.Run()) }

// law runs a property over many cases: half of them the same in every run, half of them new. The
// property returns the fault of the case, or "".
func law(t *testing.T, opts fuzz.Options, holds func(c *fuzz.Case) string) {
	t.Helper()
	lawFor(t, cases(t), opts, holds)
}

// lawFor is law over n cases.
func lawFor(t *testing.T, n int, opts fuzz.Options, holds func(c *fuzz.Case) string) {
	t.Helper()
	if seed, ok := testenv.Number(t, "TRAINWELD_CASE"); ok {
		run(t, 1, opts, func() uint64 { return seed }, holds)
		return
	}
	first := rand.New(rand.NewPCG(1, 1))
	run(t, (n+1)/2, opts, first.Uint64, holds)
	seed := testenv.Seed(t)
	run(t, n/2, opts, rand.New(rand.NewPCG(seed, 2)).Uint64, holds)
}

// cases is how many cases each law sees.
func cases(t *testing.T) int {
	t.Helper()
	return int(testenv.Cases(t, 4_000))
}

// run holds a property over n cases. It shrinks the first case that breaks the property. It prints
// the smallest case that still breaks it, and how to run it again.
func run(t *testing.T, n int, opts fuzz.Options, next func() uint64,
	holds func(c *fuzz.Case) string) {
	t.Helper()
	for range n {
		c := fuzz.Merge(next(), opts)
		broken := outcome(c, holds)
		if broken == "" {
			continue
		}
		seed, steps := c.Seed, 0
		for smaller := fuzz.Smaller(c, opts); steps < mostSteps; {
			candidate, ok := smaller()
			if !ok {
				break
			}
			if still := outcome(candidate, holds); still != "" {
				c, broken, smaller = candidate, still, fuzz.Smaller(candidate, opts)
				steps++
			}
		}
		t.Fatalf("case %d breaks the law: %s\n\nthe smallest case that still does (%d steps "+
			"smaller):\n%s\nrun it again: GOWORK=off TRAINWELD_CASE=%d go test -C fuzz . -run "+
			"'^%s$'",
			seed, broken, steps, asYAML(c), seed, strings.ReplaceAll(t.Name(), "/", "$/^"))
	}
}

// mostSteps bounds how often a case is made smaller.
const mostSteps = 10_000

// outcome returns the fault that a property finds in a case, or its panic.
func outcome(c *fuzz.Case, holds func(c *fuzz.Case) string) (broken string) {
	defer func() {
		if r := recover(); r != nil {
			broken = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return holds(c)
}

func asYAML(c *fuzz.Case) string {
	data, err := yaml.Marshal(map[string]any{"template": c.Template, "patches": c.Patches})
	if err != nil {
		return err.Error()
	}
	return string(data)
}
