//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
)

// These flags make the programs of a release: .goreleaser.yaml.
var stripped = []string{"-ldflags=-s -w", "-tags=kustomize_disable_go_plugin_support"}

// TestSize holds the size of the program of a release.
func TestSize(t *testing.T) {
	if testenv.LongOnly(t, "it links the program once more"); testenv.Race {
		t.Skip("it links the program once more")
	}
	const most = 41 << 20
	program := filepath.Join(t.TempDir(), "trainweld")
	goTool(t, append([]string{"build", "-o", program}, append(stripped, "../../trainweld")...)...)
	if size := sizeOf(t, program); size > most {
		t.Errorf("the program has %.1f MB, want at most %d MB", float64(size)/1e6, most/1_000_000)
	}
}

func sizeOf(tb testing.TB, file string) int64 {
	tb.Helper()
	info, err := os.Stat(file)
	if err != nil {
		tb.Fatal(err)
	}
	return info.Size()
}
