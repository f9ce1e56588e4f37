package encode

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// JSON writes the value as JSON, with four spaces of indentation per level. It returns an error for a value that nests too deep.
func JSON(b *bytes.Buffer, v *Value) error {
	var line bytes.Buffer
	(&Writer{Buffer: &line}).Inline(v, true, true)
	return json.Indent(b, line.Bytes(), "", "    ")
}

// Quoted writes a string in JSON, which is also valid YAML.
func Quoted(b *bytes.Buffer, s string) {
	start := b.Len()
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)  // keep a command such as "a && b" readable
	if encoder.Encode(s) == nil { // encoding a string cannot fail
		b.Truncate(b.Len() - 1) // the line break
	}
	// YAML reads these as line breaks or rejects them. JSON may escape them.
	written := b.Bytes()[start:]
	if bytes.ContainsFunc(written, isSpecial) {
		escaped := make([]byte, 0, len(written)+16)
		for _, r := range string(written) {
			if isSpecial(r) {
				escaped = append(escaped, '\\', 'u')
				for shift := 12; shift >= 0; shift -= 4 {
					escaped = append(escaped, "0123456789abcdef"[r>>shift&0xF])
				}
			} else {
				escaped = utf8.AppendRune(escaped, r)
			}
		}
		b.Truncate(start)
		b.Write(escaped)
	}
}

// isSpecial recognizes special characters below U+10000: unprintable to YAML, YAML's line breaks, invisible, or changing the
// writing direction. JSON's encoder has escaped all below the space.
func isSpecial(r rune) bool {
	return 0xAD <= r && r <= 0xFFFF && unicode.Is(unicode.Cf, r) || 0x7F <= r && r <= 0x9F || r == 0xFEFF || r == 0xFFFE || r == 0xFFFF || r == '\u2028' || r == '\u2029'
}

// Writer writes values as YAML in block style. With the zero Lists, it writes like kubectl, without indentation of lists below
// their keys.
type Writer struct {
	*bytes.Buffer
	Lists int // the indentation of lists below their keys
}

// YAML writes a document in kubectl's style.
func YAML(b *bytes.Buffer, v *Value) {
	if len(v.Entries) == 0 {
		b.WriteString("{}\n")
		return
	}
	(&Writer{Buffer: b}).Entries(v, 0)
}

// Indent writes n spaces.
func (w *Writer) Indent(n int) {
	for range n {
		w.WriteByte(' ')
	}
}

// Entries writes an object's entries on lines indented by n. The first starts at the cursor.
func (w *Writer) Entries(v *Value, n int) {
	for i, m := range v.Entries {
		if i > 0 {
			w.Indent(n)
		}
		w.Comments(m.Value.Note.before(), n)
		if w.key(m.Key, m.Value.Note) {
			w.WriteByte('\n')
			w.Indent(n)
		}
		w.WriteByte(':')
		switch {
		case m.Value.Note.isFlow():
			w.WriteByte(' ')
			w.Inline(m.Value, true, false)
			w.endLine(m.Value.Note)
		case m.Value.Kind == Object && len(m.Value.Entries) > 0:
			w.endLine(m.Value.Note)
			w.Indent(n + 2)
			w.Entries(m.Value, n+2)
		case m.Value.Kind == Array && len(m.Value.Items) > 0:
			w.endLine(m.Value.Note)
			w.Indent(n + w.Lists)
			w.items(m.Value, n+w.Lists)
		default:
			w.WriteByte(' ')
			w.scalar(m.Value, n+2)
		}
		w.after(m.Value.Note, n)
	}
}

// items writes an array's items on lines indented by n. The first starts at the cursor.
func (w *Writer) items(v *Value, n int) {
	for i, item := range v.Items {
		if i > 0 {
			w.Indent(n)
		}
		w.Comments(item.Note.before(), n)
		w.WriteString("- ")
		switch {
		case item.Note.isFlow():
			w.Inline(item, true, false)
			w.endLine(item.Note)
		case item.Kind == Object && len(item.Entries) > 0:
			w.Entries(item, n+2)
		case item.Kind == Array && len(item.Items) > 0:
			w.items(item, n+2)
		default:
			w.scalar(item, n+2)
		}
		w.after(item.Note, n)
	}
}

