package main

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const root = "../../.."

var isFull = flag.Bool("build", false, "make a release for this machine, which takes minutes")

// sample returns a release of this repository with small binaries, so it compiles nothing.
func sample(t *testing.T, output string) release {
	t.Helper()
	return release{
		version: "v1.2.3", revision: "0123abc", tags: "some_tag", program: program, sources: root, output: output, platforms: platforms,
		time:    time.Date(2030, time.May, 6, 7, 8, 10, 0, time.UTC),
		compile: func(p platform) ([]byte, error) { return []byte("program for " + p.String()), nil },
	}
}

// TestMake makes a release twice. Both have the same files, and the checksums list each of them.
func TestMake(t *testing.T) {
	var made [2]map[string][]byte
	for i := range made {
		r := sample(t, t.TempDir())
		if err := r.make(); err != nil {
			t.Fatal(err)
		}
		made[i] = readAll(t, r.output)
	}
	sameFiles(t, made[0], made[1])
	sameSums(t, made[0])
	checkSBOM(t, made[0])
	checkInstallDocs(t, made[0])
	for _, p := range platforms {
		files := unpack(t, p, made[0][p.archive()])
		if got, want := string(files[p.binary()]), "program for "+p.String(); got != want {
			t.Errorf("%s: %s = %q, want %q", p.archive(), p.binary(), got, want)
		}
		if !bytes.Equal(files["LICENSE"], read(t, filepath.Join(root, "LICENSE"))) {
			t.Errorf("%s: LICENSE differs from the repository's", p.archive())
		}
		for _, name := range []string{
			"licenses/stdlib/LICENSE", "licenses/sigs.k8s.io/yaml/LICENSE", "licenses/go.yaml.in/yaml/v3/NOTICE",
			"completions/trainweld.bash", "completions/_trainweld", "completions/trainweld.fish", "completions/trainweld.ps1",
			"man/trainweld.1", "man/trainweld-render.1", "man/trainweld-completion-zsh.1",
		} {
			if len(files[name]) == 0 {
				t.Errorf("%s: %s is missing", p.archive(), name)
			}
		}
		// A library for the command line needs this module on Windows only.
		if _, found := files["licenses/github.com/inconshreveable/mousetrap/LICENSE"]; found != (p.os == "windows") {
			t.Errorf("%s: license of a module for Windows: %t", p.archive(), found)
		}
	}
}

// TestMake_Again makes a release of fewer platforms in the folder of another one.
func TestMake_Again(t *testing.T) {
	r := sample(t, t.TempDir())
	r.platforms = []platform{{"linux", "amd64"}}
	if err := r.make(); err != nil {
		t.Fatal(err)
	}
	if err := r.make(); err != nil {
		t.Fatalf("second release in the folder: %v", err)
	}
	files := readAll(t, r.output)
	sameSums(t, files)
	if files[krewManifest] != nil {
		t.Errorf("%s: written without all platforms", krewManifest)
	}
	r.compile = func(platform) ([]byte, error) { return nil, os.ErrInvalid }
	if err := r.make(); err == nil || readAll(t, r.output)[checksums] != nil {
		t.Errorf("failed release: error %v, checksums %t", err, readAll(t, r.output)[checksums] != nil)
	}
}

func TestRejects(t *testing.T) {
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, imageFolder, "mine"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, want string
		args       []string
	}{
		{"no command", "must be build, tag, proxy or licenses", nil},
		{"unknown command", `unknown command "bild"`, []string{"bild"}},
		{"unknown platform", `unknown platform "plan9/amd64"`, []string{"build", "-version", "v1", "-platforms", "plan9/amd64"}},
		{"no version", `-version: invalid value ""`, []string{"build"}},
		{"version with a space", `-version: invalid value "v1 -X main.tag=v2"`, []string{"build", "-version", "v1 -X main.tag=v2"}},
		{"early time", "-time: 1970-01-01 is too early", []string{"build", "-version", "v1", "-time", "0"}},
		{"unexpected argument", `unexpected argument "v1"`, []string{"build", "v1"}},
		{"tag without a version", "tag takes one version", []string{"tag"}},
	} {
		if err := run(test.args); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: run(%q) = %v, want %q", test.name, test.args, err, test.want)
		}
	}
	r := sample(t, folder)
	if err := r.make(); err == nil || !strings.Contains(err.Error(), "not an image layout") {
		t.Errorf("make over a folder of files = %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, imageFolder, "mine")); err != nil {
		t.Error(err)
	}
}

