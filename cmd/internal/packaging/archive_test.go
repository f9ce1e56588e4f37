package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestPack packs both forms of archive twice and reads them again.
func TestPack(t *testing.T) {
	at := time.Date(2030, time.May, 6, 7, 8, 10, 0, time.FixedZone("", 3600))
	entries := []entry{{"man/trainweld.1", 0o644, []byte("page")}, {"trainweld", 0o755, []byte{0, 1, 2}}}
	for _, p := range []platform{{"linux", "arm64"}, {"windows", "amd64"}} {
		first, err := pack(p, entries, at)
		if err != nil {
			t.Fatal(err)
		}
		second, err := pack(p, entries, at.UTC())
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s differs from itself: %v", p.archive(), err)
		}
		files := unpack(t, p, first)
		for _, e := range entries {
			if !bytes.Equal(files[e.name], e.data) {
				t.Errorf("%s: %s = %q, want %q", p.archive(), e.name, files[e.name], e.data)
			}
		}
	}
}

// unpack reads an archive, and wants only the program to be executable.
func unpack(t *testing.T, p platform, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	add := func(name string, mode os.FileMode, r io.Reader) {
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if isExecutable := mode&0o111 != 0; isExecutable != (strings.TrimSuffix(name, ".exe") == "trainweld") {
			t.Errorf("%s: %s has mode %v", p.archive(), name, mode)
		}
		if files[name] != nil {
			t.Errorf("%s: duplicate file %s", p.archive(), name)
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
