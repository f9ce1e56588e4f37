package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/trainweld/trainweld/fieldpath/printable"
)

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
