package encode

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// JSON writes the value as JSON, with four spaces of indentation per level. It returns an error for
// a value that nests too deep.
func JSON(b *bytes.Buffer, v *Value) error {
	var line bytes.Buffer
	inline(&line, v)
	return json.Indent(b, line.Bytes(), "", "    ")
}

// inline writes a value as JSON on one line.
func inline(b *bytes.Buffer, v *Value) {
	switch v.Kind {
	case Text:
		Quoted(b, v.Text)
	case Array:
		b.WriteByte('[')
		for i, item := range v.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			inline(b, item)
		}
		b.WriteByte(']')
	case Object:
		b.WriteByte('{')
		for i, m := range v.Entries {
			if i > 0 {
				b.WriteByte(',')
			}
			Quoted(b, m.Key)
			b.WriteByte(':')
			inline(b, m.Value)
		}
		b.WriteByte('}')
	default:
		b.WriteString(v.Text)
	}
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

// isSpecial recognizes special characters below U+10000: unprintable to YAML, YAML's line breaks,
// invisible, or changing the writing direction. JSON's encoder has escaped all below the space.
func isSpecial(r rune) bool {
	return 0xAD <= r && r <= 0xFFFF && unicode.Is(unicode.Cf, r) || 0x7F <= r && r <= 0x9F ||
		r == 0xFEFF || r == 0xFFFE || r == 0xFFFF || r == '\u2028' || r == '\u2029'
}

// writer writes values as YAML in block style, like kubectl: without indentation of lists below
// their keys.
type writer struct{ *bytes.Buffer }

// YAML writes a document in kubectl's style.
func YAML(b *bytes.Buffer, v *Value) {
	if len(v.Entries) == 0 {
		b.WriteString("{}\n")
		return
	}
	writer{b}.entries(v, 0)
}

// indent writes n spaces.
func (w writer) indent(n int) {
	for range n {
		w.WriteByte(' ')
	}
}

// entries writes an object's entries on lines indented by n. The first starts at the cursor.
func (w writer) entries(v *Value, n int) {
	for i, m := range v.Entries {
		if i > 0 {
			w.indent(n)
		}
		if w.key(m.Key) {
			w.WriteByte('\n')
			w.indent(n)
		}
		w.WriteByte(':')
		switch {
		case m.Value.Kind == Object && len(m.Value.Entries) > 0:
			w.WriteByte('\n')
			w.indent(n + 2)
			w.entries(m.Value, n+2)
		case m.Value.Kind == Array && len(m.Value.Items) > 0:
			w.WriteByte('\n')
			w.indent(n)
			w.items(m.Value, n)
		default:
			w.WriteByte(' ')
			w.scalar(m.Value, n+2)
		}
	}
}

// items writes an array's items on lines indented by n. The first starts at the cursor.
func (w writer) items(v *Value, n int) {
	for i, item := range v.Items {
		if i > 0 {
			w.indent(n)
		}
		w.WriteString("- ")
		switch {
		case item.Kind == Object && len(item.Entries) > 0:
			w.entries(item, n+2)
		case item.Kind == Array && len(item.Items) > 0:
			w.items(item, n+2)
		default:
			w.scalar(item, n+2)
		}
	}
}

// longestKey is the length from which YAML requires "?" before a key, because readers search 1024
// characters for the colon.
const longestKey = 1000

// key writes a key, and reports whether it needs "?".
func (w writer) key(key string) (announced bool) {
	start := w.Len()
	switch {
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
func (w writer) scalar(v *Value, n int) {
	switch {
	case v.Kind == Object:
		w.WriteString("{}")
	case v.Kind == Array:
		w.WriteString("[]")
	case v.Kind == Literal:
		w.WriteString(v.Text)
	case isPlain(v.Text):
		w.WriteString(v.Text)
	case isBlock(v.Text):
		w.block(v.Text, n)
		return
	default:
		w.quoted(v.Text)
	}
	w.WriteByte('\n')
}

// quoted writes a string in the quotes with fewer escapes.
func (w writer) quoted(s string) {
	if strings.ContainsAny(s, `"\`) && !strings.Contains(s, "'") && isOneLine(s) {
		w.WriteByte('\'')
		w.WriteString(s)
		w.WriteByte('\'')
		return
	}
	Quoted(w.Buffer, s)
}

// isOneLine reports whether a string fits on one line unescaped.
func isOneLine(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || isSpecial(r) || !unicode.IsPrint(r)
	})
}

// isBlock reports whether a string can be a literal block. It must have several lines and valid
// characters, and its first line must show the indentation.
func isBlock(s string) bool {
	if !strings.Contains(s, "\n") || s[0] == ' ' || s[0] == '\n' || s[0] == '\t' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || isSpecial(r) || r == utf8.RuneError
	})
}

func (w writer) block(s string, n int) {
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
