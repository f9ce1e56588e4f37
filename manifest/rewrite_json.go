package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/manifest/internal/encode"
)

// json rewrites the members of the object: JSON has no comments, and the rest of the text stays as it is.
func (w *rewriter) json() ([]Edit, error) {
	s := w.document.source
	at := 0
	for _, step := range w.Parent {
		name, _ := step.Field()
		members := membersAt(s.text, at)
		i := slices.IndexFunc(members, func(m jsonMember) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%s is not there", w.Parent)
		}
		at = members[i].value
	}
	members := membersAt(s.text, at)
	if len(members) == 0 {
		return nil, fmt.Errorf("%s is not there", w.Parent)
	}
	place := w.place(func(name string) bool {
		return slices.ContainsFunc(members, func(m jsonMember) bool { return m.name == name })
	})
	var out bytes.Buffer
	for i, m := range members {
		text := s.text[m.start:m.end]
		switch {
		case m.name == place && w.value != nil:
			text = w.jsonMember(s.text, at, m)
		case slices.Contains(w.Remove, m.name):
			continue
		}
		if out.Len() > 0 && i > 0 {
			out.Write(s.text[members[i-1].end:m.start]) // the comma, and the space around it
		}
		out.Write(text)
	}
	return []Edit{{s.offset + members[0].start, s.offset + members[len(members)-1].end, out.Bytes()}}, nil
}

// jsonMember is the new member, on one line or on several, as the object has its members.
func (w *rewriter) jsonMember(text []byte, object int, m jsonMember) []byte {
	var key, value, out bytes.Buffer
	encode.Quoted(&key, w.Field)
	encode.JSON(&value, w.value, 0)
	if bytes.IndexByte(text[object:m.start], '\n') < 0 {
		_ = json.Compact(&out, value.Bytes()) // what writeJSON writes is JSON
		return append(append(key.Bytes(), ": "...), out.Bytes()...)
	}
	prefix := indentOf(text, m.start)
	indent := strings.TrimPrefix(prefix, indentOf(text, object))
	_ = json.Indent(&out, value.Bytes(), prefix, indent)
	return append(append(key.Bytes(), ": "...), out.Bytes()...)
}

// indentOf is the white space before the text of the line that holds the offset.
func indentOf(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}
