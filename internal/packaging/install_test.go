package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	modulepath "golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// TestGoInstall makes the file that go install downloads, and resolves the program's packages and embedded files from it. Files of
// nested modules are missing there.
func TestGoInstall(t *testing.T) {
	sources, archive, unpacked := t.TempDir(), filepath.Join(t.TempDir(), "module.zip"), filepath.Join(t.TempDir(), "module")
	copySources(t, sources)
	version := modulepath.Version{Path: "github.com/trainweld/trainweld", Version: "v1.2.3"}
	checked, err := zip.CheckDir(sources)
	if err != nil {
		t.Fatal(err)
	}
	if err := checked.Err(); err != nil {
		t.Errorf("a file makes the module invalid: %v", err)
	}
	out, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := zip.CreateFromDir(out, version, sources); err != nil {
		t.Fatal(err)
	}
	if err := zip.Unzip(unpacked, version, archive); err != nil {
		t.Fatal(err)
	}
	r := release{program: program, sources: unpacked, version: version.Version}
	if _, err := r.packages(platform{"linux", "amd64"}); err != nil {
		t.Error(err)
	}
	if regexp.MustCompile(`(?m)^(replace|exclude)\b`).Match(read(t, filepath.Join(unpacked, "go.mod"))) {
		t.Error("go.mod has a replace or an exclude directive: go install refuses it")
	}
}

// checkInstallDocs holds that docs/install.md names files of a release only, and each kind of them.
func checkInstallDocs(t *testing.T, files map[string][]byte) {
	t.Helper()
	archived := unpack(t, platform{"linux", "amd64"}, files["trainweld-linux-amd64.tar.gz"])
	folders := map[string]bool{}
	for _, all := range []map[string][]byte{files, archived} {
		for name := range all {
			folder, _, _ := strings.Cut(name, "/")
			folders[folder+"/"] = true
		}
	}
	named := regexp.MustCompile("`((?:completions|man|licenses|image)/[^` ]*|LICENSE|trainweld\\.[^` ]*|SHA256SUMS)`" +
		"|\\b(trainweld-[a-z]+-[a-z0-9]+\\.(?:tar\\.gz|zip))")
	seen := 0
	for _, match := range named.FindAllStringSubmatch(string(read(t, filepath.Join(root, "docs/install.md"))), -1) {
		name := match[1] + match[2]
		if files[name] == nil && archived[name] == nil && !folders[name] {
			t.Errorf("docs/install.md names %s, which no release has", name)
		}
		seen++
	}
	if seen < 10 {
		t.Errorf("docs/install.md names %d files: the test reads the wrong text", seen)
	}
}
