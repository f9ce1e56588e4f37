package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

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
