package objectmerge

import (
	"encoding/json"
	"iter"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/lookup"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// isIdentity reports whether the API server omits a field from all sets: the identity of an object
// has no owner.
func isIdentity(path fieldpath.Path) bool {
	switch path.String() {
	case ".apiVersion", ".kind", ".metadata.name", ".metadata.namespace":
		return true
	}
	return false
}

// AddManagedFields adds metadata.managedFields to the merged object. A live object has them as the
// API server writes them. Another object has an update by the base and by each JSON patch, and an
// apply by each other patch. A layer without fields has no entry.
func (m *Object) AddManagedFields(merged *Result) error {
	entries := merged.managed
	if !m.managed {
		var err error
		if entries, err = m.entries(merged); err != nil {
			return err
		}
	}
	metadata, _ := merged.Fields["metadata"].(merge.Object)
	if metadata == nil {
		metadata = merge.Object{}
		merged.Fields["metadata"] = metadata
	}
	metadata["managedFields"] = entries
	return nil
}

// All yields the claims on what an input sets. The Go type also has the empty values of required
// fields.
func (m *Object) All(merged *Result) iter.Seq2[fieldpath.Path, []merge.Claim] {
	if m.typ != option.StrategicType {
		return merged.History.All()
	}
	base, _ := m.base.Fields() // Apply has read them
	return func(yield func(fieldpath.Path, []merge.Claim) bool) {
		var values lookup.Lists
		for path, claims := range merged.History.All() {
			if first := claims[0]; first.Owner == merge.BaseLayer && isEmpty(first.Value) &&
				values.At(base, path) == nil {
				claims = claims[1:]
			}
			isUnset := !slices.ContainsFunc(claims, func(c merge.Claim) bool {
				return c.Value == nil || !isEmpty(c.Value)
			})
			if len(claims) > 0 && (!isUnset || values.At(merged.Fields, path) != nil) &&
				!yield(path, claims) {
				return
			}
		}
	}
}

// isEmpty reports whether a claim's value is null or the zero value of its type.
func isEmpty(value any) bool {
	return value == nil || value != merge.Presence{} && reflect.ValueOf(value).IsZero()
}

// FieldsV1 returns the fields that each layer owns, as in metadata.managedFields. A layer without
// fields is omitted.
func (m *Object) FieldsV1(merged *Result) iter.Seq2[merge.Owner, []byte] {
	return func(yield func(merge.Owner, []byte) bool) {
		var values lookup.Lists
		ignored := func(path fieldpath.Path) bool {
			if _, isElement := path[len(path)-1].Element(); isElement ||
				m.typ != option.StrategicType {
				return isIdentity(path)
			}
			return isIdentity(path) || values.At(merged.Fields, path) == nil
		}
		for layer, data := range merged.History.FieldsV1(ignored) {
			if string(data) != "{}" && !yield(layer, data) {
				return
			}
		}
	}
}

func (m *Object) entries(merged *Result) (entries any, err error) {
	list := []any{}
	for layer, data := range m.FieldsV1(merged) {
		var fields merge.Object
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, err
		}
		manager, isManager := layer.Manager()
		operation := "Apply"
		if !isManager {
			manager, operation = string(layer), "Update"
		}
		if at, ok := m.places[manager]; ok && m.patches[at].json != nil {
			operation = "Update"
		}
		list = append(list, merge.Object{
			"manager": manager, "operation": operation, "apiVersion": m.base.APIVersion,
			"fieldsType": "FieldsV1", "fieldsV1": fields,
		})
	}
	return list, nil
}
