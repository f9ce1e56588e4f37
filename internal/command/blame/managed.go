package blame

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/authorship"
	"github.com/trainweld/trainweld/internal/workspace"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/render/blame"
)

// around returns the fields that are owned as one value and contain the field at a path.
func around(b authorship.Blamed, path fieldpath.Path) []*blame.Field {
	for n := len(path) - 1; n > 0; n-- {
		found, err := b.Object.Find(path[:n].String())
		if err != nil {
			continue
		}
		object, err := b.Document.Fields()
		if err != nil {
			return nil
		}
		m := managedReader{object: object}
		if slices.ContainsFunc(found, func(f *blame.Field) bool { return !m.isWhole(f) }) {
			return nil
		}
		return found
	}
	return nil
}

// isWhole reports whether a field is owned as one value and holds others, as an atomic map does.
func (m *managedReader) isWhole(f *blame.Field) bool {
	if f.Claims == nil || f.Children != nil || f.Path[len(f.Path)-1].Keys() != nil {
		return false
	}
	switch _, value := m.walk(f.Path); value := value.(type) {
	case map[string]any:
		return len(value) > 0
	case []any:
		return len(value) > 0
	}
	return false
}

// managedFields is the path of the entries.
var managedFields = fieldpath.Fields("metadata", "managedFields")

const readManaged = "read the object with kubectl get -o yaml --show-managed-fields"

// withoutManaged returns an error for flags that affect TrainJobs only.
func (flags blameFlags) withoutManaged() error {
	for _, f := range []struct {
		flag string
		set  bool
	}{
		{"--runtime", flags.Runtimes != nil}, {"--patch", flags.Patches != nil}, {"--namespace", flags.Namespace != ""},
		{"--to", flags.To != "jobset"}, {"--as", flags.As != "applied"}, {"--on-conflict", flags.OnConflict != "last"},
		{"--force-manager", flags.Force != nil}, {"--feature-gates", flags.FeatureGates != ""},
		{"--job", flags.Children.Job != ""}, {"--index", flags.Children.Index != ""},
		{"--show-origin", flags.shown.ShowOrigin}, {"--show-values", flags.ShowValues},
	} {
		if f.set {
			return fmt.Errorf("%s has no effect on managed fields, and the inputs hold no TrainJob: remove it", f.flag)
		}
	}
	return nil
}

// managedDocuments returns the objects of -f outside the Trainer's API. It returns none if the inputs hold a TrainJob, or if the
// command line selects TrainJobs. live reports whether an object has managed fields.
func managedDocuments(in *workspace.Input, selected bool) (documents []*manifest.Document, live bool) {
	if selected {
		return nil, false
	}
	for _, text := range in.Files {
		if slices.ContainsFunc(text.Documents, func(d *manifest.Document) bool { return workspace.IsTrainer(d) && d.ID.Kind == trainer.TrainJobKind }) {
			return nil, false
		}
	}
	for _, text := range in.Files {
		for i, d := range decodeAll(text) {
			if workspace.IsTrainer(d) {
				continue
			}
			if d != text.Documents[i] {
				in.Findings = append(in.Findings, d.Findings...)
			}
			has := d.Has(managedFields)
			if d.Broken {
				if _, err := d.Fields(); err != nil || !has {
					continue // a finding says why
				}
			}
			documents, live = append(documents, d), live || has
		}
	}
	return documents, live
}

// anyObject decodes an object of any kind. Document.Fields returns its fields.
type anyObject struct{}

// UnmarshalJSON accepts any JSON.
func (*anyObject) UnmarshalJSON([]byte) error { return nil }

// decodeAll decodes a file again, including objects of other kinds. The decoder takes one version of a kind at a time.
func decodeAll(t workspace.File) []*manifest.Document {
	var rounds [][]manifest.Kind
	versions := map[[2]string][]string{}
	for _, d := range t.Documents {
		if d.Object != nil || d.Broken || workspace.IsTrainer(d) {
			continue
		}
		group, version, ok := strings.Cut(d.APIVersion, "/")
		if !ok {
			group, version = "", d.APIVersion
		}
		kind := [2]string{group, d.ID.Kind}
		if slices.Contains(versions[kind], version) {
			continue
		}
		n := len(versions[kind])
		versions[kind] = append(versions[kind], version)
		if n == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[n] = append(rounds[n], manifest.Kind{Group: group, Version: version, Kind: d.ID.Kind, New: func() any { return new(anyObject) }})
	}
	documents := slices.Clone(t.Documents)
	for _, kinds := range rounds {
		again, _ := manifest.DecodeKinds(t.Name, t.Data, kinds)
		for i, d := range again {
			if _, ok := d.Object.(*anyObject); (ok || d.Broken) && i < len(documents) && documents[i].ID == d.ID && documents[i].Object == nil {
				documents[i] = d
			}
		}
	}
	return documents
}

