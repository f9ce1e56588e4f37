package host

import (
	"bufio"
	"io"
	"io/fs"
	"strings"
	"testing"
)

type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

// FuzzGitFiles reads any listing of a tree and any contents of git. Each file that a directory
// lists can be opened, or there is an error. No link is followed out of the repository.
func FuzzGitFiles(f *testing.F) {
	const blob = "0123456789012345678901234567890123456789"
	entry := func(mode, kind, name string) string {
		return mode + " " + kind + " " + blob + "\t" + name + "\x00"
	}
	for _, seed := range [][2]string{
		{"", ""},
		{entry("040000", "tree", "a") + entry("100644", "blob", "a/b.yaml"),
			blob + " blob 3\nabc\n"},
		{entry("120000", "blob", "link") + entry("100644", "blob", "b"),
			blob + " blob 1\nb\n" + blob + " blob 1\nb\n"},
		{entry("120000", "blob", "link"), strings.Repeat(blob+" blob 4\nlink\n", 50)},
		{entry("040000", "tree", "a") + entry("120000", "blob", "a/link"),
			blob + " blob 9\n../../out\n"},
		{entry("120000", "blob", "link"), blob + " blob 11\n/etc/passwd\n"},
		{entry("160000", "commit", "sub"), ""},
		{"100644 blob\ta\x00", ""}, {entry("100644", "blob", "a"), blob + " missing\n"},
		{entry("100644", "blob", "a"), blob + " blob -2\n"},
		{entry("100644", "blob", "a"), blob + " blob 99999999999\n"},
		{entry("100644", "blob", ""), "\n"}, {entry("100644", "blob", "../a"), ""},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, listing, contents string) {
		end := func() error { return nil }
		files := &GitFiles{name: "HEAD", root: "/repository", end: end, kill: end, most: mostGit,
			ask: nowhere{io.Discard}, answer: bufio.NewReader(strings.NewReader(contents))}
		if files.list([]byte(listing)) != nil {
			return
		}
		names := 0
		_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
			if names++; names > 100 {
				return fs.SkipAll
			}
			if err != nil || d.IsDir() {
				return nil
			}
			if _, inside, err := files.find("open", name); err == nil &&
				(inside == ".." || strings.HasPrefix(inside, "../") ||
					strings.HasPrefix(inside, "/")) {
				t.Errorf("%q: %q leads to %q", listing, name, inside)
			}
			if open, err := files.Open(name); err == nil {
				if _, err := io.Copy(io.Discard, open.(io.Reader)); err != nil {
					t.Errorf("%q: %q cannot be read: %v", listing, name, err)
				}
			}
			return nil
		})
	})
}
