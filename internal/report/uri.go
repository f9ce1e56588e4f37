package report

import (
	"net/url"
	"path/filepath"
	"strings"
)

// slashed returns a path with forward slashes and without a leading "./".
func slashed(file string) string {
	file = filepath.ToSlash(file)
	if short := strings.TrimPrefix(file, "./"); short != "" {
		return short
	}
	return file
}

// uri returns a path as a URI reference. A relative path stays relative to the working directory.
func uri(file string) string {
	u := url.URL{Path: slashed(file)}
	if filepath.IsAbs(file) {
		u.Scheme, u.Path = "file", "/"+strings.TrimPrefix(u.Path, "/")
	}
	return u.String()
}
