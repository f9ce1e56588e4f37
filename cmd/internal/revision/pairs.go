package revision

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
)

// Version is one of two versions to build.
type Version struct {
	Files fs.FS
	Flags workspace.Flags
	// Root is the directory or the file that only this version reads, or "". Directories below
	// the roots pair up.
	Root string
}

// Pairs calls take for each part of two versions, in order. Builds pair up by their directories. A
// directory that one version lacks is empty there. Without builds, the flags of both versions are
// the only pair. It returns the first error of take, and then builds nothing more.
func Pairs(p *host.Program, old, new Version, take func(old, new workspace.Flags) error) error {
	before, err := newVersionSide(p, old)
	if err != nil {
		return err
	}
	defer before.Close()
	after, err := newVersionSide(p, new)
	if err != nil {
		return err
	}
	defer after.Close()
	if before.Builder == nil && after.Builder == nil {
		return take(old.Flags, new.Flags)
	}
	defer host.CollectLess()()
	keys := slices.AppendSeq(slices.Collect(maps.Keys(before.dirs)), maps.Keys(after.dirs))
	slices.Sort(keys)
	keys = slices.Compact(keys)
	type pair struct{ old, new *workspace.Built }
	progress := p.Progress()
	defer progress.End()
	parallel.Ordered(len(keys), func(i int) pair {
		if err != nil {
			return pair{}
		}
		return pair{before.build(keys[i], after), after.build(keys[i], before)}
	}, func(i int, made pair) {
		progress.Step("built", i+1, len(keys))
		if err == nil {
			err = take(before.with(made.old), after.with(made.new))
		}
	})
	var foundBefore, foundAfter finding.List
	// else the old version may lack what the new one has
	if len(keys) == 0 || after.missing != nil {
		foundBefore, foundAfter = before.missing, after.missing
	}
	if err == nil && len(foundBefore)+len(foundAfter) > 0 {
		err = take(before.with(&workspace.Built{Findings: foundBefore}),
			after.with(&workspace.Built{Findings: foundAfter}))
	}
	return err
}

// versionSide is a version with its builder, which is nil without builds. The keys of dirs are the
// parts of their paths that both versions share.
type versionSide struct {
	*build.Builder
	Version
	dirs    map[string]string
	missing finding.List
}

func newVersionSide(p *host.Program, v Version) (*versionSide, error) {
	b, err := build.New(p, v.Files, v.Flags)
	s := &versionSide{Builder: b, Version: v, dirs: map[string]string{}}
	if b == nil || err != nil {
		return s, err
	}
	var dirs []string
	dirs, s.missing = b.Find()
	for _, dir := range dirs {
		s.dirs[s.key(dir)] = dir
	}
	return s, nil
}

// key returns the path of a directory below the root.
func (s *versionSide) key(dir string) string {
	if s.Root == "" {
		return dir
	}
	below, err := filepath.Rel(s.Root, dir)
	if err != nil || below == ".." || strings.HasPrefix(below, ".."+string(filepath.Separator)) {
		return dir
	}
	return below
}

// with returns the flags of a part. A version that lacks all paths to build has no builder.
func (s *versionSide) with(built *workspace.Built) workspace.Flags {
	if s.Builder != nil {
		return s.With(built)
	}
	part := s.Flags
	part.Built = built
	return part
}

// build builds a directory. It returns an empty build for one that only the other version has.
func (s *versionSide) build(key string, other *versionSide) *workspace.Built {
	if dir, known := s.dirs[key]; known {
		return s.Build(dir)
	}
	return &workspace.Built{Dir: other.dirs[key], File: other.dirs[key]}
}
