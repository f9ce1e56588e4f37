// This file finds the policy of a file: the nearest trainweld.yaml, unless --policy names one.

package workspace

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/policy"
	"github.com/trainweld/trainweld/release"
)

// ConfigName is the name of the policy file for the objects of its directory and below.
const ConfigName = "trainweld.yaml"

// config is the content of a policy file. A manifest of the name has a kind, and is none.
type config struct {
	is      bool
	release *release.Release // nil without a valid one
	rules   *rules           // nil without any, and after an error
	stock   *bool            // whether the file accepts runtimes of a release
}

// governing holds the release and the rules for the objects of a directory. They may come from two files. A file without
// trainerVersion leaves the release to a file above it. A file with nothing else leaves the rules to that file.
type governing struct {
	release *release.Release
	rules   *rules
	stock   *bool
}

// govern returns the release and the rules for the objects of a directory. The file of --policy goes before the nearest
// trainweld.yaml.
func (in *Input) govern(fsys fs.FS, dir string) governing {
	if in.flags.AnyRelease {
		return governing{}
	}
	g := in.nearest(fsys, dir)
	if in.flags.Policy != "" {
		named := in.config(fsys, in.flags.Policy)
		g.rules = named.rules
		if named.release != nil {
			g.release = named.release
		}
		if named.stock != nil {
			g.stock = named.stock
		}
	}
	if in.flags.Release != nil {
		g.release = in.flags.Release
	}
	return g
}

// ReleaseOf returns the release for the objects of a file, or nil if nothing names one.
func (in *Input) ReleaseOf(fsys fs.FS, file string) *release.Release {
	return in.govern(fsys, dirOf(file)).release
}

// nearest returns the release and the rules of the nearest trainweld.yaml of a directory.
func (in *Input) nearest(fsys fs.FS, dir string) governing {
	if g, known := in.governing[dir]; known {
		return g
	}
	found := in.config(fsys, path.Join(dir, ConfigName))
	g := governing{found.release, found.rules, found.stock}
	if above, ok := parent(fsys, dir); ok && (g.release == nil || g.rules == nil || g.stock == nil) {
		outer := in.nearest(fsys, above)
		if g.release == nil {
			g.release = outer.release
		}
		if g.rules == nil {
			g.rules = outer.rules
		}
		if g.stock == nil {
			g.stock = outer.stock
		}
	}
	in.governing[dir] = g
	return g
}

// dirOf returns the directory whose policy holds for a file. Standard input belongs to the working directory.
func dirOf(file string) string {
	if file == manifest.Stdin {
		return "."
	}
	return path.Dir(filepath.ToSlash(file))
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

// config reads a policy file once, and reports the mistakes in it.
func (in *Input) config(fsys fs.FS, file string) config {
	file = path.Clean(filepath.ToSlash(file))
	if c, known := in.configs[file]; known {
		return c
	}
	var c config
	named := file == path.Clean(filepath.ToSlash(in.flags.Policy)) && in.flags.Policy != ""
	if info, err := fs.Stat(fsys, file); named || err == nil && !info.IsDir() {
		if !named {
			fsys = host.Bounded(fsys, path.Dir(file)) // nobody has named the file
		}
		data, unreadable := manifest.Read(fsys, nil, file)
		switch {
		case unreadable != nil:
			c.is = true
			in.Findings = append(in.Findings, *unreadable)
		case named || !policy.IsManifest(data):
			c = in.parseConfig(file, data)
		}
	}
	in.configs[file] = c
	in.configOrder = append(in.configOrder, file)
	return c
}

func (in *Input) parseConfig(file string, data []byte) config {
	p, found := policy.Parse(file, data)
	in.Findings = append(in.Findings, found...)
	in.opened(file, data)
	c := config{is: true, release: p.Release(), stock: p.Stock()}
	if p.HasRules() && found.Err() == nil {
		c.rules = &rules{Policy: p}
	}
	return c
}

// withoutConfigs removes each policy file from the files, and records what holds for the others.
func (in *Input) withoutConfigs(fsys fs.FS, files []string) []string {
	var kept []string
	for _, file := range files {
		if !in.IsConfig(fsys, file) {
			in.Govern(fsys, file, dirOf(file))
			kept = append(kept, file)
		}
	}
	return kept
}

// Govern records that the policy of a directory holds for the objects of a file, and reads the patches of the policy. It returns the
// API for the objects, or nil if the input names no release for them.
func (in *Input) Govern(fsys fs.FS, file, dir string) *manifest.API {
	g := in.govern(fsys, dir)
	api := in.API(g.release)
	if api != nil {
		in.byFile[file] = api
	}
	in.stockAccepted[file] = g.stock != nil && *g.stock
	if g.rules != nil {
		in.rules[file] = g.rules
		in.readRules(fsys, g.rules)
	}
	return api
}

// APIOf returns the API for the objects of a file, or nil if the input names no release for them.
func (in *Input) APIOf(fsys fs.FS, file string) *manifest.API {
	return in.API(in.govern(fsys, dirOf(file)).release)
}

// IsConfig reports whether a file is a policy file, and not a manifest of that name. It reports the mistakes in it.
func (in *Input) IsConfig(fsys fs.FS, file string) bool {
	if file == manifest.Stdin {
		return false
	}
	clean := path.Clean(filepath.ToSlash(file))
	isNamed := in.flags.Policy != "" && clean == path.Clean(filepath.ToSlash(in.flags.Policy))
	return (path.Base(clean) == ConfigName || isNamed) && in.config(fsys, clean).is
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
