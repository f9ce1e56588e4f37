//go:build unix

package output

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/wholefile"
	"github.com/trainweld/trainweld/internal/testenv"
)

// after interrupts when it was asked that often.
func after(times int) func() error {
	asked := make(chan struct{}, times)
	return func() error {
		select {
		case asked <- struct{}{}:
			return nil
		default:
			return host.Interrupted{Signal: syscall.SIGTERM}
		}
	}
}

// TestInterruptedDir interrupts the writing of a directory at every place at which it asks. Each
// file is whole, of one state or the other, and the error names those that were changed. The list
// names no file that was not written. When all is written, it is too late.
func TestInterruptedDir(t *testing.T) {
	files := []wholefile.File{fileOf("a.yaml", "new a"), fileOf("b.yaml", "new b"),
		fileOf("c.yaml", "new c")}
	old := map[string]string{"a.yaml": "old a", "gone.yaml": "gone", "mine.txt": "mine",
		OwnFilesName: wholefile.Sum([]byte("old a")) + "  a.yaml\n" +
			wholefile.Sum([]byte("gone")) + "  gone.yaml\n"}
	for _, before := range []map[string]string{nil, old} {
		places := 0
		for ; ; places++ {
			dir := filepath.Join(t.TempDir(), "deep", "out")
			if before != nil {
				if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(directory(t, before), dir); err != nil {
					t.Fatal(err)
				}
			}
			_, err := quietDir(dir, true).Write(files, after(places))
			if err == nil {
				break
			}
			if signal := (host.Interrupted{}); !errors.As(err, &signal) || signal.Status() != 143 {
				t.Fatalf("place %d: %v", places, err)
			}
			changed := 0
			var now map[string]string // none without the directory
			if _, err := os.Stat(dir); err == nil {
				now = testenv.Tree(t, dir)
			}
			for name, text := range now {
				switch {
				case text == before[name]:
				case name == OwnFilesName || !strings.HasPrefix(text, "new "):
					t.Errorf("place %d: %s is %q", places, name, text)
				case !strings.Contains(err.Error(), filepath.Join(dir, name)):
					t.Errorf("place %d: %v does not name %s", places, err, name)
				default:
					changed++
				}
			}
			if changed == 0 && !strings.HasSuffix(err.Error(), "; nothing was changed") &&
				!strings.Contains(err.Error(), "gone.yaml") {
				t.Errorf("place %d: %v", places, err)
			}
		}
		if places < 2*len(files) {
			t.Errorf("it asked at %d places only", places)
		}
	}
}