// before and after handle the comments around a value.
func (n *Note) before() []string {
	if n == nil {
		return nil
	}
	return n.Head
}

func (n *Note) isFlow() bool { return n != nil && n.IsFlow }

func (w *Writer) after(note *Note, n int) {
	if note == nil {
		return
	}
	for _, line := range note.Foot {
		w.Indent(n)
		w.WriteString(line + "\n")
	}
}

// Comments writes comment lines at the cursor, and indents the next line by n.
func (w *Writer) Comments(lines []string, n int) {
	for _, line := range lines {
		w.WriteString(line + "\n")
		w.Indent(n)
	}
}

// endLine ends a line with its comment.
func (w *Writer) endLine(n *Note) {
	if n != nil && n.Line != "" {
		w.WriteString(" " + n.Line)
	}
	w.WriteByte('\n')
}

// longestKey is the length from which YAML requires "?" before a key, because readers search 1024 characters for the colon.
const longestKey = 1000

// key writes a key, and reports whether it needs "?".
func (w *Writer) key(key string, n *Note) (announced bool) {
	start := w.Len()
	switch {
	case n != nil && n.HasKey:
		w.styled(key, n.Key)
	case isPlain(key):
		w.WriteString(key)
	default:
		w.quoted(key)
	}
	if w.Len()-start < longestKey {
		return false
	}
	written := string(w.Bytes()[start:])
	w.Truncate(start)
	w.WriteString("? ")
	w.WriteString(written)
	return true
}

// scalar writes a value on one line, or as a literal block indented by n, and ends the line.
func (w *Writer) scalar(v *Value, n int) {
	switch {
	case v.Kind == Object:
		w.WriteString("{}")
	case v.Kind == Array:
		w.WriteString("[]")
	case v.Kind == Literal:
		w.WriteString(v.Text)
	case v.Note != nil && v.Note.HasText && !strings.ContainsFunc(v.Text, isSpecial):
		w.styled(v.Text, v.Note.Text)
	case isPlain(v.Text):
		w.WriteString(v.Text)
	case isBlock(v.Text):
		w.block(v.Text, n)
		return
	default:
		w.quoted(v.Text)
	}
	w.endLine(v.Note)
}

// styled writes a string of one line in its original quotes.
func (w *Writer) styled(s string, style yaml.Style) {
	switch style {
	case yaml.SingleQuotedStyle:
		w.WriteString("'" + strings.ReplaceAll(s, "'", "''") + "'")
	case yaml.DoubleQuotedStyle:
		Quoted(w.Buffer, s)
	default:
		w.WriteString(s)
	}
}

// quoted writes a string in the quotes with fewer escapes.
func (w *Writer) quoted(s string) {
	if strings.ContainsAny(s, `"\`) && !strings.Contains(s, "'") && IsOneLine(s) {
		w.WriteByte('\'')
		w.WriteString(s)
		w.WriteByte('\'')
		return
	}
	Quoted(w.Buffer, s)
}

// IsOneLine reports whether a string fits on one line unescaped.
func IsOneLine(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || isSpecial(r) || !unicode.IsPrint(r) })
}

// isBlock reports whether a string can be a literal block. It must have several lines and valid characters, and its first line
// must show the indentation.
func isBlock(s string) bool {
	if !strings.Contains(s, "\n") || s[0] == ' ' || s[0] == '\n' || s[0] == '\t' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || isSpecial(r) || r == utf8.RuneError
	})
}

func (w *Writer) block(s string, n int) {
	body := strings.TrimRight(s, "\n")
	switch len(s) - len(body) {
	case 0:
		w.WriteString("|-\n")
	case 1:
		w.WriteString("|\n")
	default:
		w.WriteString("|+\n")
		body = s[:len(s)-1]
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			w.Indent(n)
			w.WriteString(line)
		}
		w.WriteByte('\n')
	}
}
