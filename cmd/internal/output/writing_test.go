package output

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/wholefile"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/manifest"
)

// TestWriteInPlace rewrites files through links and in several directories, and none if one of them
// is not what was read.
func TestWriteInPlace(t *testing.T) {
	for _, tc := range []struct{ name, now, want string }{
		{"as it was read", "old a", ""},
		{"another run did the same", "new a", ""},
		{"edited meanwhile", "mine", "was changed while it was read; nothing was changed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			work := t.TempDir()
			for name, text := range map[string]string{
				"jobs/a.yaml": tc.now, "jobs/deep/b.yaml": "old b", "elsewhere/c.yaml": "old c"} {
				testenv.WriteIn(t, work, name, text)
			}
			link, c := filepath.Join(work, "jobs", "link.yaml"),
				filepath.Join(work, "elsewhere", "c.yaml")
			if err := os.Symlink(c, link); err != nil {
				t.Skip("needs symbolic links: ", err)
			}
			if err := os.Chmod(c, 0o640); err != nil {
				t.Fatal(err)
			}
			before := testenv.Tree(t, work)
			p := host.Program{Files: host.Files{}}
			err := WriteInPlace(&p, []Rewritten{
				{filepath.Join(work, "jobs", "deep", "b.yaml"), []byte("old b"), []byte("new b")},
				{filepath.Join(work, "jobs", "a.yaml"), []byte("old a"), []byte("new a")},
				{link, []byte("old c"), []byte("new c")}, {c, []byte("old c"), []byte("new c")},
			})
			want := map[string]string{"jobs/a.yaml": "new a", "jobs/deep/b.yaml": "new b",
				"jobs/link.yaml": "new c", "elsewhere/c.yaml": "new c"}
			if tc.want != "" {
				want = before
			}
			if (err == nil) != (tc.want == "") ||
				err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if diff := cmp.Diff(want, testenv.Tree(t, work)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
				t.Errorf("the link is gone: %v, %v", info, err)
			}
			if info, err := os.Stat(c); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("%v, %v, want the permissions that it had", info.Mode(), err)
			}
		})
	}
}

// TestFraming holds objects that are encoded one by one against the same ones encoded together.
func TestFraming(t *testing.T) {
	objects := []any{
		map[string]any{"a": "a\nb\n", "list": []any{"x", map[string]any{"y": 1}},
			"empty": map[string]any{}},
		map[string]any{"kind": "B", "text": "{\n    \"a\": 1\n}"},
		map[string]any{},
	}
	for _, format := range []manifest.Format{manifest.YAML, manifest.JSON} {
		for n := range len(objects) + 1 {
			var want, got bytes.Buffer
			if err := manifest.Encode(&want, format, objects[:n]...); err != nil {
				t.Fatal(err)
			}
			if err := Encode(&got, format, Each(objects[:n])); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.String(), got.String()); diff != "" {
				t.Errorf("%d objects as %s (-want +got):\n%s", n, format, diff)
			}
		}
	}
}

// TestDir_Write writes files in any order, and names those that it changed and removed, sorted.
func TestDir_Write(t *testing.T) {
	dir := Dir{Path: filepath.Join(t.TempDir(), "out"), Prune: true, Step: func(string, int, int) {}}
	file := func(name, text string) wholefile.File {
		return wholefile.File{Name: name, Text: []byte(text)}
	}
	for _, tc := range []struct {
		files          []wholefile.File
		wrote, removed []string
	}{
		{[]wholefile.File{file("c", "1"), file("a", "1"), file("d", "1"), file("b", "1")},
			[]string{"a", "b", "c", "d"}, nil},
		{[]wholefile.File{file("c", "2"), file("a", "2"), file("d", "1"), file("b", "1")},
			[]string{"a", "c"}, nil},
		{[]wholefile.File{file("b", "1")}, nil, []string{"a", "c", "d"}},
	} {
		made, err := dir.Write(tc.files, func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		want := Outcome{Wrote: append([]string{OwnFilesName}, tc.wrote...), Removed: tc.removed}
		if diff := cmp.Diff(want, made); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
