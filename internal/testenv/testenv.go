// Package testenv answers: what was this run of the tests asked for? It reads the numbers that the environment
// gives, such as TRAINWELD_SEED, and knows whether the race detector looks on and where a module's source is. Only tests
// import it.
//
//	next := rand.New(rand.NewPCG(testenv.Seed(t), 0))
//	if testenv.Race {
//		cases /= 10
//	}
package testenv

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Number is the number that a variable of the environment holds, and whether there is one. It ends the test where the
// variable holds anything else.
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

// NumberOr is Number, or where the variable is not set another number.
func NumberOr(t testing.TB, variable string, otherwise uint64) uint64 {
	t.Helper()
	if n, ok := Number(t, variable); ok {
		return n
	}
	return otherwise
}

// Seed returns and logs the seed of a random test, so that a failure shows how to repeat it. TRAINWELD_SEED
// gives the seed. Without it, a run of CI has the same seed each time, and every other run has a new one.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64N(1_000_000_000)
	if os.Getenv("CI") != "" {
		seed = fixedSeed
	}
	seed = NumberOr(t, "TRAINWELD_SEED", seed)
	t.Logf("random cases: TRAINWELD_SEED=%d runs them again", seed)
	return seed
}

const fixedSeed = 1

// moduleDirs holds the answers of ModuleDir by module: each costs a run of the go command.
var moduleDirs sync.Map

// ModuleDir returns the folder of the source of a module that this one requires.
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
