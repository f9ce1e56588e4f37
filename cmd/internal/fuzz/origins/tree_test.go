package origins_test

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/types"
)

// TestTree holds that generated trees have each field of a kustomization, besides those of charts,
// which no build renders.
func TestTree(t *testing.T) {
	missing := map[string]bool{}
	for f := range reflect.TypeFor[types.Kustomization]().Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		missing[key] = key != "" && !strings.HasPrefix(key, "helm")
	}
	for seed := range uint64(12) {
		files, _ := newTree(seed)
		for _, text := range files {
			for line := range strings.Lines(text) {
				key, _, _ := strings.Cut(line, ":")
				delete(missing, key)
			}
		}
	}
	for key, is := range missing {
		if is {
			t.Errorf("no tree has %s", key)
		}
	}
}

// tree is a generated repository: files by their paths.
type tree map[string]string

// generator writes kustomizations with random operations.
type generator struct {
	*rand.Rand
	files tree
	count int
	own   bool // has generators, transformers and configurations of its own
	// schemas is whether the top has a schema, which all builds of the process read again.
	schemas bool
}

// newTree returns a base, an overlay over it, one over that, and components of both.
func newTree(seed uint64) (files tree, top string) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), files: tree{}, own: seed%2 == 0,
		schemas: seed%4 == 3}
	g.base("/r/base")
	g.component("/r/side")
	g.component("/r/more")
	g.overlay("/r/mid", "../base", "../side")
	g.overlay("/r/top", "../mid", "../more")
	return g.files, "/r/top"
}

func (g *generator) write(dir string, lines []string) {
	g.files[dir+"/kustomization.yaml"] = strings.Join(lines, "\n") + "\n"
}

// word returns a new word, so that each value has one place.
func (g *generator) word(kind string) string {
	g.count++
	return fmt.Sprintf("%s%d", kind, g.count)
}

// files are parts of generated trees. The file crd.json says that a Thing names a ConfigMap, and
// schema.json merges the list of a Thing by names.
//
//go:embed testdata
var files embed.FS

