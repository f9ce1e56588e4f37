package testenv_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
)

func TestSeed(t *testing.T) {
	t.Setenv("TRAINWELD_SEED", "")
	if first, second := testenv.Seed(t), testenv.Seed(t); first != second {
		t.Errorf("Seed = %d, then %d, want one seed", first, second)
	}
	t.Setenv("TRAINWELD_SEED", "random")
	if first, second := testenv.Seed(t), testenv.Seed(t); first == second {
		t.Errorf("Seed with TRAINWELD_SEED=random = %d twice", first)
	}
	t.Setenv("TRAINWELD_SEED", "42")
	if got := testenv.Seed(t); got != 42 {
		t.Errorf("Seed with TRAINWELD_SEED=42 = %d", got)
	}
}

// TestSeed_Everywhere: no test draws from the global source of random numbers, which no seed
// repeats.
func TestSeed_Everywhere(t *testing.T) {
	unseeded := regexp.MustCompile(
		`\brand\.(Uint64|Uint64N|Uint32|Uint32N|Int|IntN|Intn|Int64|Int64N|Int32N|N|Float64|Perm|Shuffle)\(`)
	root := "../.."
	tests := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		tests++
		if found := unseeded.Find(text); found != nil &&
			strings.Contains(string(text), `"math/rand`) {
			t.Errorf("%s calls %s…), want a source of testenv.Seed", path, found)
		}
		return nil
	})
	if err != nil || tests == 0 {
		t.Fatalf("%d tests read: %v", tests, err)
	}
}
