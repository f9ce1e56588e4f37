package objectmerge

import (
	"encoding/json"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
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
		var fields engine.Object
		if err := json.Unmarshal(data, &fields); err != nil {
			return err
		}
		manager, isManager := layer.Manager()
		operation := "Apply"
		if !isManager {
			manager, operation = string(layer), "Update"
		}
		entries = append(entries, engine.Object{
			"manager": manager, "operation": operation, "apiVersion": m.base.APIVersion, "fieldsType": "FieldsV1", "fieldsV1": fields,
		})
	}
	metadata, _ := merged.Fields["metadata"].(engine.Object)
	if metadata == nil {
		metadata = engine.Object{}
		merged.Fields["metadata"] = metadata
	}
	metadata["managedFields"] = entries
	return nil
}
