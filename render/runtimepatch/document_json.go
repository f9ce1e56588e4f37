package runtimepatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/trainweld/trainweld/render/internal/jsontext"
)

// jsonText is a TrainJob as JSON, with the places of its entries.
type jsonText struct {
	text    []byte
	spec    int               // where the object of the field spec begins
	fields  []jsontext.Member // of spec
	list    int               // the index of the list in fields, or -1
	entries []jsontext.Member
}

// openJSON returns the JSON of the entries of a TrainJob that is JSON.
func (d *document[D]) openJSON(text []byte) ([]byte, error) {
	if !json.Valid(text) {
		return nil, errors.New("the TrainJob is not valid JSON")
	}
	j := &jsonText{text: text, list: -1}
	top, err := jsontext.Members(text, 0)
	if err != nil {
		return nil, fmt.Errorf("the TrainJob %w", err)
	}
	at, err := onlyMember(top, specField)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		return nil, errors.New(".spec: required")
	}
	j.spec = top[at].Value
	if j.fields, err = jsontext.Members(text, j.spec); err != nil {
		return nil, fmt.Errorf(".spec: %w", err)
	}
	if j.list, err = onlyMember(j.fields, entriesField); err != nil {
		return nil, err
	}
	d.write = func(places []int, new int, entry []byte) (any, error) { return j.write(places, new, entry), nil }
	if j.list < 0 {
		return nil, nil
	}
	list := j.fields[j.list]
	if string(text[list.Value:list.End]) == "null" {
		return nil, nil
	}
	if j.entries, err = jsontext.Elements(text, list.Value); err != nil {
		return nil, fmt.Errorf("%s: %w", patchesField, err)
	}
	return text[list.Value:list.End], nil
}

// onlyMember returns the index of the member with a name, or -1. Two of them are an error.
func onlyMember(members []jsontext.Member, name string) (int, error) {
	found := -1
	for i, m := range members {
		if m.Name != name {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("duplicate field %q", name)
		}
		found = i
	}
	return found, nil
}

// write returns the text with the entries at the given places. The new entry is at the place new.
func (j *jsonText) write(places []int, new int, entry []byte) []byte {
	switch {
	case len(places) == 0:
		return j.withoutList()
	case j.list < 0:
		return j.withList(entry)
	case len(j.entries) == 0:
		list := j.fields[j.list]
		return j.replaced(list.Value, list.End, j.listOf(entry, list.Start))
	}
	var out []byte
	for n, i := range places {
		if n > 0 {
			out = append(out, separator(j.text, j.fields[j.list].Value, j.entries, i)...)
		}
		if i == new {
			out = append(out, j.styled(entry, j.entries[min(i, len(j.entries)-1)].Start)...)
		} else {
			out = append(out, j.text[j.entries[i].Start:j.entries[i].End]...)
		}
	}
	return j.replaced(j.entries[0].Start, j.entries[len(j.entries)-1].End, out)
}

// withList returns the text with a list of one entry after the other fields of spec.
func (j *jsonText) withList(entry []byte) []byte {
	if len(j.fields) == 0 {
		return j.replaced(j.spec, bytes.IndexByte(j.text[j.spec:], '}')+j.spec+1, append(j.field([]byte("{"), entry, j.spec), '}'))
	}
	last := j.fields[len(j.fields)-1]
	return j.replaced(last.End, last.End, j.field(separator(j.text, j.spec, j.fields, len(j.fields)), entry, last.Start))
}

// field appends the list of one entry with its name.
func (j *jsonText) field(out, entry []byte, at int) []byte {
	out = append(out, `"`+entriesField+`":`...)
	if j.isIndented() {
		out = append(out, ' ')
	}
	return append(out, j.listOf(entry, at)...)
}

func (j *jsonText) listOf(entry []byte, at int) []byte {
	return j.styled(slices.Concat([]byte("["), entry, []byte("]")), at)
}

// withoutList returns the text without the list and the comma before or after it.
func (j *jsonText) withoutList() []byte {
	from, to := j.fields[j.list].Start, j.fields[j.list].End
	switch {
	case j.list > 0:
		from = j.fields[j.list-1].End
	case len(j.fields) > 1:
		to = j.fields[1].Start
	}
	return j.replaced(from, to, nil)
}

func (j *jsonText) replaced(from, to int, text []byte) []byte {
	return slices.Concat(j.text[:from], text, j.text[to:])
}

// separator returns the comma before a member with its white space. Behind the last member, it looks like the one before that.
func separator(text []byte, open int, members []jsontext.Member, i int) []byte {
	if i == len(members) {
		i--
	}
	if i == 0 {
		return append([]byte(","), text[open+1:members[0].Start]...)
	}
	return slices.Clip(text[members[i-1].End:members[i].Start])
}

// styled returns a JSON value styled as the text: on one line, or indented as the line of an offset.
func (j *jsonText) styled(value []byte, at int) []byte {
	if !j.isIndented() {
		return value
	}
	var out bytes.Buffer
	_ = json.Indent(&out, value, j.indentOf(at), j.unit()) // the value is valid JSON
	return out.Bytes()
}

func (j *jsonText) isIndented() bool { return bytes.IndexByte(bytes.TrimSpace(j.text), '\n') >= 0 }

// unit returns the indentation of one level: the fields of spec stand one level below spec.
func (j *jsonText) unit() string {
	if len(j.fields) > 0 {
		if unit, ok := bytes.CutPrefix([]byte(j.indentOf(j.fields[0].Start)), []byte(j.indentOf(j.spec))); ok && len(unit) > 0 {
			return string(unit)
		}
	}
	return "  "
}

// indentOf returns the white space at the start of an offset's line.
func (j *jsonText) indentOf(offset int) string {
	line := j.text[bytes.LastIndexByte(j.text[:offset], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}
