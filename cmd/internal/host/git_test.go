package host

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// plainGit runs git without the settings of package process, as a user does.
func plainGit(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command(
		"git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", args, err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

func write(t *testing.T, file, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// repository returns a folder with a commit, and the working directory is that folder.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plainGit(t, dir, "", "init", "-q")
	write(t, filepath.Join(dir, "dir", "file"), "text", 0o666)
	plainGit(t, dir, "", "add", ".")
	plainGit(t, dir, "", "commit", "-qm", "a")
	t.Chdir(dir)
	return dir
}

// TestGit_OtherFolders reads revisions of trees whose repository lies elsewhere and names them.
func TestGit_OtherFolders(t *testing.T) {
	dir := repository(t)
	above := filepath.Dir(dir)
	commit := []string{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q",
		"--allow-empty", "-m", "a"}
	plainGit(t, dir, "", commit...)
	linked, super, apart := filepath.Join(above, "linked\ntree"), t.TempDir(), t.TempDir()
	plainGit(t, dir, "", "worktree", "add", "-q", "--detach", linked)
	plainGit(t, super, "", "init", "-q")
	plainGit(t, super, "", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", dir,
		"sub")
	plainGit(t, apart, "", "init", "-q", "--separate-git-dir", filepath.Join(t.TempDir(), "git"))
	plainGit(t, apart, "", "config", "core.worktree", apart)
	plainGit(t, apart, "", commit...)
	for _, tree := range []string{linked, filepath.Join(super, "sub"), apart} {
		t.Chdir(tree)
		r, err := OpenRevision("HEAD")
		if err != nil {
			t.Errorf("OpenRevision() in %q = %v", tree, err)
			continue
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSmall reads lines that git writes, and no other file.
func TestSmall(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "small"), "a\n", 0o666)
	write(t, filepath.Join(dir, "large"), strings.Repeat("a", mostTarget+1), 0o666)
	write(t, filepath.Join(dir, "full"), strings.Repeat("a", mostTarget), 0o666)
	if err := os.Symlink("small", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"small": 1, "large": 0, "full": mostTarget, "link": 0,
		".": 0, "none": 0} {
		if got := small(filepath.Join(dir, name)); len(got) != want {
			t.Errorf("small(%s) has %d bytes, want %d", name, len(got), want)
		}
	}
}

// TestIsBare tells folders that git could take for a repository from folders with only some of its
// files.
func TestIsBare(t *testing.T) {
	for _, tc := range []struct {
		files string
		want  bool
	}{
		{"HEAD objects refs", true}, {"HEAD commondir", true}, {"HEAD objects", false},
		{"HEAD refs", false}, {"HEAD", false}, {"objects refs", false}, {"commondir", false},
		{"config", false},
	} {
		dir := t.TempDir()
		for _, name := range strings.Fields(tc.files) {
			write(t, filepath.Join(dir, name), "", 0o666)
		}
		if got := isBare(dir); got != tc.want {
			t.Errorf("isBare() = %t with %s, want %t", got, tc.files, tc.want)
		}
	}
}

// hostileTree writes a tree object as no checkout would, and a commit of it. It returns the commit.
func hostileTree(t *testing.T, dir string, entries ...[2]string) string {
	t.Helper()
	blob := plainGit(t, dir, "../x", "hash-object", "-w", "--stdin")
	inner := plainGit(t, dir, "100644 blob "+blob+"\tb\n", "mktree")
	hashes := map[string]string{"100644": blob, "120000": blob, "40000": inner}
	var tree []byte
	for _, e := range entries {
		var raw []byte
		if _, err := fmt.Sscanf(hashes[e[0]], "%x", &raw); err != nil {
			t.Fatal(err)
		}
		tree = fmt.Appendf(tree, "%s %s\x00%s", e[0], e[1], raw)
	}
	hash := plainGit(t, dir, string(tree), "hash-object", "-t", "tree", "-w", "--stdin",
		"--literally")
	return plainGit(t, dir, "", "commit-tree", "-m", "a", hash)
}

// TestOpenRevision_HostileTree reads trees with names that lead elsewhere.
func TestOpenRevision_HostileTree(t *testing.T) {
	for _, tc := range []struct {
		name    string
		entries [][2]string
		want    string
	}{
		{"parent", [][2]string{{"100644", ".."}}, `invalid file name ".."`},
		{"below the parent", [][2]string{{"40000", ".."}}, `invalid file name ".."`},
		{"this folder", [][2]string{{"40000", "."}}, `invalid file name "."`},
		{"path in a name", [][2]string{{"100644", "a/../../b"}}, `invalid file name "a/../../b"`},
		{"absolute", [][2]string{{"100644", "/a"}}, `invalid file name "/a"`},
		{"git's own", [][2]string{{"40000", ".git"}}, `invalid file name ".git"`},
		{"git's own in capitals", [][2]string{{"40000", ".GIT"}}, `invalid file name ".GIT"`},
		{"a file below a link", [][2]string{{"120000", "a"}, {"40000", "a"}},
			`two files of the name "a"`},
		{"a path below a link", [][2]string{{"120000", "a"}, {"100644", "a/b"}},
			`one below a file`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rev := hostileTree(t, repository(t), tc.entries...)
			if _, err := OpenRevision(rev); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("OpenRevision() = %v, want %q", err, tc.want)
			}
		})
	}
}

// TestOpenRevision_Large reads objects that are small in git and large for a reader. They are trees
// that name each other often, a link with a long target, and a large file. Each ends with an error,
// and the next file is read all the same.
func TestOpenRevision_Large(t *testing.T) {
	dir := repository(t)
	tree := plainGit(t, dir, "", "rev-parse", "HEAD^{tree}")
	for range 6 {
		var entries strings.Builder
		for i := range 10 {
			fmt.Fprintf(&entries, "040000 tree %s\t%0200d\n", tree, i)
		}
		tree = plainGit(t, dir, entries.String(), "mktree")
	}
	if _, err := OpenRevision(plainGit(t, dir, "", "commit-tree", "-m", "a", tree)); err == nil ||
		!strings.Contains(err.Error(), "lists more than 64 MiB") {
		t.Errorf("OpenRevision() = %v", err)
	}
	write(t, filepath.Join(dir, "large"), "", 0o666)
	if err := os.Truncate(filepath.Join(dir, "large"), mostBlob+1); err != nil {
		t.Fatal(err)
	}
	plainGit(t, dir, "", "add", ".")
	plainGit(t, dir, "", "update-index", "--add", "--cacheinfo",
		"120000,"+plainGit(t, dir, strings.Repeat("a/", mostTarget), "hash-object", "-w",
			"--stdin")+",link")
	plainGit(t, dir, "", "update-index", "--add", "--cacheinfo",
		"120000,"+plainGit(t, dir, strings.Repeat("a/", mostTarget/2), "hash-object", "-w",
			"--stdin")+",longest")
	plainGit(t, dir, "", "commit", "-qm", "a")
	r, err := OpenRevision("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"large": "is larger than 64 MiB",
		"link":    "is a link with a target of more than 4096 bytes",
		"longest": "file does not exist"} {
		if _, err := r.Open(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s) = %v", name, err)
		}
		if text, err := fs.ReadFile(r, "dir/file"); err != nil || string(text) != "text" {
			t.Errorf("the next file: %q, %v", text, err)
		}
	}
	if err := r.Write(t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "target of more than") {
		t.Errorf("Write() = %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenRevision_LongObject reads objects that are longer than their header says, as only a
// folder .git of an archive has them. git prints the rest before its next answer. Each is an error,
// takes little memory, and the next file is read all the same.
func TestOpenRevision_LongObject(t *testing.T) {
	for name, rest := range map[string]string{
		"line": strings.Repeat("a", 1<<20) + "\n", "no line": strings.Repeat("\x00", 64<<20),
		"other answer": "\n" + strings.Repeat("0", 40) + " blob 1\na\n",
		"long header":  "\n" + strings.Repeat("a", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			dir := repository(t)
			for _, file := range []string{"long", "other"} {
				write(t, filepath.Join(dir, file), "long", 0o666)
			}
			write(t, filepath.Join(dir, "other"), "other", 0o666)
			plainGit(t, dir, "", "add", ".")
			plainGit(t, dir, "", "commit", "-qm", "a")
			hash := plainGit(t, dir, "", "rev-parse", "HEAD:long")
			object := filepath.Join(dir, ".git", "objects", hash[:2], hash[2:])
			if err := os.Remove(object); err != nil {
				t.Fatal(err)
			}
			var packed bytes.Buffer
			w := zlib.NewWriter(&packed)
			if _, err := io.WriteString(w, "blob 4\x00long"+rest); err != nil || w.Close() != nil {
				t.Fatal(err)
			}
			write(t, object, packed.String(), 0o666)
			r, err := OpenRevision("HEAD")
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			text, err := fs.ReadFile(r, "long")
			other, errOther := fs.ReadFile(r, "other")
			if errOther != nil { // the answer before it was longer
				other, errOther = fs.ReadFile(r, "other")
			}
			runtime.ReadMemStats(&after)
			if len(text) > len("long") || string(other) != "other" || errOther != nil {
				t.Errorf("long: %.20q, %v; other: %.20q, %v", text, err, other, errOther)
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 8<<20 {
				t.Errorf("it takes %d MiB", taken>>20)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGit_Endless runs git that waits for its input. It ends at its limit, and a second file does
// not wait again.
func TestGit_Endless(t *testing.T) {
	dir := repository(t)
	r, err := OpenRevision("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	r.most = time.Second
	endless := filepath.Join(t.TempDir(), "git")
	write(t, endless, "#!/bin/sh\nexec sleep 1000\n", 0o777)
	if runtime.GOOS == "windows" {
		t.Skip("needs a script")
	}
	t.Setenv("PATH", filepath.Dir(endless)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	start := time.Now()
	if _, err := gitWithin(time.Second, nil, dir, "ls-files"); err == nil ||
		!strings.Contains(err.Error(), "does not end within 1s") ||
		time.Since(start) > 30*time.Second {
		t.Errorf("git() = %v after %s", err, time.Since(start))
	}
	for _, tc := range []struct {
		what string
		read func() error
	}{ // in this order: the process of the file has time to end
		{"a file", func() error { _, err := r.Open("dir/file"); return err }},
		{"sizes", func() error { _, err := r.sizes([]string{"dir/file"}); return err }},
	} {
		if err := tc.read(); err == nil || !strings.Contains(err.Error(), "1s") ||
			time.Since(start) > 30*time.Second {
			t.Errorf("%s: %v after %s", tc.what, err, time.Since(start))
		}
	}
	if _, err := r.Open("dir/file"); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("a second file: %v", err)
	}
}

// TestResolve_Truth runs git that fails for another reason than a missing revision.
func TestResolve_Truth(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a script")
	}
	dir, programs := t.TempDir(), t.TempDir()
	t.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for script, want := range map[string]string{
		"exit 1": "has no revision", "kill -9 $$": "cannot be read: signal: killed",
		"echo 'fatal: Out of memory' >&2; exit 128": "cannot be read: git rev-parse: exit status " +
			"128: fatal: Out of memory",
	} {
		write(t, filepath.Join(programs, "git"), "#!/bin/sh\n"+script+"\n", 0o777)
		if _, err := resolveRevision(dir, "main", "tree"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: resolve() = %v, want %q", script, err, want)
		}
	}
}

// TestGit_Says runs git that complains: that is a warning of a success, and the reason of a
// failure.
func TestGit_Says(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a script")
	}
	dir, programs := t.TempDir(), t.TempDir()
	t.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, tc := range []struct{ script, out, want string }{
		{"echo careful >&2; echo out", "out\n", "<nil>"},
		{"echo wrong >&2; echo out; exit 3", "", "git a: exit status 3: wrong"},
		{"exit 3", "", "exit status 3"},
	} {
		write(t, filepath.Join(programs, "git"), "#!/bin/sh\n"+tc.script+"\n", 0o777)
		if out, err := git(dir, "a"); fmt.Sprint(err) != tc.want || string(out) != tc.out {
			t.Errorf("%s: %q, %v, want %q, %s", tc.script, out, err, tc.out, tc.want)
		}
	}
}

// TestRevisions resolves names that are not revisions, or have no common ancestor. A folder outside
// of a repository has no files of git.
func TestRevisions(t *testing.T) {
	dir := repository(t)
	tree := plainGit(t, dir, "", "rev-parse", "HEAD^{tree}")
	other := plainGit(t, dir, "", "commit-tree", "-m", "other", tree)
	short := plainGit(t, dir, "", "rev-parse", "--short", "HEAD")
	if base, err := MergeBase("HEAD", "HEAD"); err != nil || base != short {
		t.Errorf("MergeBase() = %q, %v, want %q", base, err, short)
	}
	for _, tc := range []struct{ first, second, want string }{
		{"HEAD", "nothing", `has no revision "nothing"`},
		{"--output=x", "HEAD", `has no revision "--output=x"`}, {"HEAD", tree, "has no revision"},
		{"HEAD", other, "have no common ancestor here"},
	} {
		if base, err := MergeBase(tc.first, tc.second); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("MergeBase(%s, %s) = %q, %v, want %q", tc.first, tc.second, base, err, tc.want)
		}
	}
	if _, err := OpenRevision("HEAD:dir/file"); err == nil ||
		!strings.Contains(err.Error(), "has no revision") {
		t.Errorf("OpenRevision() of a file = %v", err)
	}
	write(t, filepath.Join(dir, "new"), "", 0o666)
	write(t, filepath.Join(dir, ".gitignore"), "ignored\n", 0o666)
	write(t, filepath.Join(dir, "ignored"), "", 0o666)
	if names, err := Untracked("."); err != nil || fmt.Sprint(names) != "[.gitignore new]" {
		t.Errorf("Untracked() = %q, %v", names, err)
	}
	t.Chdir(t.TempDir())
	if names, err := Untracked("."); names != nil || err != nil {
		t.Errorf("Untracked() outside of a repository = %q, %v", names, err)
	}
	if _, err := OpenRevision("HEAD"); !errors.Is(err, errNoRepository) {
		t.Errorf("OpenRevision() outside of a repository = %v", err)
	}
	if _, err := MergeBase("HEAD", "HEAD"); !errors.Is(err, errNoRepository) {
		t.Errorf("MergeBase() outside of a repository = %v", err)
	}
}

// TestGitFiles reads a revision as a file system: by links, from a folder of the repository, and by
// whole paths.
func TestGitFiles(t *testing.T) {
	dir := repository(t)
	for name, to := range map[string]string{"link": "dir/file", "up": "dir", "out": "../x",
		"whole": "/etc/passwd", "loop": "loop", "dir/back": "../link"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
	}
	linked := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(dir, linked); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "dir", "run"), "run", 0o777)
	write(t, filepath.Join(dir, "dir", "empty"), "", 0o666)
	plainGit(t, dir, "", "add", ".")
	plainGit(t, dir, "", "update-index", "--add", "--cacheinfo",
		"160000,"+strings.Repeat("1", 40)+",module")
	plainGit(t, dir, "", "commit", "-qm", "b")
	t.Chdir("dir")
	r, err := OpenRevision("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, tc := range []struct{ name, text, real, want string }{
		{"file", "text", "dir/file", ""}, {"empty", "", "dir/empty", ""},
		{filepath.Join(linked, "dir", "file"), "text", "dir/file", ""},
		{"./../link", "text", "dir/file", ""}, {"back", "text", "dir/file", ""},
		{"../up/file", "text", "dir/file", ""},
		{filepath.Join(dir, "up", "run"), "run", "dir/run", ""},
		{"../out", "", "", "../out is a link out of the repository"},
		{"../whole", "", "", "whole is a link out of the repository"},
		{"../loop", "", "", "too many links"},
		{"missing", "", "", "file does not exist"}, {"file/below", "", "", "file does not exist"},
		{"../../x", "", "", "is outside of the repository"},
		{filepath.Dir(dir), "", "", "is outside of the repository"},
		{"../module", "", "", "module is a submodule"},
		{"../module/a", "", "", "module is a submodule"},
	} {
		text, err := fs.ReadFile(r, tc.name)
		if tc.want != "" {
			want := strings.TrimPrefix(tc.want, "../")
			_, errStat := r.Stat(tc.name)
			if err == nil || !strings.Contains(err.Error(), want) || errStat == nil ||
				!strings.Contains(errStat.Error(), want) {
				t.Errorf("%s: %q, %v, %v, want %q", tc.name, text, err, errStat, want)
			}
			continue
		}
		real, errReal := r.Real(tc.name)
		if err != nil || errReal != nil || string(text) != tc.text ||
			real != filepath.Join(dir, tc.real) {
			t.Errorf("%s: %q, %v; it is %s, %v", tc.name, text, err, real, errReal)
		}
	}
	listed := func(name string) (all []string) {
		entries, err := r.ReadDir(name)
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			all = append(all, e.Name()+" "+e.Type().String())
		}
		return all
	}
	if got, want := fmt.Sprint(listed(".")),
		"[back L--------- empty ---------- file ---------- run ----------]"; got != want {
		t.Errorf("ReadDir(.) = %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(listed("..")),
		"[dir d--------- link L--------- loop L--------- module d--------- out L--------- up "+
			"L--------- whole L---------]"; got != want {
		t.Errorf("ReadDir(..) = %s, want %s", got, want)
	}
	if f, err := r.Open("."); err != nil {
		t.Error(err)
	} else if info, err := f.Stat(); err != nil || !info.IsDir() || info.Size() != 0 ||
		info.Sys() != nil || !info.ModTime().IsZero() {
		t.Errorf("the folder is %v, %v", info, err)
	}
	if _, err := r.ReadDir("../module"); err == nil {
		t.Error("a submodule has files")
	}
}
