package release_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/render/release"
)

// kinds are the kinds of the component's files.
var kinds = []string{"TrainJob", "TrainingRuntime", "ClusterTrainingRuntime", "JobSet"}

// definition is a custom resource definition of a kind, with the fields that the tests read.
type definition struct {
	Spec struct {
		Group, Scope string
		Names        struct{ Plural string }
		Versions     []struct {
			Name   string
			Schema struct {
				OpenAPIV3Schema *node `json:"openAPIV3Schema"`
			}
		}
	}
}

func define(t *testing.T, name string) (d definition) {
	t.Helper()
	data, err := release.Latest().Definition(name)
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	if err != nil || len(d.Spec.Versions) != 1 {
		t.Fatalf("%s has %d versions: %v", name, len(d.Spec.Versions), err)
	}
	delete(d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties, "status")
	return d
}

// same wants a file of the component to have a text.
func same(t *testing.T, name, want string) {
	t.Helper()
	file := filepath.Join("../../docs/examples/components/trainjobs", name)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s differs from the definitions; run this test with -update (-want "+
			"+got):\n%.3000s", name, diff)
	}
}

// node is the part of a schema that says how lists merge.
type node struct {
	Type                 string           `json:"type,omitempty"`
	Properties           map[string]*node `json:"properties,omitempty"`
	AdditionalProperties *node            `json:"additionalProperties,omitempty"`
	Items                *node            `json:"items,omitempty"`
	ListType             string           `json:"x-kubernetes-list-type,omitempty"`
	ListMapKeys          []string         `json:"x-kubernetes-list-map-keys,omitempty"`
	PatchStrategy        string           `json:"x-kubernetes-patch-strategy,omitempty"`
	PatchMergeKey        string           `json:"x-kubernetes-patch-merge-key,omitempty"`
	Kinds                []kind           `json:"x-kubernetes-group-version-kind,omitempty"`
}

type kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// merging returns the node with the lists that merge and the way to them, in the words of
// kustomize. It returns nil for a node without any: kustomize merges objects and replaces lists
// without a schema.
func (n *node) merging() *node {
	switch {
	case n == nil:
		return nil
	case n.ListType == "map":
		items := n.Items.merging()
		if items == nil {
			items = &node{Type: "object"}
		}
		return &node{Type: "array", Items: items, ListMapKeys: n.ListMapKeys,
			PatchStrategy: "merge", PatchMergeKey: n.ListMapKeys[0]}
	case n.ListType == "set":
		return &node{Type: "array", Items: &node{Type: n.Items.Type}, PatchStrategy: "merge"}
	}
	properties := map[string]*node{}
	for name, property := range n.Properties {
		if property = property.merging(); property != nil {
			properties[name] = property
		}
	}
	if len(properties) == 0 {
		return nil
	}
	return &node{Type: "object", Properties: properties}
}

// TestComponentSchema wants the component's schema to agree with the definitions of the latest
// release about lists. It also wants the schema to name the kinds without a namespace. This
// matters, since kustomize namespaces every kind that it does not know.
func TestComponentSchema(t *testing.T) {
	definitions, paths := map[string]*node{}, map[string]any{}
	for _, name := range kinds {
		spec := define(t, name).Spec
		of := kind{spec.Group, spec.Versions[0].Name, name}
		root := spec.Versions[0].Schema.OpenAPIV3Schema.merging()
		if root == nil {
			t.Fatalf("no list of a %s merges; does this test read the definition?", name)
		}
		root.Kinds = []kind{of}
		definitions[strings.Join([]string{of.Group, of.Version, name}, ".")] = root
		scope := "namespaces/{namespace}/"
		if spec.Scope == "Cluster" {
			scope = ""
		}
		paths["/apis/"+of.Group+"/"+of.Version+"/"+scope+spec.Names.Plural+
			"/{name}"] = map[string]any{
			"get": map[string]any{
				"x-kubernetes-action": "get", "x-kubernetes-group-version-kind": of,
				"responses": map[string]any{}},
		}
	}
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(map[string]any{
		"swagger": "2.0",
		"info": map[string]string{
			"title": "Kubeflow Trainer", "version": release.Latest().Version},
		"paths": paths, "definitions": definitions,
	}); err != nil {
		t.Fatal(err)
	}
	same(t, "schema.json", want.String())
}

// references are the paths at which an object names another one, by the kind of that one.
type references map[string][]string

// find adds the references of a node. The path has the form of kustomize's field specs, which
// descend into lists by themselves.
func (r references) find(n *node, path string) {
	if n == nil {
		return
	}
	r.find(n.Items, path)
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		property, at := n.Properties[name], path+"/"+name
		switch name {
		case "ephemeralContainers": // a template has none
			continue
		case "configMapKeyRef", "configMapRef", "configMap":
			r.add("ConfigMap", at+"/name")
		case "secretKeyRef", "secretRef", "imagePullSecrets":
			r.add("Secret", at+"/name")
		case "secret":
			field := "/name"
			if property.Properties["secretName"] != nil {
				field = "/secretName"
			}
			r.add("Secret", at+field)
		case "claimName":
			r.add("PersistentVolumeClaim", at)
		case "serviceAccountName":
			r.add("ServiceAccount", at)
		case "runtimeRef":
			r.add("TrainingRuntime", at+"/name")
			r.add("ClusterTrainingRuntime", at+"/name")
		}
		r.find(property, at)
	}
}

func (r references) add(kind, path string) {
	r[kind] = append(r[kind], strings.TrimPrefix(path, "/"))
}

// TestComponentNames wants the component to know each field of the definitions that names another
// object. So kustomize changes it with the name of that object.
func TestComponentNames(t *testing.T) {
	lines := map[string][]string{}
	for _, name := range kinds {
		found := references{}
		found.find(define(t, name).Spec.Versions[0].Schema.OpenAPIV3Schema, "")
		for to, paths := range found {
			for _, path := range paths {
				lines[to] = append(lines[to], fmt.Sprintf("  - {kind: %s, path: %s}\n", name, path))
			}
		}
	}
	var want strings.Builder
	want.WriteString(
		"# The fields that name another object. kustomize changes them with the name of that " +
			"object.\nnameReference:\n")
	for _, to := range slices.Sorted(maps.Keys(lines)) {
		group := ""
		if strings.HasSuffix(to, "Runtime") {
			group = "  group: trainer.kubeflow.org\n"
		}
		fmt.Fprintf(&want, "- kind: %s\n%s  fieldSpecs:\n%s", to, group,
			strings.Join(lines[to], ""))
	}
	same(t, "names.yaml", want.String())
}
