package build

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// memory is a tree in memory, without links.
type memory struct{ fstest.MapFS }

func (m memory) Real(name string) (string, error) { return filepath.Join("/tree", name), nil }

// FuzzKustomization inspects any kustomization. Rejections are at lines of their files, and a file
// that names something remote is rejected.
func FuzzKustomization(f *testing.F) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b, labels: " +
		"{c: d}}\ndata: {e: f}\n"
	for _, k := range []string{
		"", "resources: [object.yaml]\npatches: [{path: patch.yaml}, {patch: \"kind: " +
			"ConfigMap\\nmetadata: {name: a}\\ndata: {e: f}\"}]\n",
		"bases: [https://example.com/a]\n", "resources: [https://example.com/a.yaml]\n",
		"resources: [github.com/a/b, ../x, object.yaml]\n",
		"namePrefix: x-\nnamespace: b\nlabels: [{pairs: {c: d}}]\nimages: [{name: a, newTag: b}]\n",
		"replacements: [{path: patch.yaml}, {source: {kind: A}, targets: [{fieldPaths: [data.e, " +
			"'data.[a\\.b]']}]}]\n",
		"configMapGenerator: [{name: a, files: [a=http://x, patch.yaml]}]\n",
		"generators: [\"apiVersion: builtin\\nkind: HelmChartInflationGenerator\"]\n",
		"helmCharts: [{name: a}]\n", "resources: {a: b}\n", "- a\n",
		"patchesJson6902: [{target: {kind: A}, path: patch.yaml}]\n",
		"transformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  path: HTTPS://x\n",
		"resources: &a [*a]\n", "crds: [\"http:x\"]\n",
	} {
		f.Add(k, "- op: replace\n  path: /data/e\n  value: f\n", object)
		f.Add(k, object, object)
	}
	f.Fuzz(func(t *testing.T, text, patch, object string) {
		if len(text)+len(patch)+len(object) > 1<<13 {
			t.Skip("larger than the files of a fuzzer need to be")
		}
		texts := map[string]string{"kustomization.yaml": text, "patch.yaml": patch,
			"object.yaml": object}
		tree := memory{fstest.MapFS{}}
		for name, of := range texts {
			tree.MapFS[name] = &fstest.MapFile{Data: []byte(of)}
		}
		k := (&kustomizations{tree: tree}).in(".")
		lines := func(name string) int {
			return strings.Count(strings.ReplaceAll(texts[name], "\r", "\n"), "\n") + 1
		}
		for _, r := range k.rejections {
			if r.Message == "" || r.Remedy.Text == "" || strings.Contains(r.Remedy.Text, "\n") ||
				r.Position.Line > lines("kustomization.yaml") {
				t.Errorf("%q: the refusal %+v", text, r)
			}
		}
		for _, name := range k.Resources {
			if strings.HasPrefix(name, "https://") && len(k.rejections) == 0 {
				t.Errorf("%q names %q, and is not refused", text, name)
			}
		}
	})
}
