package fieldpath

import (
	"fmt"
	"strings"
)

// Object names the object that a Finding is about.
type Object struct {
	Kind, Namespace, Name string
}

// String is "TrainJob team-a/llm", or "ClusterTrainingRuntime torch" where there is no namespace.
func (o Object) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + o.Name
	}
	return strings.TrimSpace(o.Kind + " " + name)
}

// MarshalText writes String.
func (o Object) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Position is a place in an input file. Lines and columns count from 1; columns count characters.
// The zero Position means that the place is not known, as for values that came from no file.
type Position struct {
	File   string
	Line   int
	Column int
}

// String is "file:line:column", as much of it as is known.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}
