package blameview

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/cmd/internal/lookup"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// ManagedFields is the path of the entries.
var ManagedFields = fieldpath.Fields("metadata", "managedFields")

const readManaged = "read the object with kubectl get -o yaml --show-managed-fields"

// MaxManaged limits the paths of a run, in bytes. Each path repeats the text of the fields around
// it. In memory it takes a multiple of that size.
const MaxManaged = 64 << 20

// Managed holds the managed fields of one object.
type Managed struct {
	// Entries are the entries of metadata.managedFields, and Object is the object. Findings report
	// invalid entries.
	Entries  []Entry
	Object   map[string]any
	Findings finding.List

	document  *manifest.Document
	fields    []*managedField
	byPath    map[string]*managedField
	remaining *int
	lists     lookup.Lists
	// The owners of a place with its fields, and of a field as one value; nil before the first use.
	ownersWithin, atomicOwners map[string]map[merge.Owner]bool
}

// managedField records the owners of a field.
type managedField struct {
	path      fieldpath.Path
	positions []int32 // the indexes of the items on its path
	claims    []merge.Claim
}

// AnyObject decodes an object of any kind. Document.Fields returns its fields.
type AnyObject struct{}

// UnmarshalJSON accepts any JSON.
func (*AnyObject) UnmarshalJSON([]byte) error { return nil }

// ReadManaged reads the managed fields of an object, and reduces remaining, a number of bytes, by
// the size of their paths. All objects of a run share MaxManaged bytes. A negative number reads
// nothing. ok is false for an object without managed fields, which is a finding.
func ReadManaged(d *manifest.Document, remaining *int) (m *Managed, ok bool) {
	m = &Managed{document: d, remaining: remaining}
	return m, m.read()
}

func (m *Managed) report(code finding.Code, at fieldpath.Path, message, help string) {
	m.Findings = append(m.Findings, finding.Finding{
		Code: code, Severity: finding.Error, Object: m.document.ID, Path: at,
		Position: m.document.Position(at), Message: message, Remedy: finding.Remedy{Text: help},
	})
}

// read reports whether the object has managed fields.
func (m *Managed) read() bool {
	var err error
	if m.Object, err = m.document.Fields(); err != nil {
		m.report(codes.WrongType, nil, "the object cannot be decoded", readManaged)
		return false
	}
	metadata, _ := m.Object["metadata"].(map[string]any)
	entries, isList := metadata["managedFields"].([]any)
	switch {
	case metadata["managedFields"] != nil && !isList:
		m.report(codes.WrongType, ManagedFields, "must be a list", readManaged)
		return false
	case len(entries) == 0:
		m.report(codes.NoTrainJob, ManagedFields, "Required value: the object is no TrainJob",
			readManaged)
		return false
	}
	m.byPath = map[string]*managedField{}
	m.Entries = make([]Entry, len(entries))
	for i := range entries {
		m.entry(i, entries[i])
	}
	m.order()
	return true
}

// entry reads one entry. An invalid entry owns no field.
func (m *Managed) entry(i int, value any) {
	at := ManagedFields.Append(fieldpath.Index(i))
	entry, ok := value.(map[string]any)
	if !ok {
		m.report(codes.WrongType, at, "must be an object", readManaged)
		return
	}
	e := Entry{Position: m.document.Position(at)}
	for name, field := range map[string]*string{
		"manager": &e.Manager, "operation": &e.Operation, "subresource": &e.Subresource,
		"apiVersion": &e.APIVersion, "time": &e.Time,
	} {
		*field, _ = entry[name].(string)
	}
	m.Entries[i] = e
	if fieldsType, isText := entry["fieldsType"].(string); isText && fieldsType != "" &&
		fieldsType != "FieldsV1" {
		m.report(codes.BadValue, at.Append(fieldpath.Field("fieldsType")),
			fmt.Sprintf("Unsupported value: %.64q: supported values: FieldsV1", fieldsType), readManaged)
		return
	}
	if entry["fieldsV1"] == nil {
		return
	}
	at = at.Append(fieldpath.Field("fieldsV1"))
	fields, ok := entry["fieldsV1"].(map[string]any)
	if !ok {
		m.report(codes.WrongType, at, "must be an object", readManaged)
		return
	}
	var paths []fieldpath.Path
	for path, err := range merge.FieldsV1Paths(fields) {
		var invalid *merge.FieldsV1Error
		switch {
		case errors.As(err, &invalid):
			message := "Invalid value: " + invalid.Err.Error()
			if where := invalid.Path.String(); where != "" && len(where) <= 256 {
				message = "Invalid value in " + where + ": " + invalid.Err.Error()
			}
			m.report(codes.BadValue, at, message, readManaged)
			return
		case !m.reserve(at, 16*len(path)):
			return
		}
		paths = append(paths, path.Append())
	}
	for _, path := range paths {
		text := path.String()
		if !m.reserve(at, len(text)) {
			return
		}
		m.own(i, path, text)
	}
}

