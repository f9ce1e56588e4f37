package objectmerge

import (
	"errors"
	"fmt"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/finding"
)

// Built returns the object of the only build that holds it, as a base whose fields have their
// places in the sources until the builder is closed. The object is KIND/NAME. It returns nil if a
// finding is an error. The error is a usage error.
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
		asked, err := built.Asked(object)
		if err != nil {
			return nil, nil, err
		}
		for id := range built.Objects() {
			held = append(held, id.Kind+"/"+id.Name)
		}
		for _, o := range asked {
			bases = append(bases, Base{built.File, o.Text, built.Origin(o.Line)})
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
