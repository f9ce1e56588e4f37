// Package jsontext finds the members of objects and the elements of arrays in a JSON text. An edit can then keep every other byte.
//
//	members, err := jsontext.Members(text, 0)
//	for _, m := range members {
//		fmt.Printf("%s: %s\n", m.Name, text[m.Value:m.End])
//	}
package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Member is the range of an object's member in a text, from its key to the end of its value. The element of an array has no name,
// and begins with its value.
type Member struct {
	Name              string
	Start, Value, End int
}

// Members returns the members of the object at an offset of a text. White space may precede the object. Members
// returns an error if the text is not JSON, or the value is not an object.
func Members(text []byte, at int) ([]Member, error) { return readMembers(text, at, '{') }

// Elements returns the elements of the array at an offset of a text, as Members does for an object.
func Elements(text []byte, at int) ([]Member, error) { return readMembers(text, at, '[') }

func readMembers(text []byte, at int, open json.Delim) ([]Member, error) {
	if at < 0 || at > len(text) {
		return nil, fmt.Errorf("offset %d is outside the text", at)
	}
	d := json.NewDecoder(bytes.NewReader(text[at:]))
	if first, err := d.Token(); err != nil {
		return nil, err
	} else if first != open {
		return nil, fmt.Errorf("must be %s", map[json.Delim]string{'{': "an object", '[': "an array"}[open])
	}
	var members []Member
	for d.More() {
		var m Member
		m.Start = skip(text, at+int(d.InputOffset()))
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			m.Name, _ = name.(string) // the decoder returns an error for any other key
		}
		m.Value = skip(text, at+int(d.InputOffset()))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		m.End = m.Value + len(value)
		members = append(members, m)
	}
	_, err := d.Token()
	return members, err
}

// skip returns the offset of the next key or value.
func skip(text []byte, at int) int {
	return len(text) - len(bytes.TrimLeft(text[at:], " \t\r\n,:"))
}
