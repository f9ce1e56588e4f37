package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const (
	// imageFolder names the directory of the image.
	imageFolder = "image"
	// imageProgram is the path of the program in the image.
	imageProgram = "usr/bin/trainweld"
	// nobody is the user of the image, which owns no file.
	nobody = "65532:65532"
)

// writeImage writes the image of the Linux builds as an OCI image layout. It contains the program and the licenses, and no shell.
// Without arguments the image runs fn, as kustomize and kpt start a function. It returns no artifact without a build for Linux.
func (r release) writeImage(builds []build) (*artifact, []string, error) {
	folder := filepath.Join(r.output, imageFolder)
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var contained []module
	for _, b := range builds {
		if b.os != "linux" {
			continue
		}
		image, err := r.image(b)
		if err != nil {
			return nil, nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.os, Architecture: b.arch}},
		})
		contained = b.modules
	}
	if contained == nil {
		return nil, nil, nil
	}
	index = mutate.Annotations(index, r.annotations()).(v1.ImageIndex)
	if err := writeLayout(folder, index, r.version); err != nil {
		return nil, nil, err
	}
	digest, err := index.Digest()
	if err != nil {
		return nil, nil, err
	}
	sums, err := sumsOf(r.output, folder)
	return &artifact{name: "trainweld-image", sum: digest.Hex, image: true, modules: contained}, sums, err
}

// removeLayout removes an earlier image. It returns an error for a directory that is something else.
func removeLayout(folder string) error {
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := layout.FromPath(folder); err != nil {
		return fmt.Errorf("%s is not an image layout: %w", folder, err)
	}
	return os.RemoveAll(folder)
}

// writeLayout writes the index as the only entry of a layout, and reads all of it again.
func writeLayout(folder string, index v1.ImageIndex, version string) error {
	entry := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index, Descriptor: v1.Descriptor{
		Annotations: map[string]string{"org.opencontainers.image.ref.name": version},
	}})
	if _, err := layout.Write(folder, entry); err != nil {
		return err
	}
	written, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return err
	}
	return validate.Index(written)
}

func (r release) annotations() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "trainweld",
		"org.opencontainers.image.description": "Render Kubeflow TrainJobs without a cluster",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.source":      homepage,
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.revision,
	}
}

// image returns the image of one architecture.
func (r release) image(b build) (v1.Image, error) {
	files := []entry{{imageProgram, 0o755, b.binary}}
	for _, e := range legalEntries(b.modules) {
		files = append(files, entry{"usr/share/doc/trainweld/" + e.name, e.mode, e.data})
	}
	packed, err := tarred(files, r.time)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: b.os, Architecture: b.arch, Created: v1.Time{Time: r.time}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: nobody, Entrypoint: []string{"/" + imageProgram}, Cmd: []string{"fn"}, WorkingDir: "/", Labels: r.annotations(),
		},
	})
	if err != nil {
		return nil, err
	}
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{
		Created: v1.Time{Time: r.time}, CreatedBy: "trainweld-release", Comment: "the program and its licenses",
	}})
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, r.annotations()).(v1.Image), nil
}

// sumsOf returns the lines in the checksums for the files of a folder.
func sumsOf(root, folder string) ([]string, error) {
	var lines []string
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		name, err = filepath.Rel(root, name)
		lines = append(lines, fmt.Sprintf("%x  %s", sha256.Sum256(data), filepath.ToSlash(name)))
		return err
	})
	return lines, err
}
