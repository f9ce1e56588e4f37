package objectmerge

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// isIdentity reports whether the API server omits a field from all sets: the identity of an object has no owner.
func isIdentity(path fieldpath.Path) bool {
	switch path.String() {
	case ".apiVersion", ".kind", ".metadata.name", ".metadata.namespace":
		return true
	}
	return false
}

// AddManagedFields adds metadata.managedFields to the merged object. Those of a live object are as the API server writes them. Another
// one has an update by the base and by each JSON patch, and an apply by each other patch. A layer without fields has no entry.
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

// FieldsV1 returns the fields that each layer owns, as in metadata.managedFields. A layer without fields is omitted.
func (m *Object) FieldsV1(merged *Result) iter.Seq2[merge.Layer, []byte] {
	return func(yield func(merge.Layer, []byte) bool) {
		for layer, data := range merged.Owners.FieldsV1(isIdentity) {
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
		if slices.ContainsFunc(m.patches, func(p Patch) bool { return p.manager == manager && p.json != nil }) {
			operation = "Update"
		}
		list = append(list, merge.Object{
			"manager": manager, "operation": operation, "apiVersion": m.base.APIVersion, "fieldsType": "FieldsV1", "fieldsV1": fields,
		})
	}
	return list, nil
}
