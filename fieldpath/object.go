package fieldpath

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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

// String returns the known part of "file:line:column". It quotes a name with characters that do not
// show.
func (p Position) String() string {
	file := p.File
	isHidden := func(r rune) bool { return !unicode.IsGraphic(r) }
	if !utf8.ValidString(file) || strings.ContainsFunc(file, isHidden) {
		file = strconv.Quote(file)
	}
	switch {
	case p.Line == 0:
		return file
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", file, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
	}
}
