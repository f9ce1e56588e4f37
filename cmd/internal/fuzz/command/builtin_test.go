package command_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/cmd/internal/builtin"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestBuiltin takes the kinds from the scheme, so that the table misses none that an API server
// stores. A version is left out if it is alpha or beta, or if its kinds are requests.
func TestBuiltin(t *testing.T) {
	stored := map[schema.GroupVersion]bool{}
	known := scheme.Scheme.AllKnownTypes()
	for gvk := range known {
		object, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		if _, isObject := object.(metav1.Object); isObject && isStored(gvk.GroupVersion()) {
			stored[gvk.GroupVersion()] = true
		}
	}
	objects := 0
	for gvk, want := range known {
		object, _ := scheme.Scheme.New(gvk)
		apiVersion, kind := gvk.ToAPIVersionAndKind()
		got, ok := builtin.TypeOf(apiVersion, kind)
		_, isObject := object.(metav1.Object)
		isObject = isObject && stored[gvk.GroupVersion()]
		if ok != isObject || ok && got != want {
			t.Errorf("TypeOf(%q, %q) = %v, %v, want %v, %v", apiVersion, kind, got, ok, want,
				isObject)
		}
		internal := gvk.Version == runtime.APIVersionInternal // of the scheme, not of a server
		if lacks := !stored[gvk.GroupVersion()]; builtin.Lacks(apiVersion) != lacks && !internal {
			t.Errorf("Lacks(%q) = %v", apiVersion, !lacks)
		}
		if isObject {
			objects++
		}
	}
	if objects < 60 {
		t.Errorf("the scheme has %d kinds of objects that a server stores: too few", objects)
	}
	for _, other := range []string{"v1", "apps/v1", "example.com/v1", "jobset.x-k8s.io/v1alpha2",
		"a/b/c"} {
		if builtin.Lacks(other) {
			t.Errorf("Lacks(%q)", other)
		}
	}
}

// isStored reports whether a server stores objects of a version that is neither alpha nor beta.
func isStored(version schema.GroupVersion) bool {
	return !strings.Contains(version.Version, "alpha") &&
		!strings.Contains(version.Version, "beta") && version.Group != "authentication.k8s.io" &&
		version.Group != "authorization.k8s.io"
}
