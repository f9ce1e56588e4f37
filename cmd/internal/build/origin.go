package build

import (
	"fmt"
	"sync"

	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/manifest"
)

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
