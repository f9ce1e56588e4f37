package objectmerge

import (
	"bytes"
	"encoding/json"
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
	var holding []string
	for _, dir := range dirs {
		built := b.Build(dir)
		for _, f := range built.Findings {
			f.Build = dir
			found = append(found, f)
		}
		lines, err := holds(built, object)
		if err != nil {
			return nil, nil, err
		}
		for _, i := range lines {
			text := bytes.Split(built.Text, []byte("\n"))[i]
			bases = append(bases, Base{built.File, text, built.Origin(i + 1)})
			holding = append(holding, dir)
		}
	}
	switch {
	case found.Err() != nil:
		return nil, found, nil
	case bases == nil:
		return nil, nil, exit.Usage(fmt.Errorf("no build holds %s", object))
	case len(bases) > 1:
		return nil, nil, exit.Usage(fmt.Errorf("builds hold %d objects %s: name one of %s with -k",
			len(bases), object, strings.Join(holding, ", ")))
	}
	return &bases[0], found, nil
}

// holds returns the lines of a build that have an object: by the name that it has, or else by a name
// that it had.
func holds(built *workspace.Built, object string) (lines []int, err error) {
	i, hasKind := -1, false
	for text := range bytes.Lines(built.Text) {
		i++
		var is struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if json.Unmarshal(text, &is) != nil {
			continue
		}
		hasKind = hasKind || origins.Asks(object, is.Kind)
		if origins.Asks(object, is.Kind, is.Metadata.Name) {
			lines = append(lines, i)
		}
	}
	if lines != nil || !hasKind {
		return lines, nil
	}
	trace, err := built.Trace(object)
	if err != nil {
		return nil, err
	}
	for i, o := range trace.Objects {
		if kind := o.Kind(); origins.Asks(object, kind, o.Names()...) {
			lines = append(lines, i)
		}
	}
	return lines, nil
}
