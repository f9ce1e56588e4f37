package report

import "io"

// Printable makes text safe for a terminal and for a line of a log, as every report here does: control
// characters, ends of lines and what turns the direction of writing are written as the escapes of Go,
// and bytes that are no UTF-8 as U+FFFD.
func Printable(text string) string { return printable(text) }

// Line is Printable for text with which a line begins: runners of workflows take some for a command.
func Line(text string) string { return line(text) }

// Width returns how many columns of a terminal a text takes that is printable.
func Width(text string) int { return width(text) }

// EncodeJSON writes a value as the JSON reports are written: indented, nothing escaped for HTML, and
// characters that a terminal would act on as JSON's escapes.
func EncodeJSON(w io.Writer, value any) error { return encodeJSON(w, value) }
