package report

import (
	"net/url"
	"path/filepath"
	"strings"
)

// slashed is a path with forward slashes and without what means nothing at its beginning.
func slashed(file string) string {
	file = filepath.ToSlash(file)
	if short := strings.TrimPrefix(file, "./"); short != "" {
		return short
	}
	return file
}

// uri is a path as a URI reference: relative paths stay relative, to the directory that the program
// runs in.
func uri(file string) string {
	u := url.URL{Path: slashed(file)}
	if filepath.IsAbs(file) {
		u.Scheme, u.Path = "file", "/"+strings.TrimPrefix(u.Path, "/")
	}
	return u.String()
}
