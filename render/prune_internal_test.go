package render

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestDroppedMetadata sets each field of metadata in turn, and empty lists besides: a patch is pruned exactly where
// what is kept of its metadata differs from what it holds.
func TestDroppedMetadata(t *testing.T) {
	number := int64(1)
	full := metav1.ObjectMeta{
		Name: "x", GenerateName: "x", Namespace: "x", SelfLink: "x", UID: types.UID("x"), ResourceVersion: "x", Generation: 1,
		CreationTimestamp: metav1.Unix(1, 0), DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}, DeletionGracePeriodSeconds: &number,
		Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"}, Finalizers: []string{"x"},
		OwnerReferences: []metav1.OwnerReference{}, ManagedFields: []metav1.ManagedFieldsEntry{},
	}
	for i := range reflect.TypeFor[metav1.ObjectMeta]().NumField() {
		m := metav1.ObjectMeta{}
		value := reflect.ValueOf(full).Field(i)
		if reflect.ValueOf(&m).Elem().Field(i).Set(value); value.IsZero() {
			t.Fatalf("the test has no value for %s", reflect.TypeOf(m).Field(i).Name)
		}
		if want := !reflect.DeepEqual(m, kept(&m)); hasDropped(&m) != want {
			t.Errorf("%s: pruned is %v, and what is kept differs: %v", reflect.TypeOf(m).Field(i).Name, !want, want)
		}
	}
}
