package objectmerge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/nearest"
)

// Patch is a manager's patch.
type Patch struct {
	manager  string
	document *manifest.Document
	data     []byte // of the file
	fields   merge.Object
	is       fieldpath.Object // what the patch calls its object
	json     merge.JSONPatch  // a JSON patch instead of fields
}

// Takes reports whether objects of the kind take a patch: a strategic merge takes no JSON patch.
func (k *Kind) Takes(patch Patch) bool { return k.typ != option.StrategicType || patch.json == nil }

// HasPatch reports whether a manager has a patch.
func (m *Object) HasPatch(manager string) bool {
	_, has := m.places[manager]
	return has
}

// Add adds a patch, and reports what it has that the base's kind does not take.
func (m *Object) Add(patch Patch) (found finding.List) {
	if patch.json == nil {
		found = append(m.mismatches(patch), m.foreignDirectives(patch, patch.fields, nil)...)
		if m.isFieldless(patch) {
			return append(found, finding.Finding{
				Code: codes.UnknownField, Severity: finding.Error, Object: m.ID,
				Position: patch.document.Position(nil),
				Message:  "the patch has no field of a " + m.ID.Kind,
				Remedy:   finding.Remedy{Text: "use a patch of this kind"},
			})
		}
	}
	m.places[patch.manager] = len(m.patches)
	m.patches = append(m.patches, patch)
	return found
}

// operationsIn returns the operations of a JSON patch. Data that is not a JSON patch, or would
// expand without a limit, is left to the reader of objects.
func operationsIn(data []byte) merge.JSONPatch {
	if !manifest.IsBounded(data) {
		return nil
	}
	patch, _ := merge.ReadPatch("", data)
	operations, _ := patch.Value.(merge.JSONPatch)
	return operations
}

// Patch reads a manager's patch of the kind, which is the only one of its file.
func (k *Kind) Patch(manager, file string, data []byte) (Patch, finding.List) {
	if operations := operationsIn(data); operations != nil &&
		!slices.ContainsFunc(operations, func(o merge.Operation) bool { return o.Op == "" }) {
		return Patch{manager: manager, document: &manifest.Document{File: file}, data: data,
			json: operations}, nil
	}
	documents, found := manifest.DecodeAs(file, data, k.header(nil))
	if found.Err() != nil {
		return Patch{}, found
	}
	if len(documents) != 1 {
		return Patch{}, append(found, notOne(file, documents, "a patch is one object"))
	}
	patch := Patch{manager: manager, document: documents[0], data: data, is: documents[0].ID}
	if documents[0].Object == nil {
		return patch, found // another kind: see mismatches
	}
	fields, err := documents[0].Fields()
	if err != nil {
		return patch,
			append(found,
				finding.Finding{Code: codes.Syntax, Severity: finding.Error,
					Position: documents[0].Position(nil), Message: err.Error()})
	}
	for _, name := range []string{"apiVersion", "kind"} { // without one, it has the base's
		path := fieldpath.Fields(name)
		if !documents[0].Has(path) {
			delete(fields, name)
		} else if text, isText := documents[0].Text(path); !documents[0].Sets(path) {
			fields[name] = nil
		} else if isText && text == "" {
			fields[name] = text
		}
	}
	patch.fields = fields
	return patch, found
}

// Unnamed returns the patch without the name and the namespace of its object, for objects that are
// selected otherwise.
func (p Patch) Unnamed() Patch {
	if metadata, ok := p.fields["metadata"].(merge.Object); ok {
		p.fields, metadata = maps.Clone(p.fields), maps.Clone(metadata)
		delete(metadata, "name")
		delete(metadata, "namespace")
		if p.fields["metadata"] = metadata; len(metadata) == 0 {
			delete(p.fields, "metadata")
		}
	}
	p.is = fieldpath.Object{}
	return p
}

// notOne reports a file without exactly one object.
func notOne(file string, documents []*manifest.Document, rule string) finding.Finding {
	f := finding.Finding{
		Code: codes.NotAnObject, Severity: finding.Error, Position: fieldpath.Position{File: file},
		Message: fmt.Sprintf("holds %s: %s", report.Count(len(documents), "object"), rule),
		Remedy:  finding.Remedy{Text: "name a file that holds one"},
	}
	if len(documents) > 1 {
		f.Position = documents[1].Position(nil)
	}
	return f
}

// mismatches reports the identifying fields in which a patch differs from the base.
func (m *Object) mismatches(patch Patch) finding.List {
	var found finding.List
	of, is := m.base, patch.document
	for _, field := range []struct {
		path     fieldpath.Path
		want, is string
	}{
		{fieldpath.Fields("apiVersion"), of.APIVersion, is.APIVersion},
		{fieldpath.Fields("kind"), of.ID.Kind, is.ID.Kind},
		{fieldpath.Fields("metadata", "name"), of.ID.Name, patch.is.Name},
		{fieldpath.Fields("metadata", "namespace"), of.ID.Namespace, patch.is.Namespace},
	} {
		if field.is == "" || field.is == field.want {
			continue
		}
		found = append(found, finding.Finding{
			Code: codes.NoMerge, Severity: finding.Error, Object: m.ID, Path: field.path,
			Position: is.Position(field.path),
			Message: fmt.Sprintf("Invalid value: %q: must be %q, as in the base", field.is,
				field.want),
			Remedy: finding.Remedy{
				Text: "remove the field from the patch"},
		})
	}
	return found
}

// isFieldless reports whether a patch has none of the fields of the base's kind. Its file may be
// any, such as one of passwords, so a finding must not repeat its keys.
func (m *Object) isFieldless(patch Patch) bool {
	var names []string
	switch {
	case m.typ == option.StrategicType:
		names = tree.Structs{}.Names(m.goType)
	case m.schema != nil:
		for _, field := range m.schema.Fields {
			names = append(names, field.Name)
		}
	}
	isDirective := func(name string) bool { return strings.HasPrefix(name, "$") }
	keys := slices.Collect(maps.Keys(patch.fields))
	return len(names) > 0 && len(keys) > 0 && !nearest.Any(keys, names) &&
		!slices.ContainsFunc(keys, isDirective)
}

// foreignDirectives reports the directives in a patch that is not a strategic merge patch. There,
// they are fields that no kind has.
func (m *Object) foreignDirectives(patch Patch, value any,
	path fieldpath.Path) (found finding.List) {
	if m.typ == option.StrategicType {
		return nil
	}
	switch value := value.(type) {
	case merge.Object:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			at := path.Append(fieldpath.Field(name))
			if !isDirective(name) {
				found = append(found, m.foreignDirectives(patch, value[name], at)...)
				continue
			}
			found = append(found, finding.Finding{
				Code: codes.NoMerge, Severity: finding.Error, Object: m.ID, Path: at,
				Position: patch.document.Position(at),
				Message: fmt.Sprintf(
					"Forbidden: %s is a directive of strategic merge patches, which %s does not "+
						"support", name, m.ID.Kind),
				Remedy: finding.Remedy{
					Text: "remove the directive, and set the whole list or object instead"},
			})
		}
	case []any:
		for i, item := range value {
			found = append(
				found, m.foreignDirectives(patch, item, path.Append(fieldpath.Index(i)))...)
		}
	}
	return found
}
