package blameview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/page"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// row is a line of the output, before its columns are measured.
type row struct {
	name, origin, mark, text string
	layer                    merge.Owner
}

// lineCount counts the lines of a layer.
type lineCount struct {
	layer           merge.Owner
	lines, disputed int
}

// object writes a legend and the YAML of an object. Each line starts with the layer that set it.
func (t *blameText) object(s Selection) {
	t.colors = map[merge.Owner]string{runtimepatch.RuntimeLayer: dim}
	var rows []row
	var count []lineCount
	lines := s.Object.Lines()
	var losers []row
	for i, line := range lines {
		r := t.row(line)
		count = countLine(count, r)
		rows = append(rows, r)
		if r.mark == disputedMark {
			for _, text := range (overridden{t.opts.ShowValues, true}).on(line) {
				losers = append(losers, row{text: report.Printable(text)})
			}
		}
		// behind the value, which may have several lines
		if i+1 == len(lines) || !lines[i+1].Continued {
			rows, losers = append(rows, losers...), nil
		}
	}
	t.legend(s, rows, count)
	t.write(rows)
}

// row splits a line into its columns.
func (t *blameText) row(line blame.Line) row {
	r := row{text: report.Printable(line.Text), layer: line.Layer, name: layerName(line.Layer)}
	if line.Layer == runtimepatch.RuntimeLayer {
		r.name = quietMark
	}
	t.color(line.Layer)
	f := line.Field
	if f == nil || line.Continued {
		return r
	}
	if at := f.InForce(); at >= 0 {
		if n := f.Agree(); n > 0 && line.Layer != runtimepatch.RuntimeLayer {
			r.name += fmt.Sprintf("%s%d", agreeMark, n)
		}
		if t.opts.ShowOrigin {
			origin := f.Claims[at].Position
			origin.Column = 0
			r.origin = report.Printable(printable.Position(origin))
		}
		if f.Overrides() {
			r.mark = overridesMark
		}
	}
	if f.Disputed {
		r.mark = disputedMark
	}
	return r
}

func countLine(count []lineCount, r row) []lineCount {
	if r.layer == "" {
		return count
	}
	i := slices.IndexFunc(count, func(o lineCount) bool { return o.layer == r.layer })
	if i < 0 {
		i, count = len(count), append(count, lineCount{layer: r.layer})
	}
	count[i].lines++
	if r.mark == disputedMark {
		count[i].disputed++
	}
	return count
}

// overridden is what a comment on a disputed line shows of another layer.
type overridden struct{ values, places bool }

// on returns comments with the values of the other layers on a disputed line. The last manager wins
// over these layers.
func (show overridden) on(line blame.Line) []string {
	f := line.Field
	at := f.InForce()
	if at < 0 {
		return nil
	}
	indent := strings.Repeat(" ", len(line.Text)-len(strings.TrimLeft(line.Text, " -")))
	var comments []string
	for i, c := range f.Claims {
		if i == at || merge.SameValue(c.Value, f.Claims[at].Value) {
			continue
		}
		text := fmt.Sprintf("%s# %s set %s", indent, layerName(c.Owner),
			runtimepatch.FormatClaim(f.Path, c, show.values))
		if place := printable.Position(c.Position); show.places && place != "" {
			text += " at " + place
		}
		comments = append(comments, text)
	}
	if comments == nil {
		comments = append(
			comments, indent+
				"# managers set different members of one union: the merge keeps both, and the "+
				"cluster rejects it")
	}
	return comments
}

// write writes the rows in columns.
func (t *blameText) write(rows []row) {
	names, origins := 0, 0
	for _, r := range rows {
		names, origins = max(names, report.Width(r.name)), max(origins, report.Width(r.origin))
	}
	room := 0 // for the text
	if columns := t.screen.Columns; columns > 0 {
		names, origins = min(names, max(10, columns/3)), min(origins, max(10, columns/4))
		room = columns - names - 5
		if t.opts.ShowOrigin {
			room -= 2 + origins
		}
		room = max(room, 8)
	}
	before := row{}
	for _, r := range rows {
		name := r.name
		if t.screen.Terminal && name != quietMark && name == before.name &&
			r.layer == before.layer {
			name = "" // the bar continues in its color
		}
		before = r
		t.cell(name, names, t.colors[r.layer])
		if t.opts.ShowOrigin {
			fmt.Fprint(t.w, "  ")
			t.cell(r.origin, origins, dim)
		}
		mark := cmp.Or(r.mark, " ")
		if r.mark == disputedMark {
			mark = t.paint(alarm, mark)
		}
		fmt.Fprintf(t.w, " %s %s", mark, t.paint(t.colors[r.layer], "│"))
		if text := r.text; text != "" {
			if runes := []rune(text); room > 0 && len(runes) > room {
				text = string(runes[:room-1]) + "…"
			}
			if r.layer == runtimepatch.RuntimeLayer {
				text = t.paint(dim, text)
			}
			fmt.Fprint(t.w, " ", text)
		}
		fmt.Fprintln(t.w)
	}
}

// cell writes a column, shortened to its width or filled up.
func (t *blameText) cell(text string, width int, color string) {
	text = report.Shorten(text, width)
	fmt.Fprint(t.w, t.paint(color, text), strings.Repeat(" ", max(0, width-report.Width(text))))
}

// legend writes the owners of the lines, and the meaning of the marks that occur.
func (t *blameText) legend(s Selection, rows []row, count []lineCount) {
	fmt.Fprintln(t.w, t.paint(host.Bold, "# "+s.title()+", by who set each line"))
	slices.SortStableFunc(count, byRank)
	width := 0
	for _, o := range count {
		width = max(width, utf8.RuneCountInString(report.Printable(string(o.layer))))
	}
	for _, o := range count {
		text := report.Count(o.lines, "line")
		if o.layer == runtimepatch.RuntimeLayer {
			text += ", marked " + quietMark
		}
		if o.disputed > 0 {
			text += ", " + t.paint(alarm, fmt.Sprintf("%d disputed", o.disputed))
		}
		name := report.Printable(string(o.layer))
		fmt.Fprintf(t.w, "#   %s%s  %s\n", t.paint(t.colors[o.layer], name),
			strings.Repeat(" ", width-utf8.RuneCountInString(name)), text)
	}
	var marks []string
	for _, mark := range []struct{ sign, text string }{
		{disputedMark, " managers disagree"}, {overridesMark, " replaces another value"},
		{agreeMark, "N others set the same value"},
	} {
		if slices.ContainsFunc(rows, func(r row) bool {
			return r.mark == mark.sign ||
				mark.sign == agreeMark && strings.Contains(r.name, agreeMark)
		}) {
			marks = append(marks, strings.TrimSpace(mark.sign)+mark.text)
		}
	}
	if marks != nil {
		fmt.Fprintln(t.w, "# "+strings.Join(marks, "   "))
	}
}

// byRank compares the layers of two owners in the order of the legend.
func byRank(a, b lineCount) int { return page.Rank(string(a.layer)) - page.Rank(string(b.layer)) }
