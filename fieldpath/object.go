package fieldpath

import (
	"fmt"
	"strings"

	"github.com/trainweld/trainweld/fieldpath/printable"
)

// Object identifies the object of a Finding.
type Object struct {
	Kind, Namespace, Name string
}

// String returns "TrainJob team-a/llm", "ClusterTrainingRuntime torch" without a namespace, or
// "TrainJob" without a name.
func (o Object) String() string {
	name := o.Name
	if o.Namespace != "" && name != "" {
		name = o.Namespace + "/" + o.Name
	}
	return strings.TrimSpace(o.Kind + " " + name)
}

// MarshalText encodes the object as String does.
func (o Object) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Position is a place in an input file. Lines and columns count from 1; columns count characters.
// The zero Position is unknown, as for values that do not come from a file.
type Position struct {
	File   string
	Line   int
	Column int
}

// String returns the known part of "file:line:column". A file with control characters in its name
// is quoted as git does.
func (p Position) String() string {
	file := printable.Name(p.File)
	switch {
	case p.Line == 0:
		return file
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", file, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
	}
}
