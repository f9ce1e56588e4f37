package main

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestKrew fills in krew's manifest, and wants an archive for each platform, its checksum, and its program in it.
func TestKrew(t *testing.T) {
	r := sample(t, t.TempDir())
	var made []artifact
	for _, p := range platforms {
		made = append(made, artifact{name: p.archive(), sum: strings.Repeat("ab", 32)})
	}
	if _, err := r.writeKrew(made); err != nil {
		t.Fatal(err)
	}
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
	text := read(t, filepath.Join(r.output, krewManifest))
	if err := yaml.UnmarshalStrict(text, &manifest); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if manifest.Kind != "Plugin" || manifest.Metadata.Name != "trainweld" || manifest.Spec.Version != r.version {
		t.Errorf("manifest of %s %s %s", manifest.Kind, manifest.Metadata.Name, manifest.Spec.Version)
	}
	// krew's search shows no more of it.
	if n := len(manifest.Spec.ShortDescription); n == 0 || n > 50 {
		t.Errorf("the short description has %d characters, want 1 to 50", n)
	}
	got := map[string]string{}
	for _, p := range manifest.Spec.Platforms {
		labels := p.Selector.MatchLabels
		got[labels["os"]+"/"+labels["arch"]] = path.Base(p.URI) + " " + p.Bin
		if !strings.HasPrefix(p.URI, downloads+r.version+"/") || len(p.Sha256) != 64 {
			t.Errorf("%v: %s %s", labels, p.URI, p.Sha256)
		}
	}
	want := map[string]string{}
	for _, p := range platforms {
		want[p.String()] = p.archive() + " " + p.binary()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("platforms of a release and of the manifest (-release +manifest):\n%s", diff)
	}
	if _, err := fillKrew(string(read(t, filepath.Join(root, ".krew.yaml"))), "v1.2.3", made[1:]); err == nil {
		t.Error("fillKrew without one archive = nil, want an error")
	}
}
