package render

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// TestDropEmpty drops from a JobSet in which every list has one item. Within it, lists and maps of
// scalars are empty.
func TestDropEmpty(t *testing.T) {
	var js jobset.JobSet
	made := fillEmpty(reflect.ValueOf(&js).Elem())
	if left := countEmpty(reflect.ValueOf(&js).Elem()); made < 150 || left != made {
		t.Fatalf("the test made %d empty lists and maps, and counts %d", made, left)
	}
	dropEmpty(&js)
	if left := countEmpty(reflect.ValueOf(&js).Elem()); left != 0 {
		t.Errorf("of %d empty lists and maps %d are left", made, left)
	}
}

// fillEmpty makes whatever a value can hold and returns the number of empty lists and maps in it.
func fillEmpty(v reflect.Value) int {
	made := 0
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		made = fillEmpty(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				made += fillEmpty(v.Field(i))
			}
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		made = 1
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		if made = fillEmpty(v.Index(0)); made == 0 {
			v.SetLen(0)
			made = 1
		}
	}
	return made
}

func countEmpty(v reflect.Value) int {
	count := 0
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			count = countEmpty(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				count += countEmpty(v.Field(i))
			}
		}
	case reflect.Map, reflect.Slice:
		if !v.IsNil() && v.Len() == 0 {
			count = 1
		}
		for i := 0; v.Kind() == reflect.Slice && i < v.Len(); i++ {
			count += countEmpty(v.Index(i))
		}
	}
	return count
}

// TestDroppedMetadata sets each field of metadata in turn, and also empty lists. A patch is pruned
// exactly if the kept metadata differs from its metadata.
func TestDroppedMetadata(t *testing.T) {
	number := int64(1)
	full := metav1.ObjectMeta{
		Name: "x", GenerateName: "x", Namespace: "x", SelfLink: "x", UID: types.UID("x"),
		ResourceVersion: "x", Generation: 1,
		CreationTimestamp: metav1.Unix(1, 0),
		DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}, DeletionGracePeriodSeconds: &number,
		Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"},
		Finalizers:      []string{"x"},
		OwnerReferences: []metav1.OwnerReference{}, ManagedFields: []metav1.ManagedFieldsEntry{},
	}
	for i := range reflect.TypeFor[metav1.ObjectMeta]().NumField() {
		m := metav1.ObjectMeta{}
		value := reflect.ValueOf(full).Field(i)
		if reflect.ValueOf(&m).Elem().Field(i).Set(value); value.IsZero() {
			t.Fatalf("the test has no value for %s", reflect.TypeOf(m).Field(i).Name)
		}
		if want := !reflect.DeepEqual(m, kept(&m)); hasDropped(&m) != want {
			t.Errorf("%s: pruned is %v, and the kept metadata differs: %v",
				reflect.TypeOf(m).Field(i).Name, !want, want)
		}
	}
}
