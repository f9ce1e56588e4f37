package manifest

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// writeJSON writes the value as JSON, indented by four spaces a level.
func writeJSON(b *bytes.Buffer, v *value, level int) {
	line := func(level int) {
		b.WriteByte('\n')
		for range level {
			b.WriteString("    ")
		}
	}
	switch {
	case v.kind == text:
		writeQuoted(b, v.text)
	case v.kind == literal:
		b.WriteString(v.text)
	case v.kind == array && len(v.items) == 0:
		b.WriteString("[]")
	case v.kind == object && len(v.entries) == 0:
		b.WriteString("{}")
	case v.kind == array:
		b.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				b.WriteByte(',')
			}
			line(level + 1)
			writeJSON(b, item, level+1)
		}
		line(level)
		b.WriteByte(']')
	default:
		b.WriteByte('{')
		for i, m := range v.entries {
			if i > 0 {
				b.WriteByte(',')
			}
			line(level + 1)
			writeQuoted(b, m.key)
			b.WriteString(": ")
			writeJSON(b, m.value, level+1)
		}
		line(level)
		b.WriteByte('}')
	}
}

// writeQuoted writes a JSON string, which is also a YAML one.
func writeQuoted(b *bytes.Buffer, s string) {
	start := b.Len()
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)  // a command of "a && b" is to be read
	if encoder.Encode(s) == nil { // a string cannot fail
		b.Truncate(b.Len() - 1) // the line break
	}
	// YAML takes these for line breaks or refuses them, and JSON allows to escape them.
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

// isSpecial finds the characters below U+10000 that are not printable to YAML, that it reads as line breaks, or that turn
// the direction of writing or do not show. JSON's encoder has escaped those below the space.
func isSpecial(r rune) bool {
	return 0xAD <= r && r <= 0xFFFF && unicode.Is(unicode.Cf, r) || 0x7F <= r && r <= 0x9F || r == 0xFEFF || r == 0xFFFE || r == 0xFFFF || r == '\u2028' || r == '\u2029'
}

// yamlWriter writes values as YAML in block style. Its zero value but for the buffer is kubectl's style: lists are not
// indented below their key.
type yamlWriter struct {
	*bytes.Buffer
	lists int // how far lists are indented below their key
}

// writeYAML writes a document in kubectl's style.
func writeYAML(b *bytes.Buffer, v *value) {
	if len(v.entries) == 0 {
		b.WriteString("{}\n")
		return
	}
	(&yamlWriter{Buffer: b}).entries(v, 0)
}

func (w *yamlWriter) indent(n int) {
	for range n {
		w.WriteByte(' ')
	}
}

// entries writes an object's entries, each on a line indented by n, but the first where the cursor is.
func (w *yamlWriter) entries(v *value, n int) {
	for i, m := range v.entries {
		if i > 0 {
			w.indent(n)
		}
		w.comments(m.value.note.before(), n)
		if w.key(m.key, m.value.note) {
			w.WriteByte('\n')
			w.indent(n)
		}
		w.WriteByte(':')
		switch {
		case m.value.kind == object && len(m.value.entries) > 0:
			w.endLine(m.value.note)
			w.indent(n + 2)
			w.entries(m.value, n+2)
		case m.value.kind == array && len(m.value.items) > 0:
			w.endLine(m.value.note)
			w.indent(n + w.lists)
			w.items(m.value, n+w.lists)
		default:
			w.WriteByte(' ')
			w.scalar(m.value, n+2)
		}
		w.after(m.value.note, n)
	}
}

// items writes an array's items, each on a line indented by n, but the first where the cursor is.
func (w *yamlWriter) items(v *value, n int) {
	for i, item := range v.items {
		if i > 0 {
			w.indent(n)
		}
		w.comments(item.note.before(), n)
		w.WriteString("- ")
		switch {
		case item.kind == object && len(item.entries) > 0:
			w.entries(item, n+2)
		case item.kind == array && len(item.items) > 0:
			w.items(item, n+2)
		default:
			w.scalar(item, n+2)
		}
		w.after(item.note, n)
	}
}

// before and after are the comments around a value.
func (n *note) before() []string {
	if n == nil {
		return nil
	}
	return n.head
}

func (w *yamlWriter) after(note *note, n int) {
	if note == nil {
		return
	}
	for _, line := range note.foot {
		w.indent(n)
		w.WriteString(line + "\n")
	}
}

// comments writes lines where the cursor is, and brings it to the same column below them.
func (w *yamlWriter) comments(lines []string, n int) {
	for _, line := range lines {
		w.WriteString(line + "\n")
		w.indent(n)
	}
}

// endLine ends a line, with its comment.
func (w *yamlWriter) endLine(n *note) {
	if n != nil && n.line != "" {
		w.WriteString(" " + n.line)
	}
	w.WriteByte('\n')
}

// longestKey is the length from which YAML wants a key announced: its readers look ahead 1024
// characters for the colon.
const longestKey = 1000

// key writes a key and says whether it had to be announced by "?".
func (w *yamlWriter) key(key string, n *note) (announced bool) {
	start := w.Len()
	switch {
	case n != nil && n.hasKey:
		w.styled(key, n.key)
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

// scalar writes a value that is one line, or a literal block whose lines are indented by n, and ends the line.
func (w *yamlWriter) scalar(v *value, n int) {
	switch {
	case v.kind == object:
		w.WriteString("{}")
	case v.kind == array:
		w.WriteString("[]")
	case v.kind == literal:
		w.WriteString(v.text)
	case v.note != nil && v.note.hasText && !strings.ContainsFunc(v.text, isSpecial):
		w.styled(v.text, v.note.text)
	case isPlain(v.text):
		w.WriteString(v.text)
	case isBlock(v.text):
		w.block(v.text, n)
		return
	default:
		w.quoted(v.text)
	}
	w.endLine(v.note)
}

// styled writes a text of one line in the quotes that it had.
func (w *yamlWriter) styled(s string, style yaml.Style) {
	switch style {
	case yaml.SingleQuotedStyle:
		w.WriteString("'" + strings.ReplaceAll(s, "'", "''") + "'")
	case yaml.DoubleQuotedStyle:
		writeQuoted(w.Buffer, s)
	default:
		w.WriteString(s)
	}
}

// quoted writes a string in the quotes that need fewer escapes.
func (w *yamlWriter) quoted(s string) {
	if strings.ContainsAny(s, `"\`) && !strings.Contains(s, "'") && isOneLine(s) {
		w.WriteByte('\'')
		w.WriteString(s)
		w.WriteByte('\'')
		return
	}
	writeQuoted(w.Buffer, s)
}

func isOneLine(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || isSpecial(r) || !unicode.IsPrint(r) })
}

// isBlock says whether the text can be a literal block: several lines, the first of which shows the
// indentation, and nothing that a block cannot hold.
func isBlock(s string) bool {
	if !strings.Contains(s, "\n") || s[0] == ' ' || s[0] == '\n' || s[0] == '\t' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || isSpecial(r) || r == utf8.RuneError
	})
}

func (w *yamlWriter) block(s string, n int) {
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
			w.indent(n)
			w.WriteString(line)
		}
		w.WriteByte('\n')
	}
}
