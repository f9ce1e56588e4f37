package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"sigs.k8s.io/yaml"
)

// TestImage writes the image of small binaries, and reads both architectures from the layout.
func TestImage(t *testing.T) {
	r := sample(t, t.TempDir())
	r.platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}}
	builds, err := r.plan()
	if err != nil {
		t.Fatal(err)
	}
	for i := range builds {
		builds[i].binary = []byte("program for " + builds[i].String())
	}
	made, sums, err := r.writeImage(builds)
	if err != nil {
		t.Fatal(err)
	}
	// Two layers, two configurations, two manifests, the index, and the files of the layout.
	if len(sums) != 9 {
		t.Errorf("the layout has %d files, want 9: %q", len(sums), sums)
	}
	index := readIndex(t, filepath.Join(r.output, imageFolder))
	digest, err := index.Digest()
	if err != nil || digest.Hex != made.sum {
		t.Errorf("digest of the image = %v, %v, want %s", digest, err, made.sum)
	}
	for _, p := range r.platforms {
		image := imageOf(t, index, p)
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		got := []any{config.OS, config.Architecture, config.Config.User, config.Config.Entrypoint, config.Config.Cmd, config.Created.UTC()}
		want := []any{p.os, p.arch, "65532:65532", []string{"/usr/bin/trainweld"}, []string{"fn"}, r.time}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("configuration for %v (-want +got):\n%s", p, diff)
		}
		folder := t.TempDir()
		extract(t, image, folder)
		for name := range readAll(t, folder) {
			if name != imageProgram && !strings.HasPrefix(name, "usr/share/doc/trainweld/") {
				t.Errorf("the image holds %s: want the program and licenses only", name)
			}
		}
		if got, want := string(read(t, filepath.Join(folder, imageProgram))), "program for "+p.String(); got != want {
			t.Errorf("%s for %v = %q, want %q", imageProgram, p, got, want)
		}
	}
}

// readIndex returns the image of a layout, and wants every digest and size to be right.
func readIndex(t *testing.T, folder string) v1.ImageIndex {
	t.Helper()
	all, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(all); err != nil {
		t.Fatal(err)
	}
	manifest, err := all.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("the layout has %d entries, want 1: %v", len(manifest.Manifests), err)
	}
	index, err := all.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func imageOf(t *testing.T, index v1.ImageIndex, p platform) v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		if m.Platform.OS == p.os && m.Platform.Architecture == p.arch {
			image, err := index.Image(m.Digest)
			if err != nil {
				t.Fatal(err)
			}
			return image
		}
	}
	t.Fatalf("no image for %v", p)
	return nil
}

// extract writes the file system of an image.
func extract(t *testing.T, image v1.Image, folder string) {
	t.Helper()
	files := mutate.Extract(image)
	defer files.Close()
	for r := tar.NewReader(files); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, header.Name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, header.FileInfo().Mode()); err != nil {
			t.Fatal(err)
		}
	}
}

// checkFunction runs the image on a list with a TrainJob and its runtime, and wants the JobSet instead. The program has
// the image's user, and can open the image's files only.
func checkFunction(t *testing.T, files map[string][]byte, p platform) {
	t.Helper()
	folder, system := t.TempDir(), t.TempDir()
	for name, data := range files {
		if !strings.HasPrefix(name, imageFolder+"/") {
			continue
		}
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	image := imageOf(t, readIndex(t, filepath.Join(folder, imageFolder)), p)
	extract(t, image, system)
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	cmd := contained(system, config.Config)
	var out, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(resourceList(t)), &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("fn in the image: %v\n%s", err, &problems)
	}
	var list struct{ Items []struct{ Kind string } }
	if err := yaml.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, item := range list.Items {
		kinds = append(kinds, item.Kind)
	}
	if got := strings.Join(kinds, " "); !strings.Contains(got, "JobSet") || strings.Contains(got, "TrainJob") {
		t.Errorf("fn in the image for %s returns %q, want a JobSet instead of the TrainJob", runtime.GOARCH, got)
	}
}

// resourceList returns the objects of the quick start as kustomize passes them to a function.
func resourceList(t *testing.T) []byte {
	var items []any
	for _, name := range []string{"runtime.yaml", "job.yaml"} {
		var item any
		if err := yaml.Unmarshal(read(t, filepath.Join(root, "internal/testdata/quickstart", name)), &item); err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	data, err := yaml.Marshal(map[string]any{
		"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items,
		"functionConfig": map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "trainweld"},
			"data": map[string]any{"onConflict": "last"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}