// maxManaged limits the paths of a run, in bytes. Each path repeats the text of the fields around it. In memory it takes a
// multiple of that size.
const maxManaged = 64 << 20

// blameManaged blames the managed fields of objects.
func blameManaged(documents []*manifest.Document) ([]authorship.Blamed, finding.List, error) {
	var objects []authorship.Blamed
	var findings finding.List
	room := maxManaged
	for _, d := range documents {
		m := managedReader{document: d, room: &room}
		if m.read() {
			o, err := blame.New(struct{}{}, nil, m.history(), blame.Options{})
			if err != nil {
				return nil, nil, err
			}
			objects = append(objects, authorship.Blamed{ID: d.ID, Object: o, Document: d, Entries: m.entries})
		}
		findings = append(findings, m.findings...)
		d.Release()
		if room < 0 {
			break
		}
	}
	return objects, findings, nil
}

// managedReader reads the managed fields of one object.
type managedReader struct {
	document *manifest.Document
	object   map[string]any
	entries  []authorship.Entry
	fields   []*managedField
	byPath   map[string]*managedField
	findings finding.List
	room     *int
	lists    map[managedList]map[fieldpath.Step]int32
	indexes  map[*any]int // how many lists has of each list
}

// managedField records the owners of a field.
type managedField struct {
	path   fieldpath.Path
	places []int32 // the indexes of the items on its path
	claims []engine.Claim
}

func (m *managedReader) report(code finding.Code, at fieldpath.Path, message, help string) {
	m.findings = append(m.findings, finding.Finding{
		Code: code, Severity: finding.Error, Object: m.document.ID, Path: at, Position: m.document.Position(at), Message: message, Remedy: finding.Remedy{Text: help},
	})
}

// read reports whether the object has managed fields.
func (m *managedReader) read() bool {
	var err error
	if m.object, err = m.document.Fields(); err != nil {
		m.report(finding.CodeWrongType, nil, "the object cannot be decoded", readManaged)
		return false
	}
	metadata, _ := m.object["metadata"].(map[string]any)
	entries, isList := metadata["managedFields"].([]any)
	switch {
	case metadata["managedFields"] != nil && !isList:
		m.report(finding.CodeWrongType, managedFields, "must be a list", readManaged)
		return false
	case len(entries) == 0:
		m.report(finding.CodeNoTrainJob, managedFields, "required in an object that is not a TrainJob", readManaged)
		return false
	}
	m.byPath = map[string]*managedField{}
	m.entries = make([]authorship.Entry, len(entries))
	for i := range entries {
		m.entry(i, entries[i])
	}
	m.order()
	return true
}

// entry reads one entry. An invalid entry owns no field.
func (m *managedReader) entry(i int, value any) {
	at := managedFields.Append(fieldpath.Index(i))
	entry, ok := value.(map[string]any)
	if !ok {
		m.report(finding.CodeWrongType, at, "must be an object", readManaged)
		return
	}
	e := authorship.Entry{Position: m.document.Position(at)}
	for name, field := range map[string]*string{
		"manager": &e.Manager, "operation": &e.Operation, "subresource": &e.Subresource, "apiVersion": &e.APIVersion, "time": &e.Time,
	} {
		*field, _ = entry[name].(string)
	}
	m.entries[i] = e
	if fieldsType, isText := entry["fieldsType"].(string); isText && fieldsType != "" && fieldsType != "FieldsV1" {
		m.report(finding.CodeBadValue, at.Append(fieldpath.Field("fieldsType")), fmt.Sprintf("unsupported value %.64q: must be FieldsV1", fieldsType), readManaged)
		return
	}
	if entry["fieldsV1"] == nil {
		return
	}
	at = at.Append(fieldpath.Field("fieldsV1"))
	data, err := json.Marshal(entry["fieldsV1"])
	if err != nil {
		m.report(finding.CodeBadValue, at, "invalid value: must be JSON", readManaged)
		return
	}
	var paths []fieldpath.Path
	for path, err := range engine.FieldsV1Paths(data) {
		var invalid *engine.FieldsV1Error
		switch {
		case errors.As(err, &invalid):
			message := "invalid value: " + invalid.Err.Error()
			if where := invalid.Path.String(); where != "" && len(where) <= 256 {
				message = "invalid value in " + where + ": " + invalid.Err.Error()
			}
			m.report(finding.CodeBadValue, at, message, readManaged)
			return
		case !m.take(at, 16*len(path)):
			return
		}
		paths = append(paths, path.Append())
	}
	for _, path := range paths {
		text := path.String()
		if !m.take(at, len(text)) {
			return
		}
		m.own(i, path, text)
	}
}

