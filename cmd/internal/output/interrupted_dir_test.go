//go:build unix

package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/transaction"
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

// TestInterruptedDir interrupts the writing of a directory at every place at which it asks. Everything is then
// as it was, and a missing directory is missing again. But when all is written, it is too late.
func TestInterruptedDir(t *testing.T) {
	files := []transaction.File{fileOf("a.yaml", "new a"), fileOf("b.yaml", "new b"), fileOf("c.yaml", "new c")}
	for _, before := range []map[string]string{
		nil,
		{"a.yaml": "old a", "gone.yaml": "gone", "mine.txt": "mine", OwnFilesName: transaction.Sum([]byte("old a")) + "  a.yaml\n" + transaction.Sum([]byte("gone")) + "  gone.yaml\n"},
	} {
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
			if before == nil {
				if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("place %d: the directory is there: %v", places, err)
				}
			} else if diff := cmp.Diff(before, testenv.Tree(t, dir)); diff != "" {
				t.Errorf("place %d: the directory was changed (-want +got):\n%s", places, diff)
			}
		}
		if places < 2*len(files) {
			t.Errorf("it asked at %d places only", places)
		}
	}
}
