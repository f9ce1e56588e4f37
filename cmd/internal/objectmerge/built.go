package objectmerge

import (
	"errors"
	"fmt"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
)

// Built returns the object of the only build that holds it, as a base whose fields have their places
// in the sources until the builder is closed. The object is KIND/NAME. It returns nil if a finding is
// an error. The error is a usage error.
func Built(b *build.Builder, object string) (*Base, finding.List, error) {
	if object == "" {
		return nil, nil, exit.Usage(errors.New("-k: name the base as KIND/NAME"))
	}
	dirs, found := b.Find()
	var bases []Base
	var holding, held []string
	for _, dir := range dirs {
		built := b.Build(dir)
		for _, f := range built.Findings {
			f.Build = dir
			found = append(found, f)
		}
		texts, err := holds(built, object)
		if err != nil {
			return nil, nil, err
		}
		for id := range built.Objects() {
			held = append(held, id.Kind+"/"+id.Name)
		}
		for line, text := range texts {
			bases = append(bases, Base{built.File, text, built.Origin(line)})
			holding = append(holding, dir)
		}
	}
	switch {
	case found.Err() != nil:
		return nil, found, nil
	case bases == nil:
		return nil, nil, exit.Usage(origins.NotHeld(object, held))
	case len(bases) > 1:
		return nil, nil, exit.Usage(fmt.Errorf("builds hold %d objects %s: name one of %s with -k",
			len(bases), object, strings.Join(holding, ", ")))
	}
	return &bases[0], found, nil
}

// holds returns the objects of a build that are asked for, by their lines: by the name that they
// have, or else by a name that they had.
func holds(built *workspace.Built, object string) (texts map[int][]byte, err error) {
	texts = map[int][]byte{}
	var others [][]byte
	hasKind := false
	for id, text := range built.Objects() {
		others = append(others, text)
		hasKind = hasKind || origins.Asks(object, id.Kind)
		if origins.Asks(object, id.Kind, id.Name) {
			texts[len(others)] = text
		}
	}
	if len(texts) > 0 || !hasKind {
		return texts, nil
	}
	trace, err := built.Trace(object)
	if err != nil {
		return nil, err
	}
	for i, o := range trace.Objects {
		if origins.Asks(object, o.Kind(), o.Names()...) {
			texts[i+1] = others[i]
		}
	}
	return texts, nil
}
