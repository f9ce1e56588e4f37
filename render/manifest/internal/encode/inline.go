package encode

import "strings"

// Inline writes a value on one line, and reports whether it could. In block style it writes only scalars and empty
// collections. In flow style it writes any value, without comments.
func (w *Writer) Inline(v *Value, flow, asJSON bool) bool {
	switch {
	case asJSON && v.Kind == Text:
		Quoted(w.Buffer, v.Text)
	case v.Kind == Literal:
		w.WriteString(v.Text)
	case v.Kind == Text:
		w.inlineText(v, flow)
	case v.Kind == Array && len(v.Items) == 0:
		w.WriteString("[]")
	case v.Kind == Object && len(v.Entries) == 0:
		w.WriteString("{}")
	case !flow:
		return false
	case v.Kind == Array:
		for i, item := range v.Items {
			w.WriteString([]string{"[", ", "}[min(i, 1)])
			w.Inline(item, true, asJSON)
		}
		w.WriteByte(']')
	default:
		for i, m := range v.Entries {
			w.WriteString([]string{"{", ", "}[min(i, 1)])
			key := &Value{Kind: Text, Text: m.Key}
			if n := m.Value.Note; n != nil && n.HasKey {
				key.Note = &Note{Text: n.Key, HasText: true}
			}
			w.Inline(key, true, asJSON)
			w.WriteString(": ")
			w.Inline(m.Value, true, asJSON)
		}
		w.WriteByte('}')
	}
	return true
}

// inlineText writes a string on one line.
func (w *Writer) inlineText(v *Value, flow bool) {
	switch {
	case v.Note != nil && v.Note.HasText && v.Note.Text != 0 && !strings.ContainsFunc(v.Text, isSpecial):
		w.styled(v.Text, v.Note.Text)
	case isPlain(v.Text) && !(flow && strings.ContainsAny(v.Text, ",[]{}:?#")):
		w.WriteString(v.Text)
	default:
		w.quoted(v.Text)
	}
}
