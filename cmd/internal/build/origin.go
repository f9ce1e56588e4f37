package build

import (
	"path/filepath"
	"sync"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
)

// origin returns the function that finds the origins of the objects of a build. It builds again,
// one operation after the other, when it is called first.
func (b *Builder) origin(
	built *workspace.Built, real string, closure []*kustomization,
) func(line int) manifest.Origin {
	of := func(asked request) *origins.Trace {
		asked.Trace, asked.SetsSchema = true, setsSchema(closure)
		made, err := b.made(asked, real)
		if err != nil || made.Trace == nil {
			return nil // the build alone has no lines
		}
		return made.Trace
	}
	trace := sync.OnceValue(func() *origins.Trace { return of(request{}) })
	built.Trace = func(object string) *origins.Trace {
		if object == "" {
			return trace()
		}
		return of(request{Object: object, Text: built.Text})
	}
	return func(line int) manifest.Origin {
		return func(_ *manifest.Document, path fieldpath.Path) fieldpath.Position {
			at := fieldpath.Position{File: built.File}
			made := trace()
			if made == nil || line < 1 || line > len(made.Objects) {
				return at
			}
			if at = made.Objects[line-1].Position(path); at.File != "" {
				at.File = filepath.Join(built.Dir, filepath.FromSlash(at.File))
				return at
			}
			return fieldpath.Position{File: built.File}
		}
	}
}

// sources holds the files that positions lie in. Builds share it.
type sources struct {
	tree  host.Tree
	files parallel.Once[string, *[]byte] // nil if it cannot be read
}

// read returns the data of a file.
func (s *sources) read(name string) ([]byte, bool) {
	data := s.files.Of(name, func() *[]byte {
		data, err := ownfile.ReadInput(s.tree, name)
		if err != nil {
			return nil
		}
		return &data
	})
	if data == nil {
		return nil, false
	}
	return *data, true
}
