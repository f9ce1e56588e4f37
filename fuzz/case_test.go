package fuzz_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/prop"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
)

// TestMain lets the heap grow: the cases are small, and a quarter of the time went into collecting
// their garbage.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// law runs a property over many cases: half of them the same in every run, half of them new. The
// property returns "" or what is wrong with the case.
func law(t *testing.T, opts fuzz.Options, holds func(c *fuzz.Case) string) {
	t.Helper()
	lawFor(t, cases(t), opts, holds)
}

// lawFor is law over n cases.
func lawFor(t *testing.T, n int, opts fuzz.Options, holds func(c *fuzz.Case) string) {
	t.Helper()
	if seed, ok := testenv.Number(t, "TRAINWELD_CASE"); ok {
		run(t, 0, 1, opts, func() uint64 { return seed }, holds)
		return
	}
	first := rand.New(rand.NewPCG(1, 1))
	run(t, 1, (n+1)/2, opts, first.Uint64, holds)
	seed := testenv.Seed(t)
	run(t, seed, n/2, opts, rand.New(rand.NewPCG(seed, 2)).Uint64, holds)
}

// cases is how many cases each law sees.
func cases(t *testing.T) int {
	t.Helper()
	return int(testenv.Cases(t, 4_000))
}

func run(t *testing.T, seed uint64, n int, opts fuzz.Options, next func() uint64, holds func(c *fuzz.Case) string) {
	t.Helper()
	parameters := gopter.DefaultTestParametersWithSeed(int64(seed >> 1))
	parameters.MinSuccessfulTests = n
	parameters.MaxShrinkCount = 10_000
	generator := gopter.Gen(func(*gopter.GenParameters) *gopter.GenResult {
		c := fuzz.Merge(next(), opts)
		return &gopter.GenResult{
			Result:     c,
			ResultType: reflect.TypeFor[*fuzz.Case](),
			Shrinker: func(v any) gopter.Shrink {
				return smaller(v.(*fuzz.Case), opts)
			},
		}
	})
	properties := gopter.NewProperties(parameters)
	properties.Property(t.Name(), prop.ForAll(func(c *fuzz.Case) (broken string) {
		defer func() {
			if r := recover(); r != nil {
				broken = fmt.Sprintf("panic: %v", r)
			}
		}()
		return holds(c)
	}, generator))
	if !properties.Run(reporter{t}) {
		t.FailNow()
	}
}

// smaller offers cases with a little less in them, as gopter wants to be offered them.
func smaller(c *fuzz.Case, opts fuzz.Options) gopter.Shrink {
	next := fuzz.Smaller(c, opts)
	return func() (any, bool) {
		smaller, ok := next()
		return smaller, ok
	}
}

// reporter says which case broke a law, prints what is left of it, and how to run it again.
type reporter struct{ t *testing.T }

func (r reporter) ReportTestResult(name string, result *gopter.TestResult) {
	r.t.Helper()
	if result.Passed() {
		r.t.Logf("%d cases passed in %v", result.Succeeded, result.Time.Round(1e7))
		return
	}
	for _, arg := range result.Args {
		c := arg.Arg.(*fuzz.Case)
		r.t.Errorf("case %d breaks the law: %s\n\nthe smallest case that still does (%d steps smaller):\n%s\nrun it again: TRAINWELD_CASE=%d go test ./fuzz/ -run '^%s$'",
			c.Seed, strings.Join(result.Labels, "; "), arg.Shrinks, asYAML(c), c.Seed, strings.ReplaceAll(name, "/", "$/^"))
	}
	if result.Error != nil {
		r.t.Errorf("%v\n%s", result.Error, result.ErrorStack)
	}
}

func asYAML(c *fuzz.Case) string {
	data, err := yaml.Marshal(map[string]any{"template": c.Template, "patches": c.Patches})
	if err != nil {
		return err.Error()
	}
	return string(data)
}