// TestRelease makes a release for this machine from two copies of the sources, and compares the files. It runs the program of the
// archive, and the one in the image as kustomize and kpt start a function.
func TestRelease(t *testing.T) {
	if !*isFull {
		t.Skip("it compiles all that the program links, without cgo, and links it twice: give -build")
	}
	here := platform{runtime.GOOS, runtime.GOARCH}
	if !slices.Contains(platforms, here) {
		t.Skipf("nothing is released for %v", here)
	}
	var made [2]map[string][]byte
	for i := range made {
		sources, output := filepath.Join(t.TempDir(), strings.Repeat("sources", i+1)), t.TempDir()
		copySources(t, sources)
		err := run([]string{
			"build", "-version", "v0.0.0-test", "-revision", "0123abc", "-time", "1900000000", "-tags", buildTags(t),
			"-platforms", here.String(), "-sources", sources, "-output", output,
		})
		if err != nil {
			t.Fatal(err)
		}
		made[i] = readAll(t, output)
		files := unpack(t, here, made[i][here.archive()])
		if bytes.Contains(files[here.binary()], []byte(sources)) {
			t.Errorf("the program holds the path of its sources, %s", sources)
		}
	}
	sameFiles(t, made[0], made[1])
	sameSums(t, made[0])
	files := unpack(t, here, made[0][here.archive()])
	file := filepath.Join(t.TempDir(), here.binary())
	if err := os.WriteFile(file, files[here.binary()], 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(file, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "trainweld v0.0.0-test\nrevision 0123abc\n") {
		t.Errorf("trainweld version = %q, %v", out, err)
	}
	if here.os == "linux" {
		checkStatic(t, files[here.binary()])
		checkFunction(t, made[0], here)
	}
}

// buildTags returns the tags of the Makefile.
func buildTags(t *testing.T) string {
	for _, line := range strings.Split(string(read(t, filepath.Join(root, "Makefile"))), "\n") {
		if tags, found := strings.CutPrefix(line, "TAGS := "); found {
			return tags
		}
	}
	t.Fatal("the Makefile sets no TAGS")
	return ""
}

// copySources copies the files that git would commit.
func copySources(t *testing.T, to string) {
	t.Helper()
	if err := copyFiles(root, to); err != nil {
		t.Fatal(err)
	}
}

// checkStatic wants a program that no loader has to complete.
func checkStatic(t *testing.T, binary []byte) {
	file, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Errorf("the program is linked dynamically: it has a segment %v", part.Type)
		}
	}
}

func sameFiles(t *testing.T, a, b map[string][]byte) {
	t.Helper()
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			t.Errorf("%s differs between two releases of the same sources", name)
		}
	}
	if len(a) != len(b) {
		t.Errorf("two releases of the same sources have %d and %d files", len(a), len(b))
	}
}

// sameSums wants a line in the checksums for every other file.
func sameSums(t *testing.T, files map[string][]byte) {
	t.Helper()
	var want []string
	for name, data := range files {
		if name != checksums {
			want = append(want, fmt.Sprintf("%x  %s", sha256.Sum256(data), name))
		}
	}
	got := strings.Split(strings.TrimSuffix(string(files[checksums]), "\n"), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s = %q, want %q", checksums, got, want)
	}
}

// readAll returns the files of a folder, with slashes in their names.
func readAll(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[name] = read(t, filepath.Join(folder, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
