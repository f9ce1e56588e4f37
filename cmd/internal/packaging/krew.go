package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"
)

// krewManifest names the manifest, as krew's index does.
const krewManifest = "trainweld.yaml"

// writeKrew fills in the template of krew's manifest with the archives and their checksums.
func (r release) writeKrew(made []artifact) (string, error) {
	data, err := os.ReadFile(filepath.Join(r.sources, ".krew.yaml"))
	if err != nil {
		return "", err
	}
	text, err := fillKrew(string(data), r.version, made)
	if err != nil {
		return "", fmt.Errorf(".krew.yaml: %w", err)
	}
	return r.write(krewManifest, []byte(text))
}

// fillKrew executes the template as krew-release-bot does. It returns an error for an address that leads to no archive.
func fillKrew(text, version string, made []artifact) (string, error) {
	return execute(text, version, template.FuncMap{
		// The address is also a template. The checksum comes on a line of its own, at four spaces.
		"addURIAndSha": func(uri, _ string) (string, error) {
			uri, err := execute(uri, version, nil)
			if err != nil {
				return "", err
			}
			for _, a := range made {
				if path.Base(uri) == a.name {
					return fmt.Sprintf("uri: %s\n    sha256: %s", uri, a.sum), nil
				}
			}
			return "", fmt.Errorf("the release has no archive %s", path.Base(uri))
		},
	})
}

func execute(text, version string, funcs template.FuncMap) (string, error) {
	parsed, err := template.New("").Funcs(funcs).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = parsed.Execute(&b, map[string]string{"TagName": version})
	return b.String(), err
}
