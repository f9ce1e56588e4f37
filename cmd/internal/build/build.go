// Package build turns directories into manifests: with kustomize, which the program links, or with a command of the user.
//
//	err := build.Parts(p, flags, func(part workspace.Flags) error {
//		in := workspace.Read(p, part) // the shared files and the output of one build
//		...
//	})
//
// It finds and builds the directories of a repository, and finds the source of each field of the output. Builds run on all cores,
// ahead of their use. A build reads no network and writes nothing. Only a command may use the network. It gets a copy of the tree.
// The files are:
//
//	discover.go       the directories to build
//	kustomize.go      a build by kustomize
//	kustomization.go  what a kustomization file may name
//	sandbox.go        the process that builds, as its parent sees it
//	child.go          the process that builds
//	message.go        what the two send each other
//	files.go          the files that the process may ask for
//	reason.go         what is shown of a message of kustomize
//	command.go        a build by a command
//	copy.go           the copy of the tree for commands
//	mask.go           what is shown of a command's messages
//	origin.go         the sources of generated fields
package build

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
)

// Limit is the longest time that a command may take.
const Limit = 60 * time.Second

// Builder builds directories of one tree: the working tree, or a revision. It is safe for concurrent use.
type Builder struct {
	tree    host.Tree
	p       *host.Program
	flags   workspace.Flags
	command []string
	limit   time.Duration
	shared  []string // the files of -f that are no directories to build
	sources *sources
	known   *kustomizations
	bases   parallel.Once[string, patchedJobs]
	sandbox sandbox   // for kustomize
	copy    *treeCopy // for a command
}

// New returns a builder for the flags, or nil if they ask for no build. It returns an error for flags that do not fit together, and
// for files that are not a tree. Close it.
func New(p *host.Program, files fs.FS, flags workspace.Flags) (*Builder, error) {
	if len(flags.Kustomize) == 0 && flags.BuildCommand == "" {
		return nil, nil
	}
	tree, ok := files.(host.Tree)
	named := flags.Kustomize
	if flags.BuildCommand != "" {
		named = append([]string{"."}, flags.Files...) // a command gets a copy of this tree
	}
	if ok {
		tree, ok = host.Bounded(tree, named...).(host.Tree)
	}
	switch {
	case len(flags.Kustomize) > 0 && flags.BuildCommand != "":
		return nil, exit.Usage(errors.New("-k builds with kustomize, and --build with another command: use one of the two"))
	case slices.Contains(flags.Kustomize, ""):
		return nil, exit.Usage(errors.New("-k: an empty path; name a directory"))
	case slices.Contains(slices.Concat(flags.Files, flags.Runtimes, flags.PatchFiles()), manifest.Stdin):
		return nil, exit.Usage(errors.New("each build reads the other files again, and standard input can be read once: name a file"))
	case !ok:
		return nil, errors.New("a build needs files of a disk")
	}
	b := &Builder{tree: tree, p: p, flags: flags, limit: Limit, shared: flags.Files, sources: &sources{tree: tree}, known: newKustomizations(tree), sandbox: sandbox{processor: mostProcessor, time: mostTime}}
	if flags.BuildCommand != "" {
		var err error
		if b.command, err = splitCommand(flags.BuildCommand); err != nil {
			return nil, exit.Usage(err)
		}
		b.copy = newTreeCopy(p, tree)
	}
	return b, nil
}

// Close ends the process that builds, and removes the copy of the tree. It returns the findings on files that commands have written
// into the copy.
func (b *Builder) Close() finding.List {
	if b == nil {
		return nil
	}
	if b.sandbox.end(); b.copy == nil {
		return nil
	}
	return b.copy.close()
}

// Build builds a directory. Its errors are findings of the result. A directory that the tree lacks is empty.
func (b *Builder) Build(dir string) *workspace.Built {
	built := &workspace.Built{Dir: dir, File: dir, Source: b.sources.read}
	if _, err := fs.Stat(b.tree, dir); errors.Is(err, fs.ErrNotExist) {
		return built
	}
	if b.command != nil {
		b.runCommand(built)
	} else {
		built.Findings = append(built.Findings, b.lostPatches(built, b.kustomize(built))...)
	}
	for i := range built.Findings {
		if built.Findings[i].Position == (fieldpath.Position{}) {
			built.Findings[i].Position.File = built.File
		}
	}
	return built
}

// With returns the flags of the part that holds the shared files and one build.
func (b *Builder) With(built *workspace.Built) workspace.Flags {
	part := b.flags
	part.Files, part.Built = b.shared, built
	if built != nil && built.Text != nil {
		part.Files = append(slices.Clone(b.shared), built.Name())
	}
	return part
}

// Parts calls take for each part of a run, in order. A part is the input of one build with the shared files. Without builds, the
// flags themselves are the only part. It returns the first error of take, and then builds nothing more.
func Parts(p *host.Program, flags workspace.Flags, take func(workspace.Flags) error) (err error) {
	b, err := New(p, p.Files, flags)
	if err != nil {
		return err
	}
	if b == nil {
		return take(flags)
	}
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
	written := b.Close()
	if err == nil && written != nil {
		err = take(b.With(&workspace.Built{Findings: written}))
	}
	return err
}

// failure returns a finding on a build.
func failure(code finding.Code, at fieldpath.Position, message, help string) finding.Finding {
	return finding.Finding{Code: code, Severity: finding.Error, Position: at, Message: message, Remedy: finding.Remedy{Text: help}}
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
