package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/trainweld/trainweld/cmd/internal/printable"
)

// ellipsis stands for the omitted part of a string.
const ellipsis = "…"

// leastColumn is the width below which Fit narrows no column.
const leastColumn = 8

// Measure widens the columns of a table for the cells of a row.
func Measure(widths []int, cells []string) []int {
	widths = append(widths, make([]int, max(0, len(cells)-len(widths)))...)
	for i, cell := range cells {
		widths[i] = max(widths[i], Width(cell))
	}
	return widths
}

// Row returns the cells of a row in their columns, each with a gap behind it. It omits empty
// columns. The function paint adds colors to the first cell, if it is not nil.
func Row(cells []string, widths []int, gap int, paint func(string) string) string {
	var b strings.Builder
	for i, cell := range cells {
		if widths[i] == 0 {
			continue
		}
		cell = Shorten(cell, widths[i])
		text := cell
		if i == 0 && paint != nil {
			text = paint(cell)
		}
		b.WriteString(text + strings.Repeat(" ", widths[i]-Width(cell)+gap))
	}
	return b.String()
}

// Fit narrows the widest columns of a table until its rows fit into a terminal. A gap separates two
// columns. Fit keeps the widths if most is not positive, as for output of any width.
func Fit(widths []int, gap, most int) {
	if most <= 0 {
		return
	}
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > most; total-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= leastColumn {
			return
		}
		widths[widest]--
	}
}

// Shorten returns a printable string whose middle gives way to an ellipsis if the string is wider
// than its column. Names of Pods, managers and positions differ at their ends.
func Shorten(text string, most int) string {
	if Width(text) <= most {
		return text
	}
	runes := []rune(text)
	first, last := 0, len(runes)
	left := most - Width(ellipsis)
	for next := columnsOf(runes[first]); next <= (left+1)/2; next += columnsOf(runes[first]) {
		first++
	}
	left -= Width(string(runes[:first]))
	for next := columnsOf(runes[last-1]); next <= left; next += columnsOf(runes[last-1]) {
		last--
	}
	return string(runes[:first]) + ellipsis + string(runes[last:])
}

// Width returns the number of terminal columns of a string.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

// columnsOf returns the columns of a character: two for East Asian characters and emoji, none for
// combining marks. A tab counts with its largest width.
func columnsOf(r rune) int {
	switch {
	case ' ' <= r && r <= '~':
		return 1
	case r == '\t':
		return 8
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Printable makes a string safe for a terminal and for a line of a log, as all reports do. It
// writes control characters, line ends and characters that change the writing direction as Go
// escapes. It writes invalid UTF-8 as U+FFFD.
func Printable(text string) string { return printable.String(text) }

// Line is Printable for the start of a line, where workflow runners recognize commands.
func Line(text string) string { return printable.Line(text) }

// SchemaVersion is the version of the JSON reports and of their schemas in docs/json.
const SchemaVersion = 1

// EncodeReport is EncodeJSON for a report, an object with fields. The version of its schema comes
// first.
func EncodeReport(w io.Writer, report any) error {
	var b bytes.Buffer
	if err := EncodeJSON(&b, report); err != nil {
		return err
	}
	fields, _ := bytes.CutPrefix(b.Bytes(), []byte("{\n"))
	_, err := fmt.Fprintf(w, "{\n  \"schemaVersion\": %d,\n%s", SchemaVersion, fields)
	return err
}

// PrintableTabs is Line for a string that may have tabs.
func PrintableTabs(text string) string {
	parts := strings.Split(text, "\t")
	for i := range parts {
		parts[i] = Printable(parts[i])
	}
	first := len(text) - len(strings.TrimLeft(text, "\t"))
	parts[first] = Line(parts[first])
	return strings.Join(parts, "\t")
}
