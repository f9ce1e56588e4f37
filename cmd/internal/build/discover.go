package build

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// Find returns the directories to build: the named ones, or those found below them. It skips
// components, and directories that another one uses.
func (b *Builder) Find() ([]string, finding.List) {
	var dirs []string
	var found finding.List
	for _, name := range b.flags.Kustomize {
		matches := []string{name}
		if _, err := fs.Stat(b.tree, name); err != nil && strings.ContainsAny(name, "*?[") {
			matches, _ = manifest.Match(b.tree, name)
		}
		built := false
		for _, match := range matches {
			if info, err := fs.Stat(b.tree, match); err == nil && info.IsDir() {
				below, deep := b.below(filepath.Clean(match))
				found = append(found, deep...)
				built = built || len(below)+len(deep) > 0
				dirs = append(dirs, below...)
			}
		}
		if !built {
			found = append(found, b.nothingToBuild(name))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), found
}

func (b *Builder) nothingToBuild(name string) finding.Finding {
	at := fieldpath.Position{File: name}
	info, err := fs.Stat(b.tree, name)
	switch {
	case err != nil:
		return failure(codes.Unreadable, at, "does not exist",
			"check the path; it is relative to the working directory")
	case !info.IsDir():
		return failure(codes.NothingToBuild, at, "is a file", "name the directory that holds it")
	default:
		return failure(codes.NothingToBuild, at,
			"no directory here or below holds a kustomization.yaml",
			"name a directory that does; of a chart, check the output: helm template . | "+
				"trainweld check -")
	}
}

// below returns the directory itself if it can be built, or those below it. It returns a finding if
// a directory is too deep to be searched.
func (b *Builder) below(dir string) (found []string, deep finding.List) {
	if b.kustomizationIn(dir) != nil {
		return []string{dir}, nil
	}
	used := map[string]bool{}
	_ = fs.WalkDir(b.tree, dir, func(name string, d fs.DirEntry, err error) error {
		name = filepath.Clean(name)
		switch {
		case err != nil || !d.IsDir() || name == dir:
			return nil // an unreadable directory holds nothing to build
		case strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case isDeep(name):
			at := fieldpath.Position{File: name}
			deep = append(deep, failure(codes.Unreadable, at,
				fmt.Sprintf("lies in more than %d directories, and is skipped", host.MostNested),
				"move it up, or name the directories to build"))
			return fs.SkipDir
		}
		if k := b.kustomizationIn(name); k != nil {
			found = append(found, name)
			for _, other := range k.dirs {
				used[other] = true
			}
		}
		return nil
	})
	return slices.DeleteFunc(found, func(dir string) bool {
		k := b.kustomizationIn(dir)
		return k.Kind == types.ComponentKind || used[filepath.Dir(k.file)]
	}), deep[:min(1, len(deep))]
}

func (b *Builder) kustomizationIn(dir string) *kustomization {
	real, err := b.tree.Real(dir)
	if err != nil {
		return nil
	}
	return b.known.in(real)
}
