package merge

import (
	"bytes"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/trainweld/trainweld/schema"
)

// ManagedFields is the ownership in the form in which the API server keeps it: what the field
// managers would own if the runtime and then each patch, in the order of the list, had been applied
// server-side with force. A field belongs to every manager that set it to the value in force; who was
// overwritten with another value has lost it. Who names an item also owns the field of its merge key.
// There is one entry for the runtime and one for each patch, in that order; an entry that lost
// everything has an empty field set. Entries carry no time.
//
// It is what the API server would record by the schema of JobSet's definition, wherever that merges as
// the Trainer does; docs/differences.md lists the fields in which it does not.
func (o *Ownership) ManagedFields() []metav1.ManagedFieldsEntry {
	o = o.orEmpty()
	sets := make([]*fieldpath.Set, len(o.log.layers))
	for i := range sets {
		sets[i] = fieldpath.NewSet()
	}
	w := walk{log: o.log}
	w.yield = func(path schema.Path, claims []Claim) bool {
		if isIgnored(path) || w.emptiedAround {
			return true
		}
		last := claims[len(claims)-1]
		if _, isManager := last.Layer.Manager(); last.Value == nil && !isManager {
			return true // a later layer took it away
		}
		p := fieldPath(path)
		var key fieldpath.Path // of an item: whoever names it sets the field that its name stands in
		if field, _, ok := path[len(path)-1].Item(); ok {
			key = append(p.Copy(), fieldpath.PathElement{FieldName: &field})
		}
		for i, owner := range o.log.inForce(claims) {
			if owner {
				set := sets[o.log.layerOf(claims[i].Layer)]
				set.Insert(p)
				if key != nil {
					set.Insert(key)
				}
			}
		}
		return true
	}
	w.value(schema.JobSetTemplate(), nil, reflect.ValueOf(o.template).Elem(), rootNode, nil)

	entries := make([]metav1.ManagedFieldsEntry, len(sets))
	for i, set := range sets {
		layer := o.log.layerName(o.log.layers[i])
		manager := string(layer)
		if name, ok := layer.Manager(); ok {
			manager = name
		}
		entries[i] = metav1.ManagedFieldsEntry{
			Manager:    manager,
			Operation:  metav1.ManagedFieldsOperationApply,
			APIVersion: jobset.GroupVersion.String(),
			FieldsType: "FieldsV1",
			FieldsV1:   &metav1.FieldsV1{Raw: fieldsV1(set)},
		}
	}
	return entries
}

// isIgnored says of a field that the controller does not take it from the template: of metadata it takes
// labels and annotations only.
func isIgnored(path schema.Path) bool {
	return len(path) > 1 && path[0] == schema.Field("metadata") && path[1] != schema.Field("labels") && path[1] != schema.Field("annotations")
}

// inForce says of each claim on a field whether its layer still owns the field: nobody wrote another
// value after it.
func (l *log) inForce(claims []Claim) []bool {
	owners := make([]bool, len(claims))
	owners[len(claims)-1] = true
	for i := len(claims) - 2; i >= 0; i-- {
		owners[i] = owners[i+1] && schema.SameValue(claims[i].Value, claims[i+1].Value)
	}
	return owners
}

func (l *log) layerOf(layer schema.Layer) int {
	for i := range l.layers {
		if l.layerName(l.layers[i]) == layer {
			return i
		}
	}
	panic(fmt.Sprintf("merge: no layer %q", layer)) // claims are made from l.layers
}

// fieldPath is a path in the terms of structured-merge-diff.
func fieldPath(path schema.Path) fieldpath.Path {
	p := make(fieldpath.Path, 0, len(path))
	for _, step := range path {
		if name, ok := step.Field(); ok {
			p = append(p, fieldpath.PathElement{FieldName: &name})
		} else if key, ok := step.Key(); ok {
			p = append(p, fieldpath.PathElement{FieldName: &key})
		} else if key, name, ok := step.Item(); ok {
			p = append(p, fieldpath.PathElement{Key: fieldpath.KeyByFields(key, name)})
		} else if position, ok := step.Index(); ok {
			p = append(p, fieldpath.PathElement{Index: &position})
		} else if element, ok := step.Element(); ok {
			v := value.NewValueInterface(element)
			p = append(p, fieldpath.PathElement{Value: &v})
		}
	}
	return p
}

func fieldsV1(set *fieldpath.Set) []byte {
	var b bytes.Buffer
	if err := set.ToJSONStream(&b); err != nil {
		panic(fmt.Sprintf("merge: encoding a field set: %v", err)) // it holds names and strings only
	}
	return b.Bytes()
}
