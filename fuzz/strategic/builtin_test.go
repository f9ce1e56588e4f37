package strategic_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/trainweld/trainweld/internal/builtin"
)

// TestBuiltin takes the kinds from the scheme, so that the table misses none.
func TestBuiltin(t *testing.T) {
	objects := 0
	for gvk, want := range scheme.Scheme.AllKnownTypes() {
		object, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		apiVersion, kind := gvk.ToAPIVersionAndKind()
		got, ok := builtin.TypeOf(apiVersion, kind)
		_, isObject := object.(metav1.Object)
		if ok != isObject || ok && got != want {
			t.Errorf("TypeOf(%q, %q) = %v, %v, want %v, %v", apiVersion, kind, got, ok, want, isObject)
		}
		if isObject {
			objects++
		}
	}
	if objects < 100 {
		t.Errorf("the scheme has %d kinds of objects: too few", objects)
	}
}
