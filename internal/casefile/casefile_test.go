package casefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/trainweld/trainweld/internal/casefile"
)

func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.txtar": "-- input.yaml --\n---\nkind: A\n-- want/empty.yaml --\n-- " +
			"want/outcome.txt --\naccepted\n",
		"b-1.txtar":  "-- input.yaml --\nkind: B\n",
		"skipped.md": "not a case\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	root := casefile.Unpack(t, dir)
	for name, want := range map[string]string{
		"a/input.yaml": "---\nkind: A\n", "a/want/empty.yaml": "",
		"a/want/outcome.txt": "accepted\n", "b-1/input.yaml": "kind: B\n",
	} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
			t.Errorf("%s = %q, %v, want %q", name, got, err, want)
		}
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 2 {
		t.Errorf("%d folders, %v, want 2", len(entries), err)
	}
	groups := t.TempDir()
	if err := os.WriteFile(filepath.Join(groups, "both.txtar"),
		[]byte("-- a/input.yaml --\nkind: A\n-- b/input.yaml --\nkind: B\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "kind: A\n", "b": "kind: B\n"} {
		if got, err := os.ReadFile(
			filepath.Join(casefile.UnpackGroups(t, groups), name, "input.yaml")); err != nil ||
			string(got) != want {
			t.Errorf("case %s = %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestShared(t *testing.T) {
	module := t.TempDir()
	groups := filepath.Join(module, "testdata")
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(module, "go.mod"), "module m\n")
	if err := os.Mkdir(groups, 0o777); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, kind := range []string{"A", "B"} {
		write(filepath.Join(groups, "both.txtar"),
			"-- a/input.yaml --\nkind: "+kind+"\n-- a/want.txt --\nyes\n")
		for _, only := range [][]string{nil, {"input.yaml"}} {
			root := casefile.Shared(t, groups, only...)
			if seen[root] {
				t.Errorf("Shared(%q) of kind %s is the folder of other cases", only, kind)
			}
			if seen[root] = true; casefile.Shared(t, groups, only...) != root {
				t.Errorf("Shared(%q) is another folder the second time", only)
			}
			if got, err := os.ReadFile(filepath.Join(root, "a", "input.yaml")); err != nil ||
				string(got) != "kind: "+kind+"\n" {
				t.Errorf("Shared(%q) has a/input.yaml = %q, %v", only, got, err)
			}
			if _, err := os.Stat(filepath.Join(root, "a", "want.txt")); (err == nil) != (only == nil) {
				t.Errorf("Shared(%q): a/want.txt: %v", only, err)
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(module, "bin", "cases", "new-*")); err != nil ||
		len(left) > 0 {
		t.Errorf("Shared leaves %q, %v", left, err)
	}
}
