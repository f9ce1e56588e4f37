package schema_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// TestTypeOf compiles the schema of a whole object that no patch reaches.
func TestTypeOf(t *testing.T) {
	pod := schema.TypeOf(reflect.TypeFor[*corev1.Pod]())
	for _, tc := range []struct{ path, want string }{
		{".metadata.labels", "map"},
		{".metadata.finalizers", "set"},
		{".metadata.ownerReferences", "list-map by uid"},
		{".spec.containers", "list-map by name"},
		{`.spec.containers[name="a"].ports`, "list-map by containerPort"},
		{`.spec.containers[name="a"].resources.limits["cpu"]`, "scalar"},
		{".spec.tolerations", "atomic"},
		{".status.conditions", "list-map by type"},
	} {
		path, err := fieldpath.ParsePath(tc.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := pod.Lookup(path); got == nil || got.String() != tc.want {
			t.Errorf("%s is %v, want %s", tc.path, got, tc.want)
		}
	}
	if n := len(pod.Patchable()); n != 0 {
		t.Errorf("%d fields of a Pod are patchable; patches are of JobSet templates", n)
	}
}
