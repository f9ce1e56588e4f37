package report

import (
	"fmt"

	"github.com/trainweld/trainweld/docs"
	"github.com/trainweld/trainweld/finding"
)

// prose is what there is to say of a finding besides its place, a line each, for formats that have a
// field for a text: the message, the object and the field, every claim, and what to do.
func (o Options) prose(f finding.Finding) []string {
	lines := []string{printable(f.Message)}
	if where := place(f); where != "" {
		lines = append(lines, "in "+printable(where))
	}
	for i, c := range claims(f) {
		line := printable(string(c.Layer)) + ": " + printable(o.value(f, c))
		if at := c.Position.String(); at != "" {
			line += fmt.Sprintf(" (%s)", printable(at))
		}
		if mark := mark(f, i); mark != "" {
			line += ", " + mark
		}
		lines = append(lines, line)
	}
	if Help(f) != "" {
		lines = append(lines, "help: "+printable(Help(f)))
	}
	return lines
}

// Help is what to do about a finding, in words of the command line.
func Help(f finding.Finding) string { return f.Remedy.Text }

// title is the code with what it means in a few words.
func title(code finding.Code) string {
	page, ok := docs.Of(code)
	if !ok {
		return string(code)
	}
	return string(code) + ": " + page.Title
}
