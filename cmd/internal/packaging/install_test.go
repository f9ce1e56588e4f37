package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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
