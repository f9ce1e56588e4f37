package manifest

import (
	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/nearest"
)

// Report returns a report for the findings of later stages on the document. It takes none that
// Decode describes: several stages find unknown fields and wrong types, and Decode suggests the
// intended field. The findings to add have their positions.
func (d *Document) Report() *codes.Report {
	if d == nil {
		return &codes.Report{}
	}
	known := d.decodeErrors()
	return codes.NewReport(d.Findings, func(f finding.Finding) bool {
		return len(known.of) > 0 && f.Object.Kind == d.ID.Kind && known.has(f, d.along(f.Path))
	})
}

// decodeErrors holds the errors of Decode by the values of the text. Paths are ambiguous: they name
// a list item by its key or its index.
type decodeErrors struct {
	of      map[*yaml.Node]decodeError
	unknown map[*yaml.Node][]string // the names of unknown fields
}

type decodeError uint8

const (
	anyError     decodeError = 1 << iota
	wrongType                // so that nothing below is decoded
	hasWrongType             // a wrong type, here or below
)

func (d *Document) decodeErrors() decodeErrors {
	m := decodeErrors{map[*yaml.Node]decodeError{}, map[*yaml.Node][]string{}}
	for _, f := range d.Findings {
		if f.Severity != finding.Error {
			continue
		}
		values, last := d.along(f.Path), len(f.Path)
		m.of[values[last]] |= anyError
		if f.Code == codes.WrongType || f.Code == codes.AmbiguousWord {
			m.of[values[last]] |= wrongType
			for _, value := range values {
				m.of[value] |= hasWrongType
			}
		}
		if f.Code == codes.UnknownField && last > 0 {
			name, _ := f.Path[last-1].Name()
			m.unknown[values[last-1]] = append(m.unknown[values[last-1]], name)
		}
	}
	delete(m.of, nil)
	delete(m.unknown, nil)
	return m
}

// along returns the values from the object to the path. A value that the text lacks is nil.
func (d *Document) along(p fieldpath.Path) []*yaml.Node {
	s, at := d.place()
	values := make([]*yaml.Node, len(p)+1)
	for n := range values {
		values[n] = s.Value(at, p[:n])
	}
	return values
}

// has reports whether an error of Decode describes the mistake of f.
func (m decodeErrors) has(f finding.Finding, values []*yaml.Node) bool {
	var around decodeError
	for _, value := range values {
		around |= m.of[value] &^ hasWrongType
	}
	last := len(f.Path)
	at := m.of[values[last]]
	switch f.Code {
	case codes.UnknownField:
		return around != 0
	case codes.WrongType:
		return around|at != 0
	case codes.BrokenRule: // the API server runs no rule on a value that holds a wrong type
		return (around|at)&^anyError != 0
	case codes.MissingField:
		if around&wrongType == 0 && last > 0 {
			name, _ := f.Path[last-1].Name()
			return nearest.Any(m.unknown[values[last-1]], []string{name})
		}
		return around&wrongType != 0
	case codes.BadValue:
		return around&wrongType != 0
	}
	return false
}