// take reserves room for bytes and reports whether there is enough. It reports the limit once.
func (m *managedReader) take(at fieldpath.Path, bytes int) bool {
	if *m.room < 0 {
		return false
	}
	if *m.room -= bytes; *m.room < 0 {
		m.report(finding.CodeSyntax, at, fmt.Sprintf("the paths of the managed fields take more than %d MiB", maxManaged>>20), "read fewer objects at once")
		return false
	}
	return true
}

// own adds a field to an entry.
func (m *managedReader) own(i int, path fieldpath.Path, text string) {
	field := m.byPath[text]
	if field == nil {
		field = &managedField{path: path}
		field.places, _ = m.walk(path)
		m.byPath[text] = field
		m.fields = append(m.fields, field)
	}
	field.claims = append(field.claims, engine.Claim{Layer: authorship.EntryLayer(i), Value: engine.Presence{}, Position: m.entries[i].Position})
}

// order sorts the fields by name, and list items in the order of the object.
func (m *managedReader) order() {
	slices.SortFunc(m.fields, func(a, b *managedField) int {
		for i := range min(len(a.path), len(b.path)) {
			if a.path[i] != b.path[i] {
				return cmp.Or(cmp.Compare(a.places[i], b.places[i]), strings.Compare(a.path[i].String(), b.path[i].String()))
			}
		}
		return cmp.Compare(len(a.path), len(b.path))
	})
}

// history yields the fields in the form that package blame takes.
func (m *managedReader) history() iter.Seq2[fieldpath.Path, []engine.Claim] {
	return func(yield func(fieldpath.Path, []engine.Claim) bool) {
		for _, field := range m.fields {
			if !yield(field.path, field.claims) {
				return
			}
		}
	}
}

// maxIndexes limits the sets of merge keys by which one list is indexed. A list of a cluster has one.
const maxIndexes = 8

// managedList names an index of a list by its first item and its merge keys.
type managedList struct {
	first *any
	keys  string
}

// walk returns the value at a path, and the position of each item on the way. A field has position 0.
func (m *managedReader) walk(path fieldpath.Path) (places []int32, value any) {
	places, value = make([]int32, len(path)), m.object
	for i, step := range path {
		switch v := value.(type) {
		case map[string]any:
			name, ok := step.Field()
			if !ok {
				name, _ = step.Key()
			}
			value = v[name]
		case []any:
			place, ok := m.place(v, step)
			if places[i] = place; !ok {
				places[i], value = int32(len(v)), nil
			} else {
				value = v[place]
			}
		default:
			value = nil
		}
	}
	return places, value
}

// place returns the position of an item.
func (m *managedReader) place(list []any, step fieldpath.Step) (int32, bool) {
	if i, ok := step.Index(); ok {
		return int32(i), i < len(list)
	}
	if len(list) == 0 {
		return 0, false
	}
	keys := step.Keys()
	of := managedList{first: &list[0]}
	for _, key := range keys {
		of.keys += strconv.Quote(key.Name)
	}
	index := m.lists[of]
	if index == nil {
		if m.indexes[of.first] == maxIndexes {
			return 0, false
		}
		index = make(map[fieldpath.Step]int32, len(list))
		for i, item := range list {
			at := fieldpath.ElementOf(item)
			if keys != nil {
				fields, _ := item.(map[string]any)
				itemKeys := slices.Clone(keys)
				for k := range itemKeys {
					itemKeys[k].Value = fields[itemKeys[k].Name]
				}
				at = fieldpath.ItemBy(itemKeys...)
			}
			if _, duplicate := index[at]; !duplicate {
				index[at] = int32(i)
			}
		}
		if m.lists == nil {
			m.lists, m.indexes = map[managedList]map[fieldpath.Step]int32{}, map[*any]int{}
		}
		m.lists[of] = index
		m.indexes[of.first]++
	}
	place, ok := index[step]
	return place, ok
}
