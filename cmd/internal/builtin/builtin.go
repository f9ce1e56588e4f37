// Package builtin returns the Go types and the schemas of Kubernetes' own kinds.
//
//	t, ok := builtin.TypeOf("apps/v1", "Deployment")
//
// Its first file to read is builtin.go.
package builtin

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"reflect"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trainweld/trainweld/render/release/minor"
	"github.com/trainweld/trainweld/schema"
)

// groups holds the stable groups and versions of k8s.io/api that an API server stores. [Lacks] has
// the others: each would add its code to the program, the beta versions 2 MB of it.
var groups = runtime.SchemeBuilder{
	admissionregistrationv1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme,
	autoscalingv2.AddToScheme, batchv1.AddToScheme, certificatesv1.AddToScheme,
	coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme,
	eventsv1.AddToScheme, flowcontrolv1.AddToScheme, networkingv1.AddToScheme,
	nodev1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, resourcev1.AddToScheme,
	schedulingv1.AddToScheme, storagev1.AddToScheme,
}

// types registers the groups on first use.
var types = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := groups.AddToScheme(scheme); err != nil {
		panic("builtin: " + err.Error()) // two groups register one kind
	}
	return scheme
})

// Lacks reports whether a version is one of Kubernetes that TypeOf leaves out: it is alpha or beta,
// or no server stores its kinds, as those of authentication.k8s.io and authorization.k8s.io.
func Lacks(apiVersion string) bool {
	version, err := runtimeschema.ParseGroupVersion(apiVersion)
	if err != nil || types().IsVersionRegistered(version) {
		return false
	}
	switch version.Group {
	case "authentication.k8s.io", "authorization.k8s.io", "extensions", "internal.apiserver.k8s.io",
		"storagemigration.k8s.io":
		return true
	}
	return types().IsGroupRegistered(version.Group)
}

// TypeOf returns the struct type of a kind, and whether Kubernetes has objects of that kind. Lists
// and options are not objects.
func TypeOf(apiVersion, kind string) (reflect.Type, bool) {
	version, err := runtimeschema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, false
	}
	object, err := types().New(version.WithKind(kind))
	if err != nil {
		return nil, false
	}
	if _, ok := object.(metav1.Object); !ok {
		return nil, false
	}
	return reflect.TypeOf(object).Elem(), true
}

// schemas holds how the kinds of each version of Kubernetes merge, without their descriptions. The
// program fuzz/minors/schemas writes it.
//
//go:embed schemas.json.gz
var schemas []byte

// SchemaOf returns how an apply merges the objects of a kind in a minor version of Kubernetes. It
// is nil for a kind that the version does not serve. Unlike TypeOf, it knows alpha and beta
// versions.
func SchemaOf(kubernetes, apiVersion, kind string) *schema.Type {
	t, err := schema.ParseOpenAPI(
		documentOf(kubernetes), runtimeschema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		return nil // the document has no other mistake than to lack the kind
	}
	return t
}

// documentOf returns the OpenAPI document of a version.
func documentOf(kubernetes string) []byte {
	read, err := gzip.NewReader(bytes.NewReader(schemas))
	if err != nil {
		panic("builtin: " + err.Error()) // the file is not what the program writes
	}
	// The oldest version has all its schemas, and each later one those that it changes or, as null,
	// removes.
	var changes []struct {
		Minor   string
		Schemas map[string]json.RawMessage
	}
	if err := json.NewDecoder(read).Decode(&changes); err != nil {
		panic("builtin: " + err.Error())
	}
	all := map[string]json.RawMessage{}
	for i, change := range changes {
		if i > 0 && minor.Compare(change.Minor, kubernetes) > 0 {
			break
		}
		for name, text := range change.Schemas {
			if all[name] = text; string(text) == "null" {
				delete(all, name)
			}
		}
	}
	document, err := json.Marshal(map[string]any{
		"openapi": "3.0.0", "components": map[string]any{"schemas": all}})
	if err != nil {
		panic("builtin: " + err.Error())
	}
	return document
}
