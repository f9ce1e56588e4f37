package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/licenseclassifier/v2/assets"
)

// TestIdentify judges texts that a module may have. The license of the repository stands for an accepted one.
func TestIdentify(t *testing.T) {
	known, err := newLicenses()
	if err != nil {
		t.Fatal(err)
	}
	apache := string(read(t, filepath.Join(root, "LICENSE")))
	added := strings.Repeat("\nUse it on Sundays only.", 21)
	gpl := library(t, "License/GPL-3.0/license.txt")
	for _, test := range []struct {
		name, file, text, want string
	}{
		{"an accepted license", "LICENSE", apache, ""},
		{"a title above", "LICENSE", "The license of a project\n\n" + apache, ""},
		{"a copyleft license", "COPYING", gpl, "m@v1: COPYING: license GPL-3.0 is not accepted: must be one of Apache-2.0, "},
		{"two licenses, one of them copyleft", "LICENSE.md", apache + "\n" + gpl, "m@v1: LICENSE.md: license GPL-3.0 is not accepted"},
		{"terms that nobody knows", "LICENSE", "Use it on Sundays only.\n", "m@v1: LICENSE: unknown license"},
		{"added terms", "LICENSE", apache + added, "m@v1: LICENSE: 105 words belong to no known license"},
		{"a notice only", "NOTICE", apache, "m@v1: no license found"},
	} {
		modules := []module{{path: "m", version: "v1", texts: []text{{test.file, []byte(test.text)}}}}
		err := known.identify(modules)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: identify = %v", test.name, err)
		case test.want == "" && strings.Join(modules[0].licenses, " ") != "Apache-2.0":
			t.Errorf("%s: licenses = %q, want Apache-2.0", test.name, modules[0].licenses)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: identify = %v, want %q", test.name, err, test.want)
		}
	}
}

// library returns a text of the library of known licenses.
func library(t *testing.T, name string) string {
	t.Helper()
	data, err := assets.ReadLicenseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLegal(t *testing.T) {
	for name, want := range map[string]bool{
		"LICENSE": true, "licence.txt": true, "LICENSE-MIT": true, "COPYING": true, "UNLICENSE": true, "NOTICE": true, "PATENTS": true,
		"license.go": true, "licenses": false, "license_test.csv": false, "README.md": false,
	} {
		if got := legal.MatchString(name); got != want {
			t.Errorf("legal(%q) = %t, want %t", name, got, want)
		}
	}
}

// TestModules holds that a module has the licenses of the folders of its linked packages, and of those above.
func TestModules(t *testing.T) {
	all, err := sample(t, "").modules(platform{"linux", "arm64"})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, m := range all {
		var names []string
		for _, text := range m.texts {
			names = append(names, text.name)
		}
		found[m.path] = strings.Join(names, " ")
	}
	if !all[0].own || all[0].version != "v1.2.3" || all[0].path != "github.com/trainweld/trainweld" {
		t.Errorf("the first module is %s %s", all[0].path, all[0].version)
	}
	for path, want := range map[string]string{
		"github.com/spf13/cobra": "LICENSE.txt",
		// The module holds the list of another program's licenses, in a folder without a package.
		"github.com/kubeflow/training-operator": "LICENSE",
		"k8s.io/apimachinery":                   "LICENSE third_party/forked/golang/LICENSE third_party/forked/golang/PATENTS",
	} {
		if found[path] != want {
			t.Errorf("texts of %s = %q, want %q", path, found[path], want)
		}
	}
	if _, found := found["github.com/google/go-cmp"]; found {
		t.Error("a module of tests is listed as linked")
	}
}

// TestNotices prints the texts of a program for browsers: the license of each module, and each text once.
func TestNotices(t *testing.T) {
	var b strings.Builder
	if err := runLicenses([]string{"-sources", root, "-program", "./playground", "-platform", "js/wasm"}, &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"github.com/trainweld/trainweld: LICENSE\n", "\nk8s.io/api v", "stdlib 1.", "Copyright 2009 The Go Authors"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the texts lack %q", want)
		}
	}
	if n := strings.Count(b.String(), "APPENDIX: How to apply the Apache License"); n < 1 || n > 10 {
		t.Errorf("the texts have the Apache license %d times", n)
	}
	if err := runLicenses([]string{"-platform", "js"}, &b); err == nil {
		t.Error("a platform without an architecture is accepted")
	}
}
