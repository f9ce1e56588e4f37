package objectmerge

import (
	"encoding/json"

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

// AddManagedFields adds metadata.managedFields to the merged object: an update by the base, then an apply by each manager. A layer
// without fields has no entry.
func (m *Object) AddManagedFields(merged *Result) error {
	var entries []any
	for layer, data := range merged.Owners.FieldsV1(isIdentity) {
		if string(data) == "{}" {
			continue
		}
		var fields merge.Object
		if err := json.Unmarshal(data, &fields); err != nil {
			return err
		}
		manager, isManager := layer.Manager()
		operation := "Apply"
		if !isManager {
			manager, operation = string(layer), "Update"
		}
		entries = append(entries, merge.Object{
			"manager": manager, "operation": operation, "apiVersion": m.base.APIVersion, "fieldsType": "FieldsV1", "fieldsV1": fields,
		})
	}
	metadata, _ := merged.Fields["metadata"].(merge.Object)
	if metadata == nil {
		metadata = merge.Object{}
		merged.Fields["metadata"] = metadata
	}
	metadata["managedFields"] = entries
	return nil
}
