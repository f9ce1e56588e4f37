package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string
	mode fs.FileMode
	data []byte
}

// written is the time of every file in an archive, so equal files give equal archives. It is the earliest time of zip.
var written = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// pack returns an archive in the usual format of a platform.
func pack(p platform, entries []entry) ([]byte, error) {
	if p.os == "windows" {
		return zipped(entries)
	}
	return tarred(entries)
}

func zipped(entries []entry) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: written}
		header.SetMode(e.mode)
		w, err := z.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func tarred(entries []entry) ([]byte, error) {
	var out bytes.Buffer
	g := gzip.NewWriter(&out)
	t := tar.NewWriter(g)
	for _, e := range entries {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode), Size: int64(len(e.data)),
			ModTime: written, Format: tar.FormatUSTAR,
		}
		if err := t.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := t.Write(e.data); err != nil {
			return nil, err
		}
	}
	for _, c := range []io.Closer{t, g} {
		if err := c.Close(); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
