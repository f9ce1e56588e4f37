// This file finds the policy of a file: the nearest trainweld.yaml, unless --policy names one.

package workspace

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/policy"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/minor"
)

// ConfigName is the name of the policy file for the objects of its directory and below.
const ConfigName = "trainweld.yaml"

// Settings holds the settings that policy files have for a file: the release, the patches and the
// severities.
type Settings struct {
	reporter
	flags Flags
	lines *Lines
	// The policy files, and what holds for each directory and file.
	configs     map[string]config
	configOrder []string
	byDir       map[string]dirPolicy
	byFile      map[string]*manifest.API
	// stockAccepted are the files whose policy accepts the runtimes of a release.
	stockAccepted map[string]bool
	// unbuilt are the files below a kustomization that no build has made, and kustomized the
	// directories below one.
	unbuilt, kustomized map[string]bool
	rules               map[string]*rules
	Patches             []manifest.Patch // of --patch: see PatchesFor
	patchers            []string         // the managers of patches in TrainJobs

	lock        sync.Mutex // guards the rest
	apis        map[string]*manifest.API
	definitions release.Definitions
}

func newSettings(flags Flags, lines *Lines, to reporter) *Settings {
	return &Settings{
		reporter: to, flags: flags, lines: lines,
		configs: map[string]config{}, byDir: map[string]dirPolicy{},
		byFile:        map[string]*manifest.API{},
		stockAccepted: map[string]bool{}, unbuilt: map[string]bool{}, kustomized: map[string]bool{},
		rules: map[string]*rules{}, apis: map[string]*manifest.API{},
	}
}

// config is the content of a policy file. A manifest of the name has a kind, and is none.
type config struct {
	is bool
	dirPolicy
}

// dirPolicy holds the release and the rules for the objects of a directory. They may come from two
// files. A file without trainerVersion leaves the release to a file above it. A file with nothing
// else leaves the rules to that file.
type dirPolicy struct {
	release    *release.Release // nil without a valid one
	kubernetes string           // the minor version; empty without a valid one
	rules      *rules           // nil without any, and after an error
	stock      *bool            // whether the file accepts runtimes of a release
}

// rules is a policy with its patches.
type rules struct {
	*policy.Policy
	read    bool
	patches [][]manifest.Patch // of each entry
}

// or returns the settings, and those of outer where there are none.
func (g dirPolicy) or(outer dirPolicy) dirPolicy {
	return dirPolicy{cmp.Or(g.release, outer.release), cmp.Or(g.kubernetes, outer.kubernetes),
		cmp.Or(g.rules, outer.rules), cmp.Or(g.stock, outer.stock)}
}

// policyOf returns the release and the rules for the objects of a directory. The file of --policy
// goes before the nearest trainweld.yaml.
func (st *Settings) policyOf(fsys fs.FS, dir string) dirPolicy {
	if st.flags.AnyRelease {
		return dirPolicy{}
	}
	g := st.nearest(fsys, dir)
	if st.flags.Policy != "" {
		named := st.config(fsys, st.flags.Policy).dirPolicy
		g = named.or(g)
		g.rules = named.rules
	}
	g.release = cmp.Or(st.flags.Release, g.release)
	g.release = g.release.On(cmp.Or(st.flags.Kubernetes, g.kubernetes))
	return g
}

// ReleaseOf returns the release for the objects of a file, or nil if nothing names one.
func (st *Settings) ReleaseOf(fsys fs.FS, file string) *release.Release {
	return st.policyOf(fsys, dirOf(file)).release
}

// nearest returns the release and the rules of the nearest trainweld.yaml of a directory.
func (st *Settings) nearest(fsys fs.FS, dir string) dirPolicy {
	if g, known := st.byDir[dir]; known {
		return g
	}
	g := st.config(fsys, path.Join(dir, ConfigName)).dirPolicy
	if above, ok := parentDir(fsys, dir); ok &&
		(g.release == nil || g.kubernetes == "" || g.rules == nil || g.stock == nil) {
		g = g.or(st.nearest(fsys, above))
	}
	st.byDir[dir] = g
	return g
}

// dirOf returns the directory whose policy holds for a file. Standard input belongs to the working
// directory.
func dirOf(file string) string {
	if file == manifest.Stdin {
		return "."
	}
	return path.Dir(filepath.ToSlash(file))
}

