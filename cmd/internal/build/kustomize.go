package build

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// kustomize builds a directory as the program kustomize does by default. It uses no plugins, and
// only files below the root of each kustomization. What fails is a finding.
func (b *Builder) kustomize(built *workspace.Built) {
	fail := func(code finding.Code, message, help string) {
		at := fieldpath.Position{File: built.File}
		built.Findings = append(built.Findings, failure(code, at, message, help))
	}
	real, err := b.tree.Real(built.Dir)
	if err != nil {
		fail(codes.BuildFailed, "cannot be read: "+err.Error(), "check that you may read it")
		return
	}
	top := b.known.in(real)
	if top == nil {
		fail(codes.NothingToBuild, "holds no kustomization file",
			"name the directory of a kustomization.yaml")
		return
	}
	built.File = filepath.Join(built.Dir, filepath.Base(top.file))
	closure := b.closure(top)
	var rejected finding.List
	for _, k := range closure {
		for _, f := range k.rejections {
			f.Position.File = asWritten(built.Dir, real, f.Position.File)
			rejected = append(rejected, f)
		}
	}
	if rejected != nil {
		built.Findings = append(built.Findings, codes.Distinct(rejected)...)
		return
	}
	made, err := b.made(request{SetsSchema: setsSchema(closure)}, real)
	var said kustomizeError
	switch {
	case err == nil:
		built.Text, built.Origin = made.Text, b.origin(built, real, closure)
	case errors.Is(err, errCrash):
		fail(codes.BuildFailed, "kustomize "+err.Error(),
			"simplify the kustomization, and report the crash to kustomize")
	case errors.As(err, &said) && needsMore(string(said)):
		fail(codes.BuildRejected, "kustomize fails: "+b.reason(built.Dir, real, err),
			"copy what it fetches into the repository, and build charts alone")
	case said != "":
		fail(codes.BuildFailed, "kustomize fails: "+b.reason(built.Dir, real, err),
			"run kustomize build "+printable.Name(built.Dir)+" to try it alone")
	default:
		fail(codes.BuildFailed, "kustomize "+err.Error(), "simplify the kustomization")
	}
}

// made builds a directory in a process, as a request says.
func (b *Builder) made(asked request, real string) (*product, error) {
	dir, err := b.folders.of(real)
	if err != nil {
		return nil, fmt.Errorf("cannot read the revision: %w", err)
	}
	asked.Dir, asked.Roots = []byte(dir), b.roots
	if b.folders.revision != nil {
		asked.Roots = [][]byte{[]byte(b.folders.copied)}
	}
	return b.processes.run(asked)
}

func setsSchema(all []*kustomization) bool {
	return slices.ContainsFunc(all, func(k *kustomization) bool { return len(k.OpenAPI) > 0 })
}

// closure returns a kustomization and the kustomizations that it names, directly or not. Each comes
// before the ones that it names.
func (b *Builder) closure(top *kustomization) (all []*kustomization) {
	seen := map[*kustomization]bool{nil: true}
	var add func(k *kustomization)
	add = func(k *kustomization) {
		if seen[k] {
			return
		}
		seen[k] = true
		all = append(all, k)
		for _, dir := range k.dirs {
			add(b.known.in(dir))
		}
	}
	add(top)
	return all
}

// reason returns an error of kustomize without values, and with paths as the user writes them.
func (b *Builder) reason(dir, real string, err error) string {
	text := err.Error()
	if b.folders.revision != nil {
		text = strings.ReplaceAll(text, b.folders.copied, b.folders.revision.Root())
	}
	const slash = string(filepath.Separator)
	text = strings.ReplaceAll(text, real+slash, dir+slash)
	text = strings.ReplaceAll(text, real, dir)
	if here, err := b.tree.Real("."); err == nil {
		text = strings.ReplaceAll(text, here+slash, "")
	}
	return report.Printable(safeReason(text))
}

// origin returns the function that finds the origins of the objects of a build. It builds again,
// one operation after the other, when it is called first.
func (b *Builder) origin(
	built *workspace.Built, real string, closure []*kustomization,
) func(line int) manifest.Origin {
	of := func(asked request) (*origins.Trace, error) {
		asked.Trace, asked.SetsSchema = true, setsSchema(closure)
		made, err := b.made(asked, real)
		if err != nil {
			return nil, fmt.Errorf("%s: kustomize fails to build a part of it: %s", built.File,
				b.reason(built.Dir, real, err))
		}
		made.Trace.Dir = built.Dir
		return made.Trace, nil
	}
	trace := sync.OnceValues(func() (*origins.Trace, error) { return of(request{}) })
	built.Trace = func(object string) (*origins.Trace, error) {
		if object == "" {
			return trace()
		}
		return of(request{Object: object, Text: built.Text})
	}
	return func(line int) manifest.Origin {
		return func(path fieldpath.Path) []merge.Claim {
			made, err := trace() // without it, the build alone has no lines
			if err == nil && 1 <= line && line <= len(made.Objects) {
				if claims := made.At(line-1, path); len(claims) > 0 {
					return made.Claims(claims)
				}
			}
			return []merge.Claim{{Position: fieldpath.Position{File: built.File}}}
		}
	}
}

// source returns a file in which positions lie.
func (b *Builder) source(name string) ([]byte, bool) {
	data := b.files.Of(name, func() []byte {
		data, err := ownfile.ReadInput(b.tree, name)
		if err != nil {
			return nil
		}
		return data
	})
	return data, data != nil
}
