package origins_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/trainweld/trainweld/cmd/internal/origins"
)

// FuzzTrace traces any kustomization with a file and a patch. Each place is a line of its file, and
// the last value of each field is that of the build.
func FuzzTrace(f *testing.F) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b, labels: " +
		"{c: d}}\ndata: {e: f}\n"
	for _, k := range []string{
		"resources: [object.yaml]\npatches: [{path: patch.yaml, target: {kind: ConfigMap}}]\n",
		"resources: [object.yaml]\nnamePrefix: x-\nnamespace: b\nlabels: [{pairs: {c: d}}]\n",
		"resources: [object.yaml]\nreplacements: [{source: {kind: ConfigMap, fieldPath: data.e}, " +
			"targets: [{select: {kind: ConfigMap}, fieldPaths: [data.g], options: {create: true}}]}]\n",
		"configMapGenerator: [{name: a, literals: [b=c], files: [patch.yaml]}]\n",
		"resources: [object.yaml]\ncommonLabels: {a: b}\nbuildMetadata: [originAnnotations]\n",
	} {
		f.Add(k, "- {op: replace, path: /data/e, value: f}\n", object)
		f.Add(k, object, object)
	}
	f.Fuzz(func(t *testing.T, text, patch, object string) {
		if len(text)+len(patch)+len(object) > 1<<12 || strings.ContainsAny(text+patch+object, "&*") {
			t.Skip("a build in the process of a test must end")
		}
		tree := filesys.MakeFsInMemory()
		texts := map[string]string{"kustomization.yaml": text, "patch.yaml": patch,
			"object.yaml": object}
		for name, data := range texts {
			if err := tree.WriteFile("/r/"+name, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		source := sourceOf(tree)
		built, err := source.Build("/r", nil)
		if err != nil {
			t.Skip("kustomize rejects it")
		}
		trace, err := origins.New(source, "/r")
		if err != nil {
			t.Skip("it is refused before it is traced")
		}
		if len(trace.Objects) != len(built) {
			t.Fatalf("%d objects, want %d", len(trace.Objects), len(built))
		}
		for i, n := range trace.Objects {
			var want any
			if err := json.Unmarshal(built[i], &want); err != nil {
				t.Fatal(err)
			}
			if got := valueOf(n, want); !reflect.DeepEqual(got, want) {
				t.Errorf("the claims give %v, want %v", got, want)
			}
			inTexts(t, n, texts)
		}
	})
}

// inTexts holds that the claims on a value and its parts have places in the texts.
func inTexts(t *testing.T, n *origins.Node, texts map[string]string) {
	for _, c := range n.Claims {
		if in, ok := texts[c.At.File]; !ok || c.At.Line > strings.Count(in, "\n")+1 {
			t.Errorf("a place %v", c.At)
		}
	}
	for _, part := range slices.AppendSeq(slices.Clone(n.Items), maps.Values(n.Fields)) {
		inTexts(t, part, texts)
	}
}

// valueOf returns a value by its claims, in the shape of another one.
func valueOf(n *origins.Node, like any) any {
	switch like := like.(type) {
	case map[string]any:
		value := map[string]any{}
		for key, inner := range n.Fields {
			if !inner.IsGone() {
				value[key] = valueOf(inner, like[key])
			}
		}
		return value
	case []any:
		value := []any{}
		for i, inner := range n.Items {
			if i < len(like) {
				value = append(value, valueOf(inner, like[i]))
			}
		}
		return value
	}
	return n.Value()
}
