package page

import (
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/printable"
)

// Body is a part of a page. Its methods append elements, and escape every string. They write
// control characters as the reports for terminals do. Names of elements and attributes are
// constants of this program.
type Body struct {
	b    []byte
	open []string
}

// Attr is an attribute of an element. The zero value adds nothing.
type Attr struct{ Name, Value string }

// Class returns the attribute for classes.
func Class(names string) Attr { return Attr{"class", names} }

// ID returns the attribute that a link to the element names.
func ID(id string) Attr { return Attr{"id", id} }

// If returns the attribute under a condition.
func If(condition bool, a Attr) Attr {
	if condition {
		return a
	}
	return Attr{}
}

// Open starts an element. Close ends it.
func (b *Body) Open(tag string, attrs ...Attr) {
	b.start(tag, attrs)
	b.open = append(b.open, tag)
}

// Close ends the element that was opened last.
func (b *Body) Close() {
	last := len(b.open) - 1
	b.b = append(append(append(b.b, "</"...), b.open[last]...), ">\n"...)
	b.open = b.open[:last]
}

// Text appends text.
func (b *Body) Text(text string) {
	b.b = append(b.b, escape(printable.String(text))...)
}

// Words appends text for people. A word with a hyphen, such as a flag or a name, goes to the next
// line as a whole where a line holds it, and a long path breaks before a step.
func (b *Body) Words(text string) {
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			b.b = append(b.b, ' ')
		}
		shown := escape(printable.String(word))
		switch {
		case len(word) > longWord:
			shown = broken(shown)
		case strings.Contains(shown, "-"):
			shown = whole(shown)
		}
		b.b = append(b.b, shown...)
	}
}

// whole keeps a word on one line, or else its parts between slashes.
func whole(word string) string {
	parts := strings.SplitAfter(word, "/")
	for i, part := range parts {
		if len(parts) > 1 && strings.Contains(part, "-") {
			parts[i] = "<i>" + part + "</i>"
		}
	}
	return "<i>" + strings.Join(parts, "") + "</i>"
}

// longWord is the length of words that a narrow window breaks.
const longWord = 40

// broken offers line breaks before the steps of a path, with shortStep characters between two.
func broken(word string) string {
	const shortStep = 16
	var b strings.Builder
	last := 0
	for i := range len(word) {
		isStep := word[i] == '.' || word[i] == '[' || i > 0 && word[i-1] == '/'
		if isStep && i-last >= shortStep {
			b.WriteString(word[last:i] + "<wbr>")
			last = i
		}
	}
	return b.String() + word[last:]
}

// Add appends an element that holds text only.
func (b *Body) Add(tag, text string, attrs ...Attr) {
	b.start(tag, attrs)
	switch tag {
	case "title", "mark", "b", "i":
		b.Text(text) // in a line of an object, or in a source line
	default:
		b.Words(text)
	}
	b.b = append(append(append(b.b, "</"...), tag...), '>')
}

// Void appends a start tag only. Use it for elements without content, such as input, and without a
// required end tag, such as tr.
func (b *Body) Void(tag string, attrs ...Attr) { b.start(tag, attrs) }

// Cell appends an element with text and without its end tag. HTML does not require this tag for
// cells of tables and items of lists.
func (b *Body) Cell(tag, text string, attrs ...Attr) {
	b.start(tag, attrs)
	if tag == "li" {
		b.Text(text) // a line of an object
	} else {
		b.Words(text)
	}
	b.b = append(b.b, '\n')
}

// Table opens a table with a caption and the headers of its columns. Close its body and the table.
func (b *Body) Table(caption string, headers ...string) {
	b.Open("table", Class("list"))
	b.Add("caption", caption)
	b.Open("thead")
	b.Open("tr")
	for _, header := range headers {
		b.Add("th", header, Attr{"scope", "col"})
	}
	b.Close()
	b.Close()
	b.Open("tbody")
}

// List appends a list of texts.
func (b *Body) List(items []string) {
	b.Open("ul")
	for _, item := range items {
		b.Add("li", item)
	}
	b.Close()
}

// Break appends a line end to the source of the page. Only preformatted text shows it.
func (b *Body) Break() { b.b = append(b.b, '\n') }

func (b *Body) start(tag string, attrs []Attr) {
	b.b = append(append(b.b, '<'), tag...)
	for _, a := range attrs {
		if a.Name == "" {
			continue
		}
		b.b = append(append(b.b, ' '), a.Name...)
		switch {
		case a.Value == "":
		case isPlain(a.Value):
			b.b = append(append(b.b, '='), a.Value...)
		case !strings.Contains(a.Value, "'"):
			b.b = append(append(append(b.b, "='"...), escape(printable.String(a.Value))...), '\'')
		default:
			b.b = append(
				append(append(b.b, `="`...),
					strings.ReplaceAll(escape(printable.String(a.Value)), `"`, "&quot;")...), '"')
		}
	}
	b.b = append(b.b, '>')
}

// escape escapes the characters with a meaning in text, which end no attribute.
func escape(text string) string {
	if !strings.ContainsAny(text, "&<>") {
		return text
	}
	return strings.ReplaceAll(
		strings.ReplaceAll(strings.ReplaceAll(text, "&", "&amp;"), "<", "&lt;"), ">", "&gt;")
}

// isPlain reports whether an attribute needs no quotes. Pages are a fifth smaller without them.
func isPlain(value string) bool {
	for i := range len(value) {
		switch c := value[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_',
			c == '.', c == ':', c == '#':
		default:
			return false
		}
	}
	return true
}

// ClaimRow is a row of a table of claims: a layer with its value and its place.
type ClaimRow struct {
	Layer, Value, Place string
	// Mark tells why the claim wins, or is empty.
	Mark string
}

// Claims appends a table of the claims on a field, with a caption unless it is empty.
func (b *Body) Claims(layers *Layers, caption string, claims []ClaimRow, attrs ...Attr) {
	b.Open("table", append([]Attr{Class("claims")}, attrs...)...)
	if caption != "" {
		b.Void("caption")
		// without an end tag, and without the tags of the only group of rows, which HTML does not
		// require
		b.Words(caption)
	}
	for _, c := range claims {
		b.Void("tr", If(c.Mark != "", Class("wins")))
		b.Cell("th", c.Layer, If(c.Layer != "", Class(layers.Class(c.Layer))))
		b.Cell("td", c.Value)
		b.Cell("td", c.Place)
		if c.Mark != "" {
			b.Cell("td", c.Mark)
		}
	}
	b.Close()
}
