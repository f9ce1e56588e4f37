package blameview

import (
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/fieldpath"
)

// pathStack derives the path of a line from the indentation, as the script of a page does. A page
// writes only the steps that the text does not show. This keeps it small.
type pathStack struct{ open []openField }

// openField is a field whose lines may follow. An item is one column behind its dash.
type openField struct{ column, steps int }

// The script completes these steps from the text: a map's key, and an item that shows its merge key
// first.
const (
	keyStep  = "k"
	itemStep = "i"
)

// step returns the step to an item or a map's key, which the text of a line does not show. It
// returns "" for the field that the line names.
func (s *pathStack) step(line blame.Line) string {
	if line.Field == nil || line.Continued {
		return s.openWithoutHistory(line)
	}
	path := line.Field.Path
	dash := len(line.Text) - len(strings.TrimLeft(line.Text, " "))
	name := strings.TrimPrefix(line.Text[dash:], "- ")
	column := len(line.Text) - len(name)
	step := ""
	key, value, _ := strings.Cut(name, ": ")
	if column > dash {
		parent := s.below(dash + 1)
		if len(path) <= parent {
			return ""
		}
		if step = path[parent].String(); path[parent] == fieldpath.Item(key, value) {
			step = itemStep
		}
		s.open = append(s.open, openField{dash + 1, parent + 1})
	}
	parent := s.below(column)
	key = strings.TrimSuffix(key, ":")
	if len(path) > parent && step == "" && path[parent].String() != "."+key {
		if step = path[parent].String(); path[parent] == fieldpath.Key(key) {
			step = keyStep
		}
	}
	s.open = append(s.open, openField{column, parent + 1})
	return step
}

// openWithoutHistory opens the field of a line without a history, such as apiVersion.
func (s *pathStack) openWithoutHistory(line blame.Line) string {
	column := len(line.Text) - len(strings.TrimLeft(line.Text, " "))
	if !line.Continued {
		s.open = append(s.open, openField{column, s.below(column) + 1})
	}
	return ""
}

// below closes the fields from a column on, and returns the number of steps to the innermost open
// one.
func (s *pathStack) below(column int) int {
	for len(s.open) > 0 && s.open[len(s.open)-1].column >= column {
		s.open = s.open[:len(s.open)-1]
	}
	if len(s.open) == 0 {
		return 0
	}
	return s.open[len(s.open)-1].steps
}
