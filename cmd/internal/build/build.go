// Package build turns directories into manifests with kustomize, which the program links.
//
//	err := build.Parts(p, flags, func(part workspace.Flags) error {
//		in := workspace.Read(p, part) // the shared files and the output of one build
//		...
//	})
//
// It finds and builds the directories of a repository, and finds the source of each field of the
// output. Builds run on all cores, ahead of their use. A build reads no network, starts no program
// and writes nothing: SECURITY.md lists the guards.
//
// Its first file to read is build.go.
package build

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// Builder builds directories of one tree: the working tree, or a revision. Goroutines may share it.
type Builder struct {
	tree      host.Tree
	roots     [][]byte // what the processes that build may read
	flags     workspace.Flags
	known     *kustomizations
	files     parallel.Once[string, []byte] // those of positions; nil if one cannot be read
	bases     parallel.Once[string, []byte] // the outputs of bases
	processes processes
	folders   folders
}

// New returns a builder for the flags, or nil if they ask for no build. It returns an error for
// flags that do not fit together, and for files that are not a tree. Close it.
func New(p *host.Program, files fs.FS, flags workspace.Flags) (*Builder, error) {
	if !flags.Builds() {
		return nil, nil
	}
	switch {
	case slices.Contains(flags.Kustomize, ""):
		return nil, exit.Usage(errors.New("-k: an empty path; name a directory"))
	case slices.Contains(slices.Concat(flags.Files, flags.Runtimes, flags.PatchFiles()),
		manifest.Stdin):
		return nil, exit.Usage(errors.New(
			"each build reads the other files again, and standard input can be read once: name a " +
				"file"))
	}
	b := &Builder{flags: flags, processes: processes{time: mostTime, memory: mostMemory}}
	switch tree := files.(type) {
	case host.Files:
		roots := host.Roots(flags.Kustomize...)
		b.tree = host.Within(tree, roots...)
		for _, root := range roots {
			b.roots = append(b.roots, []byte(root))
		}
	case *host.GitFiles:
		b.tree, b.folders = tree, folders{p: p, revision: tree}
	default:
		return nil, errors.New("a build needs files of a disk")
	}
	b.known = &kustomizations{tree: b.tree}
	return b, nil
}

// Close ends the processes that build, and removes the files of a revision.
func (b *Builder) Close() {
	if b != nil {
		b.processes.end()
		b.folders.remove()
	}
}

// Build builds a directory. Its errors are findings of the result. A directory that the tree lacks
// is empty.
func (b *Builder) Build(dir string) *workspace.Built {
	built := &workspace.Built{Dir: dir, File: dir, Source: b.source}
	if _, err := fs.Stat(b.tree, dir); errors.Is(err, fs.ErrNotExist) {
		return built
	}
	b.kustomize(built)
	built.Findings = append(built.Findings, b.lostPatches(built)...)
	return built
}

// With returns the flags of the part that holds the shared files and one build.
func (b *Builder) With(built *workspace.Built) workspace.Flags {
	part := b.flags
	part.Built = built
	if built != nil && built.Text != nil {
		part.Files = append(slices.Clone(b.flags.Files), built.Name())
	}
	return part
}

// Parts calls take for each part of a run, in order. A part is the input of one build with the
// shared files. Without builds, the flags themselves are the only part. It returns the first error
// of take, and then builds nothing more.
func Parts(p *host.Program, flags workspace.Flags, take func(workspace.Flags) error) (err error) {
	b, err := New(p, p.Files, flags)
	if err != nil {
		return err
	}
	if b == nil {
		return take(flags)
	}
	defer b.Close()
	defer host.CollectLess()()
	dirs, found := b.Find()
	if found != nil {
		dirs = append(dirs, "") // the last part has no build, only the findings
	}
	progress := p.Progress()
	defer progress.End()
	parallel.Ordered(len(dirs), func(i int) *workspace.Built {
		if dirs[i] == "" || err != nil {
			return &workspace.Built{Findings: found}
		}
		return b.Build(dirs[i])
	}, func(i int, built *workspace.Built) {
		progress.Step("built", i+1, len(dirs))
		if err == nil {
			err = take(b.With(built))
		}
	})
	return err
}

// failure returns a finding on a build.
func failure(code finding.Code, at fieldpath.Position, message, help string) finding.Finding {
	return finding.Finding{Code: code, Severity: finding.Error, Position: at, Message: message,
		Remedy: finding.Remedy{Text: help}}
}

// asWritten returns a path of the tree as the user would write it: in terms of the built directory.
func asWritten(dir, real, file string) string {
	if rel, err := filepath.Rel(real, file); err == nil {
		return filepath.Join(dir, rel)
	}
	return file
}

// errLarge is the error of an output larger than a manifest may be.
var errLarge = fmt.Errorf("prints more than %d MiB", mostOutput>>20)

// mostOutput is the size of the largest output, as in package manifest.
const mostOutput = 64 << 20

// folders are the directories of a tree as the processes that build see them. Those of a revision
// are in a temporary folder.
type folders struct {
	p        *host.Program
	revision *host.GitFiles // nil for the files of a disk
	once     sync.Once
	err      error
	copied   string // the temporary folder, without links
	forget   func()
}

// of returns the path of a directory for a process. The parameter real is its path in the tree.
func (f *folders) of(real string) (string, error) {
	if f.revision == nil {
		return real, nil
	}
	if f.once.Do(func() { f.err = f.write() }); f.err != nil {
		return "", f.err
	}
	below, err := filepath.Rel(f.revision.Root(), real)
	return filepath.Join(f.copied, below), err
}

// write writes the revision into a temporary folder. A signal removes it.
func (f *folders) write() error {
	made, err := os.MkdirTemp("", "trainweld-")
	if err != nil {
		return err
	}
	f.forget = f.p.CleanUp(func() { _ = os.RemoveAll(made) }) // else the system cleans it
	if f.copied, err = filepath.EvalSymlinks(made); err != nil {
		return err
	}
	return f.revision.Write(f.copied)
}

// remove removes the temporary folder.
func (f *folders) remove() {
	if f.forget != nil {
		_ = os.RemoveAll(f.copied) // else the system cleans it
		f.forget()
	}
}

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