func text(name string) string {
	data, err := files.ReadFile("testdata/" + name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func (g *generator) base(dir string) {
	g.files[dir+"/web.yaml"] = fmt.Sprintf(text("deployment.yaml"),
		g.word("t"), g.word("arg"), g.word("v"))
	g.files[dir+"/others.yaml"] = fmt.Sprintf(text("others.yaml"),
		g.word("o"), g.word("a"), g.word("x"), g.word("k"))
	g.files[dir+"/app.conf"] = "hello\n"
	g.files[dir+"/some.env"] = "# a comment\nFIRST=1\nSECOND=2\n"
	lines := []string{"resources: [web.yaml, others.yaml]", "configMapGenerator:",
		"- name: settings", "  literals: [mode=" + g.word("m") + "]", "  files: [app.conf]",
		"  envs: [some.env]", "secretGenerator:",
		"- {name: token, literals: [key=" + g.word("s") + "]}"}
	if g.IntN(2) == 0 {
		lines = append(lines, "vars:\n- name: SERVICE\n  objref: {apiVersion: v1, kind: Service, "+
			"name: web}\n  fieldref: {fieldpath: metadata.name}")
	}
	g.write(dir, append(lines, g.operations(dir)...))
}

func (g *generator) component(dir string) {
	g.write(dir, append([]string{"apiVersion: kustomize.config.k8s.io/v1alpha1", "kind: Component"},
		g.operations(dir)...))
}

func (g *generator) overlay(dir, base, component string) {
	lines := []string{"resources: [" + base + "]"}
	if g.IntN(4) == 0 {
		lines = []string{"bases: [" + base + "]"}
	}
	if g.IntN(3) > 0 {
		lines = append(lines, "components: ["+component+"]")
	}
	if g.IntN(2) == 0 {
		behavior := [...]string{"merge", "merge", "replace"}[g.IntN(3)]
		lines = append(lines, "configMapGenerator:", "- name: settings", "  behavior: "+behavior,
			"  literals:", "  - mode="+g.word("m"), "  - extra="+g.word("e"))
	}
	if g.schemas && strings.HasSuffix(dir, "top") {
		g.files[dir+"/schema.json"] = text("schema.json")
		lines = append(lines, "openapi: {path: schema.json}")
	}
	g.write(dir, append(lines, g.operations(dir)...))
}

// operations returns some of the other operations of a kustomization.
func (g *generator) operations(dir string) []string {
	all := []string{
		g.patches(dir), g.merges(dir),
		"namespace: " + g.word("ns"),
		"namePrefix: " + g.word("p") + "-",
		"nameSuffix: -" + g.word("s"),
		fmt.Sprintf("labels:\n- pairs:\n    %s: %s\n  includeSelectors: %t\n- pairs: {tier: %s}\n"+
			"  includeTemplates: %t", g.word("l"), g.word("v"), g.IntN(2) == 0, g.word("t"),
			g.IntN(2) == 0),
		"commonLabels: {" + g.word("c") + ": " + g.word("v") + "}",
		"commonAnnotations:\n  " + g.word("n") + ": " + g.word("v") + "\n  owner: " + g.word("o"),
		"patchesJson6902:\n- target: {kind: Service, version: v1, name: web}\n  patch: |-\n" +
			"    - op: add\n      path: /spec/ports/0\n      value:\n        name: " + g.word("p") +
			"\n        port: 9",
		fmt.Sprintf("replicas: [{name: web, count: %d}]", g.IntN(90)+2),
		"images:\n- name: registry.example.com/web\n  newTag: " + g.word("t") +
			"\n- {name: log, newName: " + g.word("l") + "}",
		"replacements:\n- source: {kind: ConfigMap, name: plain, fieldPath: data.a}\n  targets:\n" +
			"  - select: {kind: Thing}\n    fieldPaths: ['spec.list.[name=x].value']",
		"transformers:\n- |\n  apiVersion: builtin\n  kind: AnnotationsTransformer\n" +
			"  metadata: {name: n}\n  annotations: {" + g.word("t") + ": " + g.word("v") +
			"}\n  fieldSpecs: [{path: metadata/annotations, create: true}]\n  ---\n" +
			"  apiVersion: builtin\n  kind: AnnotationsTransformer\n  metadata: {name: m}\n" +
			"  annotations: {" + g.word("t") + ": " + g.word("v") +
			"}\n  fieldSpecs: [{path: metadata/annotations, create: true}]",
		"generatorOptions:\n  labels:\n    " + g.word("l") + ": " + g.word("v"),
		"buildMetadata: [managedByLabel]",
		"configurations: [config.yaml]",
		"crds: [crd.json]",
		"imageTags:\n- {name: side, newTag: " + g.word("t") + "}",
		"metadata: {name: " + g.word("n") + "}",
		[...]string{"sortOptions: {order: legacy}", "sortOptions: {order: fifo}", "sortOptions: " +
			"{order: legacy, legacySortOptions: {orderFirst: [Service], orderLast: [Thing]}}",
		}[g.IntN(3)],
		"validators:\n- |\n  apiVersion: builtin\n  kind: AnnotationsTransformer\n" +
			"  metadata: {name: valid}\n  fieldSpecs: [{path: metadata/annotations, create: true}]",
		"generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n" +
			"  metadata: {name: " + g.word("g") + "}\n  literals: [a=" + g.word("b") + "]",
	}
	g.files[dir+"/config.yaml"] = "nameReference:\n- kind: ConfigMap\n  fieldSpecs:\n" +
		"  - {kind: Thing, path: spec/ref}\n"
	g.files[dir+"/crd.json"] = text("crd.json")
	var lines []string
	for _, text := range all {
		key, _, _ := strings.Cut(text, ":")
		isOwn := slices.Contains([]string{"generators", "transformers", "validators",
			"configurations", "crds"}, key)
		if g.IntN(3) == 0 && (g.own || !isOwn) {
			lines = append(lines, text)
		}
	}
	return lines
}

// patches returns patches of each form: merges and operations, in the kustomization and in files.
func (g *generator) patches(dir string) string {
	file := g.word("patch") + ".yaml"
	g.files[dir+"/"+file] = fmt.Sprintf(text("patch.yaml"),
		g.word("n"), g.IntN(90)+100, g.word("arg"), g.word("v"), g.word("v"))
	all := []string{
		"- path: " + file,
		"- target: {kind: ConfigMap, name: plain}\n  patch: |\n    - op: add\n      path: /data/" +
			g.word("k") + "\n      value: " + g.word("v") +
			"\n    - {op: replace, path: /data/a, value: " + g.word("a") + "}",
		"- target: {kind: Deployment}\n  patch: |-\n    - op: add\n" +
			"      path: /spec/template/spec/containers/0/args\n      value: [" + g.word("arg") + "]" +
			"\n    - op: copy\n      from: /metadata/labels/tier\n" +
			"      path: /metadata/labels/copied\n    - op: remove\n" +
			"      path: /spec/template/spec/volumes/0",
		"- target: {kind: Thing}\n  patch: |-\n    apiVersion: example.com/v1\n    kind: Thing\n" +
			"    metadata: {name: any}\n    spec:\n      list:\n      - value: " +
			g.word("x") + "\n        name: x\n      - {name: z, value: z}\n      free: {k: null, new: " +
			g.word("f") + "}",
	}
	text := "patches:"
	for _, patch := range all {
		if g.IntN(2) == 0 {
			text += "\n" + patch
		}
	}
	if text == "patches:" {
		return "# nothing to patch"
	}
	return text
}

func (g *generator) merges(dir string) string {
	file := g.word("merge") + ".yaml"
	g.files[dir+"/"+file] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n" +
		"data: {a: " + g.word("a") + ", long: null}\n"
	return "patchesStrategicMerge:\n- " + file + "\n- |-\n  apiVersion: v1\n  kind: Service\n" +
		"  metadata: {name: web}\n  spec:\n    type: NodePort\n    ports:\n    - port: 80\n" +
		"      name: http\n      nodePort: 30000"
}
