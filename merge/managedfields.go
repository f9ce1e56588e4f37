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
// overwritten with another value has lost it. There is one entry for the runtime and one for each
// patch, in that order; an entry that lost everything has an empty field set. Entries carry no time.
func (o *Ownership) ManagedFields() []metav1.ManagedFieldsEntry {
	sets := make([]*fieldpath.Set, len(o.log.layers))
	for i := range sets {
		sets[i] = fieldpath.NewSet()
	}
	w := walk{log: o.log}
	w.yield = func(path schema.Path, claims []Claim) bool {
		p := fieldPath(path)
		for i, owner := range o.log.inForce(claims) {
			if owner {
				sets[o.log.layerOf(claims[i].Layer)].Insert(p)
			}
		}
		return true
	}
	w.value(schema.JobSetTemplate(), nil, reflect.ValueOf(o.template).Elem(), rootNode, nil)

	entries := make([]metav1.ManagedFieldsEntry, len(sets))
	for i, set := range sets {
		manager := string(o.log.layers[i])
		if name, ok := o.log.layers[i].Manager(); ok {
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

// inForce says of each claim on a field whether its layer still owns the field: nobody wrote another
// value after it.
func (l *log) inForce(claims []Claim) []bool {
	owners := make([]bool, len(claims))
	owners[len(claims)-1] = true
	for i := len(claims) - 2; i >= 0; i-- {
		owners[i] = owners[i+1] && sameValue(claims[i].Value, claims[i+1].Value)
	}
	return owners
}

func (l *log) layerOf(layer schema.Layer) int {
	for i := range l.layers {
		if l.layers[i] == layer {
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
