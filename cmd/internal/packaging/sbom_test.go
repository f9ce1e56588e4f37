package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdxlib"
	"github.com/spdx/tools-golang/tagvalue"
)

// checkSBOM reads the SBOM of a release, and compares the modules of each archive with the output of go list.
func checkSBOM(t *testing.T, files map[string][]byte) {
	t.Helper()
	document, err := json.Read(bytes.NewReader(files[sbomFile]))
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(document); err != nil {
		t.Error(err)
	}
	got := document.SPDXVersion + " " + document.DataLicense + " " + document.CreationInfo.Created
	if want := "SPDX-2.3 CC0-1.0 2030-05-06T07:08:10Z"; got != want {
		t.Errorf("document = %s, want %s", got, want)
	}
	checkTagValue(t, document)
	packages := map[common.ElementID]*spdx.Package{}
	for _, p := range document.Packages {
		checkPackage(t, p)
		if packages[p.PackageSPDXIdentifier] != nil {
			t.Errorf("duplicate identifier %s", p.PackageSPDXIdentifier)
		}
		packages[p.PackageSPDXIdentifier] = p
	}
	described, contained := 0, map[string][]string{}
	for _, related := range document.Relationships {
		if related.Relationship == common.TypeRelationshipDescribe {
			described++
			continue
		}
		a, m := packages[related.RefA.ElementRefID], packages[related.RefB.ElementRefID]
		contained[a.PackageName] = append(contained[a.PackageName], m.PackageName+" "+m.PackageVersion)
	}
	if want := len(platforms) + 1; described != want {
		t.Errorf("the document describes %d artifacts, want %d", described, want)
	}
	if got, want := contained["trainweld-image"], contained["trainweld-linux-amd64.tar.gz"]; !slices.Equal(got, want) {
		t.Errorf("modules of the image = %q, want the modules of the archive: %q", got, want)
	}
	for _, p := range platforms {
		got := contained[p.archive()]
		slices.Sort(got)
		if diff := cmp.Diff(linkedModules(t, p), slices.DeleteFunc(got, isStandard)); diff != "" {
			t.Errorf("modules of %s (-go list +document):\n%s", p.archive(), diff)
		}
	}
	a := packages["artifact-trainweld-darwin-arm64.tar.gz"]
	if !strings.Contains(string(files[checksums]), a.PackageChecksums[0].Value+"  "+a.PackageName) {
		t.Errorf("the checksum of %s differs from the one in %s", a.PackageName, checksums)
	}
}

func isStandard(name string) bool { return strings.HasPrefix(name, stdlib+" ") }

// checkTagValue writes the document in the other form of SPDX, whose reader is strict.
func checkTagValue(t *testing.T, document *spdx.Document) {
	t.Helper()
	var text bytes.Buffer
	if err := tagvalue.Write(document, &text); err != nil {
		t.Fatal(err)
	}
	again, err := tagvalue.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(again.Packages), len(document.Packages); got != want {
		t.Errorf("the tag-value form has %d packages, want %d", got, want)
	}
}

// checkPackage wants the fields that SPDX requires, with values in its forms.
func checkPackage(t *testing.T, p *spdx.Package) {
	t.Helper()
	const license = `(Apache-2\.0|BSD-2-Clause|BSD-3-Clause|ISC|MIT)`
	for _, field := range []struct{ name, value, form string }{
		{"SPDXID", string(p.PackageSPDXIdentifier), `[0-9A-Za-z.-]+`},
		{"name", p.PackageName, `\S+`},
		{"versionInfo", p.PackageVersion, `v?\d\S*`},
		{"downloadLocation", p.PackageDownloadLocation, `NOASSERTION|https://\S+`},
		{"licenseConcluded", p.PackageLicenseConcluded, license + `( AND ` + license + `)*`},
		{"licenseDeclared", p.PackageLicenseDeclared, license + `( AND ` + license + `)*`},
	} {
		if !regexp.MustCompile(`^(` + field.form + `)$`).MatchString(field.value) {
			t.Errorf("%s: %s = %q, want %s", p.PackageName, field.name, field.value, field.form)
		}
	}
	for _, reference := range p.PackageExternalReferences {
		if !regexp.MustCompile(`^pkg:golang/[a-z0-9./_-]+@[0-9A-Za-z.%-]+$`).MatchString(reference.Locator) {
			t.Errorf("%s: package URL = %q", p.PackageName, reference.Locator)
		}
	}
}

// linkedModules returns the modules of a platform's program by the shortest way.
func linkedModules(t *testing.T, p platform) []string {
	file, err := withSiblings(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", program)
	cmd.Dir = filepath.Join(root, "cmd")
	cmd.Env = append(cmd.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-modfile="+file)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, line := range lines {
		if name, _, _ := strings.Cut(line, " "); isOwn(name) {
			lines[i] = core + " v1.2.3"
		}
	}
	slices.Sort(lines)
	return slices.DeleteFunc(slices.Compact(lines), func(line string) bool { return line == "" })
}
