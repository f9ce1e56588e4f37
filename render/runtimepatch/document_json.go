package runtimepatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/trainweld/trainweld/render/internal/jsontext"
)

// jsonTrainJob is a TrainJob as JSON, with the places of its entries.
type jsonTrainJob struct {
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
	j := &jsonTrainJob{text: text, list: -1}
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
func (j *jsonTrainJob) write(places []int, new int, entry []byte) []byte {
	var fields []int // without the list
	for i := range j.fields {
		if i != j.list {
			fields = append(fields, i)
		}
	}
	n := len(j.fields)
	list := slices.Concat([]byte("["), entry, []byte("]"))
	switch {
	case len(places) == 0:
		return j.joined(j.spec, j.fields, fields, -1, nil)
	case n == 0:
		return j.replaced(j.spec, bytes.IndexByte(j.text[j.spec:], '}')+j.spec+1, slices.Concat([]byte("{"), j.field(list, j.spec), []byte("}")))
	case j.list < 0:
		return j.joined(j.spec, j.fields, append(fields, n), n, j.field(list, j.fields[n-1].Start))
	case len(j.entries) == 0:
		return j.replaced(j.fields[j.list].Value, j.fields[j.list].End, j.styled(list, j.fields[j.list].Start))
	case new >= 0:
		entry = j.styled(entry, j.entries[min(new, len(j.entries)-1)].Start)
	}
	return j.joined(j.fields[j.list].Value, j.entries, places, new, entry)
}

// joined returns the text with the members of an object or a list at the given places. The new member is at the place new.
func (j *jsonTrainJob) joined(open int, members []jsontext.Member, places []int, new int, member []byte) []byte {
	var out []byte
	for n, i := range places {
		if n > 0 {
			out = append(out, separator(j.text, open, members, i)...)
		}
		if i == new {
			out = append(out, member...)
		} else {
			out = append(out, j.text[members[i].Start:members[i].End]...)
		}
	}
	return j.replaced(members[0].Start, members[len(members)-1].End, out)
}

// field returns the field with a list of entries.
func (j *jsonTrainJob) field(list []byte, at int) []byte {
	name := `"` + entriesField + `":`
	if j.isIndented() {
		name += " "
	}
	return append([]byte(name), j.styled(list, at)...)
}

func (j *jsonTrainJob) replaced(from, to int, text []byte) []byte {
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
func (j *jsonTrainJob) styled(value []byte, at int) []byte {
	if !j.isIndented() {
		return value
	}
	var out bytes.Buffer
	_ = json.Indent(&out, value, j.indentOf(at), j.unit()) // the value is valid JSON
	return out.Bytes()
}

func (j *jsonTrainJob) isIndented() bool { return bytes.IndexByte(bytes.TrimSpace(j.text), '\n') >= 0 }

// unit returns the indentation of one level: the fields of spec stand one level below spec.
func (j *jsonTrainJob) unit() string {
	if len(j.fields) > 0 {
		if unit, ok := bytes.CutPrefix([]byte(j.indentOf(j.fields[0].Start)), []byte(j.indentOf(j.spec))); ok && len(unit) > 0 {
			return string(unit)
		}
	}
	return "  "
}

// indentOf returns the white space at the start of an offset's line.
func (j *jsonTrainJob) indentOf(offset int) string {
	line := j.text[bytes.LastIndexByte(j.text[:offset], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}
