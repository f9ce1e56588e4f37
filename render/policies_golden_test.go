package render_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/trainweld/trainweld/render/golden"
)

var _ = golden.UpdateFlag() // go test -update

// TestPolicyGoldens renders the cases of testdata/policies, as "trainweld test testdata/policies" does: a folder for
// each policy and each of its oddities that takes more than a story to show.
func TestPolicyGoldens(t *testing.T) { golden.Run(t, "../testdata/policies") }

// TestPolicyGoldensSayWhatTheyShow wants a comment at the head of each input.
func TestPolicyGoldensSayWhatTheyShow(t *testing.T) {
	for _, dir := range caseFolders(t, "../testdata/policies", "input.yaml") {
		input := filepath.Join(dir, "input.yaml")
		if text, err := os.ReadFile(input); err != nil || !bytes.HasPrefix(text, []byte("# ")) {
			t.Errorf("%s does not say what it shows (%v)", input, err)
		}
	}
}