// parentDir returns the directory above another one. It returns false at the root of a git
// repository or of the file system.
func parentDir(fsys fs.FS, dir string) (string, bool) {
	if _, err := fs.Stat(fsys, path.Join(dir, ".git")); err == nil ||
		dir == filepath.ToSlash(filepath.VolumeName(dir)) && dir != "" {
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

// isKustomized reports whether a directory or one above it has a kustomization.
func (st *Settings) isKustomized(fsys fs.FS, dir string) bool {
	is, known := st.kustomized[dir]
	if known {
		return is
	}
	for _, name := range kustomizationNames() {
		info, err := fs.Stat(fsys, path.Join(dir, name))
		is = is || err == nil && !info.IsDir()
	}
	if above, ok := parentDir(fsys, dir); ok && !is {
		is = st.isKustomized(fsys, above)
	}
	st.kustomized[dir] = is
	return is
}

// kustomizationNames returns the names that kustomize gives a kustomization.
func kustomizationNames() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

// NoteImages makes an image that no kubelet can pull a note if the file that sets it is below a
// kustomization, and no build has made it. The build may replace the image.
func (st *Settings) NoteImages(file string, found finding.List) {
	for i := range found {
		if f := &found[i]; f.Code == codes.ImageName && f.Severity > finding.Note &&
			st.unbuilt[file] {
			f.Severity, f.Remedy.Text = finding.Note,
				"build the kustomization around the file with -k"
		}
	}
}

// config reads a policy file once, and reports the mistakes in it.
func (st *Settings) config(fsys fs.FS, file string) config {
	file = path.Clean(filepath.ToSlash(file))
	if c, known := st.configs[file]; known {
		return c
	}
	var c config
	named := file == path.Clean(filepath.ToSlash(st.flags.Policy)) && st.flags.Policy != ""
	if info, err := fs.Stat(fsys, file); named || err == nil && !info.IsDir() {
		if !named {
			fsys = host.Bounded(fsys, path.Dir(file)) // nobody has named the file
		}
		data, unreadable := manifest.Read(fsys, nil, file)
		switch {
		case unreadable != nil:
			c.is = true
			st.report(*unreadable)
		case named || !policy.IsManifest(data):
			c = st.parseConfig(file, data)
		}
	}
	st.configs[file] = c
	st.configOrder = append(st.configOrder, file)
	return c
}

func (st *Settings) parseConfig(file string, data []byte) config {
	p, found := policy.Parse(file, data)
	st.report(found...)
	st.lines.opened(file, data)
	c := config{true, dirPolicy{release: p.Release(), kubernetes: p.Kubernetes(),
		stock: p.Stock()}}
	if p.HasRules() && found.Err() == nil {
		c.rules = &rules{Policy: p}
	}
	return c
}

// APIOf returns the API for the objects of a file, or nil if the input names no release for them.
func (st *Settings) APIOf(fsys fs.FS, file string) *manifest.API {
	return st.API(st.policyOf(fsys, dirOf(file)).release)
}

// IsConfig reports whether a file is a policy file, and not a manifest of that name. It reports the
// mistakes in it.
func (st *Settings) IsConfig(fsys fs.FS, file string) bool {
	if file == manifest.Stdin {
		return false
	}
	clean := path.Clean(filepath.ToSlash(file))
	isNamed := st.flags.Policy != "" && clean == path.Clean(filepath.ToSlash(st.flags.Policy))
	return (path.Base(clean) == ConfigName || isNamed) && st.config(fsys, clean).is
}

// Releases returns the releases that the input names, the oldest first.
func (st *Settings) Releases() []release.Release {
	st.lock.Lock()
	defer st.lock.Unlock()
	var all []release.Release
	for _, api := range st.apis {
		all = append(all, *api.Release())
	}
	slices.SortFunc(all, func(a, b release.Release) int {
		return cmp.Or(cmp.Compare(a.Index(), b.Index()), minor.Compare(a.Kubernetes, b.Kubernetes))
	})
	return all
}

// API returns the API of a release, or nil for nil. Each release on each version of Kubernetes has
// one API in a run.
func (st *Settings) API(r *release.Release) *manifest.API {
	if r == nil {
		return nil
	}
	st.lock.Lock()
	defer st.lock.Unlock()
	return st.api(r)
}

func (st *Settings) api(r *release.Release) *manifest.API {
	key := r.Version + "/" + r.Kubernetes
	if st.apis[key] == nil {
		st.apis[key] = manifest.NewAPI(r, &st.definitions)
		if why := r.Untested(); why != "" {
			st.report(finding.Finding{Code: codes.UntestedMinor, Severity: finding.Warning,
				Message: why, Remedy: finding.Remedy{
					Text: "name the versions of the cluster"}})
		}
	}
	return st.apis[key]
}
