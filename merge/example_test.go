package merge_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// An operator lays a user's pod template, which it has decoded from a custom resource, over its
// own. The user sets a node selector and a service account. The operator protects some fields, and
// tells the user what it refused.
func Example_override() {
	base := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		ServiceAccountName: "web",
		Containers:         []corev1.Container{{Name: "server", Image: "server:1.4"}},
	}}
	user := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		ServiceAccountName: "admin",
		NodeSelector:       map[string]string{"pool": "fast"},
	}}
	patches := []merge.Patch{{Manager: "user", Value: user}}
	result, err := merge.Strategic(base, patches,
		merge.SkipZero(), // the type encodes "containers": null, which the user did not set
		merge.Protect(fieldpath.Fields("spec", "serviceAccountName")))
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := result.Value.Spec
	fmt.Println(spec.Containers[0].Image, spec.ServiceAccountName, spec.NodeSelector)
	for _, note := range result.Notes {
		if note.Kind == merge.Protected {
			fmt.Println("refused:", note.Owner, note.Path)
		}
	}
	if result, err = merge.Strategic(base, patches); err == nil {
		fmt.Println(len(result.Value.Spec.Containers), "containers:", result.Notes[0].Path,
			"is null")
	}
	// Output:
	// server:1.4 web map[pool:fast]
	// refused: manager/user .spec.serviceAccountName
	// 0 containers: .spec.containers is null
}

// A controller composes a Deployment from its defaults and the patches of two teams.
func Example() {
	defaults := &appsv1.Deployment{}
	defaults.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "server", Image: "server:1.4"}}
	defaults.Spec.Template.Spec.NodeSelector = map[string]string{"pool": "general"}

	web := merge.Object{"spec": map[string]any{
		"replicas": int64(3),
		"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "server", "image": "server:1.5"}},
		}},
	}}
	security := merge.Object{"spec": map[string]any{
		"template": map[string]any{"spec": map[string]any{
			"containers":   []any{map[string]any{"name": "server", "image": "mirror/server:1.4"}},
			"nodeSelector": map[string]any{"$patch": "replace", "pool": "hardened"},
		}},
	}}
	result, err := merge.Strategic(defaults, []merge.Patch{
		{Manager: "web", Value: web},
		{Manager: "security", Value: security},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := result.Value.Spec
	fmt.Println(*spec.Replicas, spec.Template.Spec.Containers[0].Image,
		spec.Template.Spec.NodeSelector)
	fmt.Println(conflict.Find(result.History).Err())
	// Output:
	// 3 mirror/server:1.4 map[pool:hardened]
	// .spec.template.spec.containers[name="server"].image: managers set different values: web sets "server:1.5", security sets "mirror/server:1.4"
}

// A tool merges the objects of a custom resource by its definition.
func ExampleApply() {
	widgets, err := schema.ParseOpenAPI(
		[]byte(`{"type": "object", "properties": {"spec": {"type": "object", "properties": {
		"size": {"type": "integer"},
		"ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"], "items": {
			"type": "object", "required": ["port"], "properties": {"port": {"type": "integer"}, "name": {"type": "string"}}
		}}
	}}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	base := merge.Object{"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}}
	patch := merge.Object{
		"spec": map[string]any{
			"size": int64(2), "ports": []any{map[string]any{"port": int64(80), "name": "http"}}}}
	result, err := merge.Apply(widgets, base, []merge.Patch{{Manager: "web", Value: patch}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Value)
	for layer, fields := range result.History.FieldsV1(nil) {
		fmt.Println(layer, string(fields))
	}
	// Output:
	// map[spec:map[ports:[map[name:http port:80]] size:2]]
	// base {"f:spec":{"f:ports":{"k:{\"port\":80}":{".":{},"f:port":{}}}}}
	// manager/web {"f:spec":{"f:ports":{"k:{\"port\":80}":{".":{},"f:name":{},"f:port":{}}},"f:size":{}}}
}

// A tool shows which fields a manager of a live object owns.
func ExampleFieldsV1Paths() {
	fieldsV1 := merge.Object{"f:spec": merge.Object{"f:replicas": merge.Object{},
		"f:ports": merge.Object{`k:{"port":80,"protocol":"TCP"}`: merge.Object{
			".": merge.Object{}, "f:name": merge.Object{}}}}}
	for path, err := range merge.FieldsV1Paths(fieldsV1) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(path)
	}
	// Output:
	// .spec.ports[port=80,protocol="TCP"]
	// .spec.ports[port=80,protocol="TCP"].name
	// .spec.replicas
}
