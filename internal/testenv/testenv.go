// Package testenv answers: what was this run of the tests asked for? It reads the numbers that the environment
// gives, such as TRAINWELD_SEED, and knows whether the race detector looks on. Only tests import it.
//
//	seed := testenv.NumberOr(t, "TRAINWELD_SEED", rand.Uint64())
//	if testenv.Race {
//		cases /= 10
//	}
package testenv

import (
	"os"
	"strconv"
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
