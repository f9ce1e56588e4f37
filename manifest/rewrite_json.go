package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/internal/jsontext"
	"github.com/trainweld/trainweld/manifest/internal/encode"
)

// json rewrites the members of a JSON object, and keeps the rest of the text.
func (w *rewriter) json() ([]Edit, error) {
	s := w.document.source
	at := 0
	for _, step := range w.Parent {
		name, _ := step.Field()
		members, _ := jsontext.Members(s.Text, at) // the text was decoded
		i := slices.IndexFunc(members, func(m jsontext.Member) bool { return m.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%s is not there", w.Parent)
		}
		at = members[i].Value
	}
	members, _ := jsontext.Members(s.Text, at)
	if len(members) == 0 {
		return nil, fmt.Errorf("%s is not there", w.Parent)
	}
	place := w.place(func(name string) bool {
		return slices.ContainsFunc(members, func(m jsontext.Member) bool { return m.Name == name })
	})
	var out bytes.Buffer
	for i, m := range members {
		text := s.Text[m.Start:m.End]
		switch {
		case m.Name == place && w.value != nil:
			text = w.jsonMember(s.Text, at, m)
		case slices.Contains(w.Remove, m.Name):
			continue
		}
		if out.Len() > 0 && i > 0 {
			out.Write(s.Text[members[i-1].End:m.Start]) // the comma, and the space around it
		}
		out.Write(text)
	}
	return []Edit{{s.Offset + members[0].Start, s.Offset + members[len(members)-1].End, out.Bytes()}}, nil
}

// jsonMember returns the new member on one line or on several, in the style of the object.
func (w *rewriter) jsonMember(text []byte, object int, m jsontext.Member) []byte {
	var key, value, out bytes.Buffer
	encode.Quoted(&key, w.Field)
	encode.JSON(&value, w.value, 0)
	if bytes.IndexByte(text[object:m.Start], '\n') < 0 {
		_ = json.Compact(&out, value.Bytes()) // encode.JSON writes valid JSON
		return append(append(key.Bytes(), ": "...), out.Bytes()...)
	}
	prefix := indentOf(text, m.Start)
	indent := strings.TrimPrefix(prefix, indentOf(text, object))
	_ = json.Indent(&out, value.Bytes(), prefix, indent)
	return append(append(key.Bytes(), ": "...), out.Bytes()...)
}

// indentOf returns the white space at the start of the offset's line.
func indentOf(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}
