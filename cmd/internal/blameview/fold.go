package blameview

import (
	"fmt"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/cmd/internal/page"
)

const (
	// mostBytes is the size of the objects of a page. A page that would be larger folds lines.
	mostBytes = 4_800_000
	// leastFolded is the smallest number of lines that a page folds into one.
	leastFolded = 3
)

// folding folds runs of lines of one layer. Nil folds nothing.
type folding struct {
	// shown holds the runs that the page has shown, with the first object that has each run. Two
	// runs are equal if their strings, layers and positions are.
	shown map[string]*pageObject
	// managersOnly also folds lines without a history that no manager sets.
	managersOnly bool
}

// A fold replaces a run of lines by their number. It links to an earlier object with the same run,
// if there is one.
type fold struct {
	lines int
	first *pageObject
}

// foldings are the ways to make a page smaller, in their order.
func foldings() []*folding {
	return []*folding{nil, {shown: map[string]*pageObject{}},
		{shown: map[string]*pageObject{}, managersOnly: true}}
}

// note describes the folded lines. It is empty if the page shows every line.
func (s *folding) note() string {
	switch {
	case s == nil:
		return ""
	case s.isBrief():
		return "Many lines: the page folds lines that no manager sets. Select fewer TrainJobs to " +
			"see all lines."
	default:
		return "Many lines: the page folds the lines of earlier objects."
	}
}

// isBrief reports whether the page shows the values that lose once only, above the lines.
func (s *folding) isBrief() bool { return s != nil && s.managersOnly }

// hasHistory reports whether the page shows the history of a field. A brief page has none for items
// that several layers name.
func (s *folding) hasHistory(f *blame.Field) bool {
	return f.Disputed || !s.isBrief() || !f.IsPresence()
}

// of returns the folds of an object by the index of their first line, and remembers its other runs.
// It folds no line with a history, and no line that leads to a line behind the fold.
func (s *folding) of(o *pageObject, lines []blame.Line) map[int]fold {
	if s == nil {
		return nil
	}
	folds := map[int]fold{}
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && lines[to].Layer == lines[from].Layer {
			to++
		}
		start := from
		for i, keep := range append(s.kept(o, lines, from, to), true) {
			if !keep {
				continue
			}
			if end := from + i; end-start >= leastFolded {
				if f := s.fold(o, lines[start:end]); f.lines > 0 {
					folds[start] = f
				}
			}
			start = from + i + 1
		}
		from = to
	}
	return folds
}

// fold returns the fold of a run, or none.
func (s *folding) fold(o *pageObject, run []blame.Line) fold {
	key := keyOfLines(run)
	first, isShown := s.shown[key]
	if isShown && first != o {
		return fold{lines: len(run), first: first}
	}
	if _, isManager := run[0].Layer.Manager(); s.isBrief() && !isManager {
		return fold{lines: len(run)}
	}
	s.shown[key] = o
	return fold{}
}

// kept reports which lines of a run stay. Lines without a layer and lines with a history stay. So
// do lines that lead to one of them, or to the line behind the run.
func (s *folding) kept(o *pageObject, lines []blame.Line, from, to int) []bool {
	kept := make([]bool, to-from)
	limit := 0
	if to < len(lines) {
		limit = columnOf(lines[to])
	}
	for i := to - 1; i >= from; i-- {
		line := lines[i]
		_, isNumbered := o.number[line.Field]
		column := columnOf(line)
		switch {
		case line.Layer == "" || isNumbered && s.hasHistory(line.Field):
			kept[i-from] = true
			if !line.Continued {
				limit = column
			}
		case column < limit && !line.Continued:
			kept[i-from], limit = true, column
		}
	}
	return kept
}

// columnOf returns the column of a line for the comparison with the lines that it leads to. An item
// may start in the column of its list's field, so it counts as one column behind its dash.
func columnOf(line blame.Line) int {
	text := strings.TrimLeft(line.Text, " ")
	column := len(line.Text) - len(text)
	if strings.HasPrefix(text, "- ") {
		column++
	}
	return column
}

// keyOfLines returns a string that is the same for equal runs of lines.
func keyOfLines(lines []blame.Line) string {
	var b strings.Builder
	b.WriteString(string(lines[0].Layer))
	for _, line := range lines {
		b.WriteByte('\n')
		b.WriteString(line.Text)
		if at := line.Field.InForce(); at >= 0 && !line.Continued {
			b.WriteByte('\x00')
			b.WriteString(line.Field.Claims[at].Position.String())
		}
	}
	return b.String()
}

// folded appends a line that stands for others.
func (b *blamePage) folded(line blame.Line, name string, f fold) {
	b.Void("li", page.Class(strings.TrimSpace(b.layers.Class(string(line.Layer))+" same")))
	if name != "" {
		b.Add("b", name)
	}
	text := line.Text[:len(line.Text)-len(strings.TrimLeft(line.Text, " "))] +
		fmt.Sprintf("… %d lines", f.lines)
	if f.first != nil {
		b.Text(text + " as in ")
		b.Add("a", f.first.title(), page.Attr{Name: "href", Value: "#" + f.first.id})
	} else {
		b.Text(text)
	}
	b.Break()
}