// reserve reserves bytes and reports whether there is enough. It reports the limit once.
func (m *Managed) reserve(at fieldpath.Path, bytes int) bool {
	if *m.remaining < 0 {
		return false
	}
	if *m.remaining -= bytes; *m.remaining < 0 {
		m.report(codes.Syntax, at,
			fmt.Sprintf("the paths of the managed fields exceed %d MiB", MaxManaged>>20),
			"read fewer objects at once")
		return false
	}
	return true
}

// own adds a field to an entry.
func (m *Managed) own(i int, path fieldpath.Path, text string) {
	field := m.byPath[text]
	if field == nil {
		field = &managedField{path: path}
		field.positions = m.walk(path).positions
		m.byPath[text] = field
		m.fields = append(m.fields, field)
	}
	field.claims = append(field.claims,
		merge.Claim{Owner: EntryLayer(i), Value: merge.Presence{}, Position: m.Entries[i].Position})
}

// order sorts the fields by name, and list items in the order of the object.
func (m *Managed) order() {
	slices.SortFunc(m.fields, func(a, b *managedField) int {
		for i := range min(len(a.path), len(b.path)) {
			if a.path[i] != b.path[i] {
				return cmp.Or(cmp.Compare(a.positions[i], b.positions[i]),
					strings.Compare(a.path[i].String(), b.path[i].String()))
			}
		}
		return cmp.Compare(len(a.path), len(b.path))
	})
}

// History yields the fields with their entries, in the form that package blame takes.
func (m *Managed) History() iter.Seq2[fieldpath.Path, []merge.Claim] {
	return func(yield func(fieldpath.Path, []merge.Claim) bool) {
		for _, field := range m.fields {
			if !yield(field.path, field.claims) {
				return
			}
		}
	}
}

// place is what the path of a field leads to in the object.
type place struct {
	positions []int32  // of the items on the way; 0 for a field
	keys      []string // of the steps: the name of a field, or the position of an item
	value     any
	exists    bool
}

// walk follows a path.
func (m *Managed) walk(path fieldpath.Path) place {
	p := place{value: m.Object, exists: true}
	for _, step := range path {
		position, key := int32(0), step.String()
		switch v := p.value.(type) {
		case map[string]any:
			key, _ = step.Name()
			p.value, p.exists = v[key]
		case []any:
			i := len(v) // behind the list
			if at, ok := m.lists.Position(v, step); ok {
				i, p.value, p.exists = at, v[at], true
			} else {
				p.value, p.exists = nil, false
			}
			position, key = int32(i), strconv.Itoa(i)
		default:
			p.value, p.exists = nil, false
		}
		p.positions, p.keys = append(p.positions, position), append(p.keys, key)
	}
	return p
}

// IsWhole reports whether a field is owned as one value and holds others, as an atomic map does.
func (m *Managed) IsWhole(f *blame.Field) bool {
	if f.Claims == nil || f.Children != nil || f.Path[len(f.Path)-1].Keys() != nil {
		return false
	}
	switch value := m.walk(f.Path).value.(type) {
	case map[string]any:
		return len(value) > 0
	case []any:
		return len(value) > 0
	}
	return false
}

// OwnersOf returns the entries that own the field at a path or fields within it, each once. Without
// any, it returns the entries that own a field around it as one value. Items of the path match by
// the value of a merge key. The object must have the field.
func (m *Managed) OwnersOf(path fieldpath.Path) []Entry {
	if m.ownersWithin == nil {
		m.indexOwners()
	}
	at := m.walk(path)
	if !at.exists {
		return nil
	}
	own := m.ownersWithin[pathKey(at.keys)]
	for n := len(at.keys) - 1; n >= 0 && own == nil; n-- {
		own = m.atomicOwners[pathKey(at.keys[:n])]
	}
	var entries []Entry
	for i, e := range m.Entries {
		if own[EntryLayer(i)] {
			entries = append(entries, e)
		}
	}
	return entries
}

// indexOwners collects the owners of each place with its fields, and of each field that is owned as
// one value.
func (m *Managed) indexOwners() {
	m.ownersWithin, m.atomicOwners = map[string]map[merge.Owner]bool{},
		map[string]map[merge.Owner]bool{}
	add := func(to map[string]map[merge.Owner]bool, key string, claims []merge.Claim) {
		if to[key] == nil {
			to[key] = map[merge.Owner]bool{}
		}
		for _, c := range claims {
			to[key][c.Owner] = true
		}
	}
	for i, field := range m.fields {
		keys := m.walk(field.path).keys
		for n := range len(keys) + 1 {
			add(m.ownersWithin, pathKey(keys[:n]), field.claims)
		}
		// The fields are in the order of the object: those within a field follow it.
		if i+1 == len(m.fields) || !m.fields[i+1].path.HasPrefix(field.path) {
			add(m.atomicOwners, pathKey(keys), field.claims)
		}
	}
}

// pathKey joins the keys of a place.
func pathKey(keys []string) string { return strings.Join(keys, "\x00") }
