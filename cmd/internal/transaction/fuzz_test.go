package transaction_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/transaction"
	"github.com/trainweld/trainweld/internal/testenv"
)

// journalName is the name of the journal, which a stranger may put into a directory.
const journalName = ".trainweld-journal"

// FuzzRecover opens a directory with any journal. Files outside the directory stay as they are,
// whatever the journal names. A directory that opens has no journal of a killed run any more.
func FuzzRecover(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "{}\n", "{}\ncommit\n", "{\"write\":[\"a.yaml\"],\"stage\":\"abc\"}\n", "{\"write\":[\"a.yaml\"],\"stage\":\"abc\"}\ncommit\n", "{\"write\":[\"../outside\"],\"stage\":\"abc\"}\ncommit\n",
		"{\"remove\":{\"a.yaml\":\"x\"},\"stage\":\"abc\"}\ncommit\n", "{\"remove\":{\"../outside\":\"x\"}}\ncommit\n", "{\"make\":[\"../new\"]}\n", "{\"write\":[\"link/outside\"],\"stage\":\"../\"}\ncommit\n",
		"{\"write\":[\"/etc/passwd\"]}\n", "[1]\ncommit\n", "{\"write\":[\"a.yaml\"]} x\n", strings.Repeat("[", 1000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		around := t.TempDir()
		testenv.WriteIn(t, around, "outside", "outside")
		testenv.WriteIn(t, around, "other/file", "other")
		testenv.WriteIn(t, around, "out/a.yaml", "a")
		testenv.WriteIn(t, around, "out/a.yaml.abc.trainweld-new", "staged")
		if err := os.Symlink(filepath.Join("..", "other"), filepath.Join(around, "out", "link")); err != nil {
			t.Skip("no symbolic links here")
		}
		if err := os.WriteFile(filepath.Join(around, "out", journalName), text, 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := transaction.Open(filepath.Join(around, "out"), nil)
		if err == nil {
			if err := d.Close(); err != nil {
				t.Errorf("Close after the journal %q: %v", text, err)
			}
			if _, err := os.Stat(filepath.Join(around, "out", journalName)); err == nil {
				t.Errorf("the journal %q is still there", text)
			}
		}
		if err := os.RemoveAll(filepath.Join(around, "out")); err != nil {
			t.Fatal(err)
		}
		got := testenv.Tree(t, around)
		if want := map[string]string{"outside": "outside", "other/file": "other"}; !maps.Equal(got, want) {
			t.Errorf("the journal %q changes files outside its directory: %q", text, got)
		}
	})
}
