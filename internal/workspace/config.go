// This file finds and reads trainweld.yaml.

package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/release"
)

// ConfigName is the name of a file that names the release for the objects of its directory and below.
const ConfigName = "trainweld.yaml"

// versionField is the only field of the file.
const versionField = "trainerVersion"

// config is the content of a trainweld.yaml. A manifest of that name has a kind, and is none.
type config struct {
	is      bool
	release *release.Release // nil after an error
}

// releaseOf returns the release for the objects of a file. The flag names it, or the nearest trainweld.yaml. It returns nil for
// neither, and for standard input, which has no directory.
func (in *Input) releaseOf(fsys fs.FS, file string) *release.Release {
	if in.flags.Release != nil || in.flags.AnyRelease || file == manifest.Stdin {
		return in.flags.Release
	}
	return in.releaseIn(fsys, path.Dir(filepath.ToSlash(file)))
}

func (in *Input) releaseIn(fsys fs.FS, dir string) *release.Release {
	if r, known := in.releases[dir]; known {
		return r
	}
	found := in.config(fsys, path.Join(dir, ConfigName))
	if above, ok := parent(fsys, dir); ok && !found.is {
		found.release = in.releaseIn(fsys, above)
	}
	in.releases[dir] = found.release
	return found.release
}

// parent returns the directory above another one. It returns false at the root of a git repository or of the file system.
func parent(fsys fs.FS, dir string) (string, bool) {
	if _, err := fs.Stat(fsys, path.Join(dir, ".git")); err == nil || dir == filepath.ToSlash(filepath.VolumeName(dir)) && dir != "" {
		return "", false
	}
	above := path.Dir(dir)
	if dir == "." || path.Base(dir) == ".." {
		above = path.Join(dir, "..")
	}
	here, err := fs.Stat(fsys, dir)
	if err != nil {
		return "", false
	}
	there, err := fs.Stat(fsys, above)
	return above, err == nil && above != dir && !os.SameFile(here, there)
}

// config reads a trainweld.yaml once, and reports the mistakes in it.
func (in *Input) config(fsys fs.FS, file string) config {
	if c, known := in.configs[file]; known {
		return c
	}
	var c config
	if info, err := fs.Stat(fsys, file); err == nil && !info.IsDir() {
		data, unreadable := manifest.Read(fsys, nil, file)
		if unreadable != nil {
			c.is = true
			in.Findings = append(in.Findings, *unreadable)
		} else if c = in.parseConfig(file, data); c.is {
			in.opened(file, data)
		}
	}
	in.configs[file] = c
	return c
}

func (in *Input) parseConfig(file string, data []byte) config {
	c := config{is: true}
	refuse := func(code finding.Code, n *yaml.Node, at fieldpath.Path, message, help string) {
		in.Findings = append(in.Findings, finding.Finding{
			Code: code, Severity: finding.Error, Path: at, Position: fieldpath.Position{File: file, Line: n.Line, Column: n.Column},
			Message: message, Remedy: finding.Remedy{Text: help},
		})
	}
	const example = "set " + versionField + `, such as ` + versionField + `: "2.2"`
	var document yaml.Node
	start := &yaml.Node{Line: 1, Column: 1}
	if err := yaml.Unmarshal(data, &document); err != nil {
		text := strings.TrimPrefix(err.Error(), "yaml: ")
		if n, _ := fmt.Sscanf(text, "line %d:", &start.Line); n > 0 {
			_, text, _ = strings.Cut(text, ": ")
		}
		refuse(finding.CodeSyntax, start, nil, "cannot be parsed: "+text, example)
		return c
	}
	if len(document.Content) == 0 {
		refuse(finding.CodeMissingField, start, fieldpath.Fields(versionField), "required", example)
		return c
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		refuse(finding.CodeWrongType, root, nil, "must be an object", example)
		return c
	}
	set := false
	for i := 0; i+1 < len(root.Content); i += 2 {
		if name := root.Content[i].Value; name == "apiVersion" || name == "kind" {
			return config{}
		}
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		at := fieldpath.Fields(key.Value)
		switch {
		case key.Value != versionField:
			help := "remove it; the only field is " + versionField
			if near := finding.Nearest(key.Value, []string{versionField}); near != "" {
				help = fmt.Sprintf("did you mean %q?", near)
			}
			refuse(finding.CodeUnknownField, key, at, fmt.Sprintf("unknown field %q", key.Value), help)
		case set:
			refuse(finding.CodeDuplicateKey, key, at, "duplicate key", "keep one of the two")
		case value.Kind != yaml.ScalarNode || value.Tag == "!!null":
			refuse(finding.CodeWrongType, value, at, "must be a version", example)
		default:
			var err error
			if c.release, err = release.Parse(value.Value); err != nil {
				refuse(finding.CodeBadValue, value, at, err.Error(), "name a known release")
			}
		}
		set = set || key.Value == versionField
	}
	if !set {
		refuse(finding.CodeMissingField, root, fieldpath.Fields(versionField), "required", example)
	}
	return c
}

// withoutConfigs removes each trainweld.yaml from the files, and records the API of the others.
func (in *Input) withoutConfigs(fsys fs.FS, files []string) []string {
	var kept []string
	for _, file := range files {
		if !in.IsConfig(fsys, file) {
			if api := in.APIOf(fsys, file); api != nil {
				in.byFile[file] = api
			}
			kept = append(kept, file)
		}
	}
	return kept
}

// APIOf returns the API for the objects of a file, or nil if the input names no release for them.
func (in *Input) APIOf(fsys fs.FS, file string) *manifest.API {
	return in.API(in.releaseOf(fsys, file))
}

// IsConfig reports whether a file is a trainweld.yaml, and not a manifest of that name. It reports the mistakes in it.
func (in *Input) IsConfig(fsys fs.FS, file string) bool {
	return path.Base(filepath.ToSlash(file)) == ConfigName && file != manifest.Stdin && in.config(fsys, path.Clean(filepath.ToSlash(file))).is
}

// Releases returns the releases that the input names, the oldest first.
func (in *Input) Releases() []release.Release {
	in.resolving.Lock()
	defer in.resolving.Unlock()
	return slices.DeleteFunc(release.Known(), func(r release.Release) bool { return in.apis[r.Version] == nil })
}

// API returns the API of a release, or nil for nil. Each release has one API in a run.
func (in *Input) API(r *release.Release) *manifest.API {
	if r == nil {
		return nil
	}
	in.resolving.Lock()
	defer in.resolving.Unlock()
	return in.api(r)
}

func (in *Input) api(r *release.Release) *manifest.API {
	if in.apis[r.Version] == nil {
		in.apis[r.Version] = manifest.NewAPI(r, &in.definitions)
	}
	return in.apis[r.Version]
}
