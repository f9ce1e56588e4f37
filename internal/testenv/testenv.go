// Package testenv reads the settings of a test run. These are numbers in the environment such as
// TRAINWELD_SEED, the race detector, and the source folders of modules. Only tests import it.
//
//	next := rand.New(rand.NewPCG(testenv.Seed(t), 0))
//	if testenv.Race {
//		cases /= 10
//	}
//
// Its first file to read is testenv.go.
package testenv

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Tests are the tests of a package whose cases are small and leave much garbage. Collecting it took
// up to a third of the time. So their heap may grow first, by as much as the program allows itself
// for a check. GOGC takes precedence.
type Tests struct{ *testing.M }

// Run runs the tests, and returns the status for os.Exit.
func (t Tests) Run() int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300)
	}
	return t.M.Run()
}

// Number returns the number in an environment variable, and whether it is set. It fails the test if
// the variable is not a number.
func Number(t testing.TB, variable string) (n uint64, ok bool) {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: want a number: %v", variable, text, err)
	}
	return n, true
}

// NumberOr returns the number in an environment variable, or otherwise if it is not set.
func NumberOr(t testing.TB, variable string, otherwise uint64) uint64 {
	t.Helper()
	if n, ok := Number(t, variable); ok {
		return n
	}
	return otherwise
}

// Long reports whether the test run is one at full length. TRAINWELD_LONG is set for it.
func Long() bool { return os.Getenv("TRAINWELD_LONG") != "" }

// LongOnly skips a test that runs only at full length, as make test-long runs it.
func LongOnly(t testing.TB, reason string) {
	t.Helper()
	if !Long() {
		t.Skip("runs in make test-long: " + reason)
	}
}

// Cases returns the number of random cases of a law. It is n in a run at full length, and a
// twentieth of n in every other run. TRAINWELD_CASES sets another number.
func Cases(t testing.TB, n uint64) uint64 {
	t.Helper()
	if !Long() {
		n = max(1, n/20)
	}
	return NumberOr(t, "TRAINWELD_CASES", n)
}

// Every returns the distance of the recorded cases that a test looks at. It is 1 in a run at full
// length. It is n in every other run and under the race detector.
func Every(n int) int {
	if Long() && !Race {
		return 1
	}
	return n
}

// Seed returns and logs the seed of a random test, so that a failure shows how to repeat it. Runs
// have a fixed seed, or that in TRAINWELD_SEED. Runs of the night set it to random: then each test
// has a new one, and writes it before it runs, since a crash loses the log.
func Seed(t testing.TB) uint64 {
	t.Helper()
	if os.Getenv("TRAINWELD_SEED") == "random" {
		seed := rand.Uint64N(1_000_000_000)
		fmt.Fprintf(os.Stderr, "%s: TRAINWELD_SEED=%d runs it again\n", t.Name(), seed)
		return seed
	}
	seed := NumberOr(t, "TRAINWELD_SEED", fixedSeed)
	t.Logf("random cases: TRAINWELD_SEED=%d runs them again", seed)
	return seed
}

const fixedSeed = 1

// moduleDirs caches the results of ModuleDir by module, because each runs the go command.
var moduleDirs sync.Map

// ModuleDir returns the source folder of a module that this module requires.
func ModuleDir(t testing.TB, module string) string {
	t.Helper()
	if dir, ok := moduleDirs.Load(module); ok {
		return dir.(string)
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("source of module %s not found: %v", module, err)
	}
	moduleDirs.Store(module, dir)
	return dir
}
