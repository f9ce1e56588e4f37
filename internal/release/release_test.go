package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const repository = "../.."

var build = flag.Bool("build", false, "make a release for this machine, which takes minutes")

// TestRelease makes a release for this machine twice, and holds the two against each other and the
// archive against what it promises.
func TestRelease(t *testing.T) {
	if !*build {
		t.Skip("it compiles all that the program links, without cgo, and links it twice: give -build")
	}
	here := platform{runtime.GOOS, runtime.GOARCH}
	var made [2][]byte
	for i := range made {
		r := release{version: "v0.0.0-test", revision: "0123abc", sources: repository, output: t.TempDir()}
		if err := r.limit(here.String()); err != nil {
			t.Skipf("%v", err)
		}
		if err := r.make(); err != nil {
			t.Fatal(err)
		}
		made[i] = read(t, filepath.Join(r.output, here.archive()))
		want := fmt.Sprintf("%x  %s\n", sha256.Sum256(made[i]), here.archive())
		if got := string(read(t, filepath.Join(r.output, checksums))); got != want {
			t.Errorf("%s is %q, want %q", checksums, got, want)
		}
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("two releases of the same sources differ")
	}
	files := unpack(t, here, made[0])
	if len(files) != 2 || !bytes.Equal(files["LICENSE"], read(t, filepath.Join(repository, "LICENSE"))) {
		t.Errorf("the archive has %d files and the license of %d bytes", len(files), len(files["LICENSE"]))
	}
	program := filepath.Join(t.TempDir(), here.binary())
	if err := os.WriteFile(program, files[here.binary()], 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "trainweld v0.0.0-test\nrevision 0123abc\n") {
		t.Errorf("the program of the archive says %v %q", err, out)
	}
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(files[here.binary()], []byte(root)) {
		t.Errorf("the program holds the path of the sources, %s", root)
	}
	if here.os == "linux" {
		static(t, files[here.binary()])
	}
}

// static wants a program that no loader has to complete.
func static(t *testing.T, binary []byte) {
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

// TestPack packs both forms of archive twice and reads them again.
func TestPack(t *testing.T) {
	entries := []entry{{"LICENSE", 0o644, []byte("license")}, {"trainweld", 0o755, []byte{0, 1, 2}}}
	for _, p := range []platform{{"linux", "arm64"}, {"windows", "amd64"}} {
		first, err := pack(p, entries)
		if err != nil {
			t.Fatal(err)
		}
		second, err := pack(p, entries)
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s differs from itself: %v", p.archive(), err)
		}
		files := unpack(t, p, first)
		for _, e := range entries {
			if !bytes.Equal(files[e.name], e.data) {
				t.Errorf("%s holds %q as %s, want %q", p.archive(), files[e.name], e.name, e.data)
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	r := release{}
	if err := r.limit("plan9/amd64"); err == nil || !strings.Contains(err.Error(), "linux/arm64") {
		t.Errorf("a platform that nothing is released for: %v", err)
	}
	if err := (release{output: t.TempDir()}).make(); err == nil || !strings.Contains(err.Error(), "-version") {
		t.Errorf("no version: %v", err)
	}
}

// unpack reads an archive, and wants programs to be executable.
func unpack(t *testing.T, p platform, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	add := func(name string, mode os.FileMode, r io.Reader) {
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if executable := mode&0o111 != 0; executable == (name == "LICENSE") {
			t.Errorf("%s of %s has mode %v", name, p.archive(), mode)
		}
		files[name] = data
	}
	if p.os == "windows" {
		z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			add(f.Name, f.Mode(), r)
		}
		return files
	}
	g, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(g); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		add(header.Name, header.FileInfo().Mode(), r)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestKrew fills in the template of krew's manifest as krew-release-bot does, and wants what a release
// makes: an archive for each platform, and its program in it.
func TestKrew(t *testing.T) {
	const tag = "v1.2.3"
	fill := func(text string, funcs template.FuncMap) string {
		var b strings.Builder
		parsed, err := template.New("").Funcs(funcs).Parse(text)
		if err == nil {
			err = parsed.Execute(&b, map[string]string{"TagName": tag})
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	text := fill(string(read(t, filepath.Join(repository, ".krew.yaml"))), template.FuncMap{
		// The address is a template, too, and the checksum comes on a line of its own, at four spaces.
		"addURIAndSha": func(uri, _ string) string {
			return fmt.Sprintf("uri: %s\n    sha256: %s", fill(uri, nil), strings.Repeat("ab", 32))
		},
	})
	var manifest struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version, Homepage, ShortDescription, Description, Caveats string
			Platforms                                                 []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, Sha256, Bin string
			}
		}
	}
	if err := yaml.UnmarshalStrict([]byte(text), &manifest); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if manifest.Kind != "Plugin" || manifest.Metadata.Name != "trainweld" || manifest.Spec.Version != tag {
		t.Errorf("%s %s of %s", manifest.Kind, manifest.Metadata.Name, manifest.Spec.Version)
	}
	// krew's search shows no more of it.
	if n := len(manifest.Spec.ShortDescription); n == 0 || n > 50 {
		t.Errorf("the short description has %d characters", n)
	}
	got := map[string]string{}
	for _, p := range manifest.Spec.Platforms {
		labels := p.Selector.MatchLabels
		got[labels["os"]+"/"+labels["arch"]] = path.Base(p.URI) + " " + p.Bin
		if !strings.Contains(p.URI, "/"+tag+"/") || len(p.Sha256) != 64 {
			t.Errorf("%v: %s %s", labels, p.URI, p.Sha256)
		}
	}
	want := map[string]string{}
	for _, p := range platforms {
		want[p.String()] = p.archive() + " " + p.binary()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the platforms of a release and of the manifest differ (-release +manifest):\n%s", diff)
	}
}
