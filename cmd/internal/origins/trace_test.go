package origins_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/fieldpath"
)

// files are the files of a tree, with others instead of some.
type files struct {
	filesys.FileSystem
	instead map[string][]byte
}

func (f files) ReadFile(name string) ([]byte, error) {
	if data, ok := f.instead[name]; ok {
		return data, nil
	}
	return f.FileSystem.ReadFile(name)
}

func sourceOf(tree filesys.FileSystem) origins.Source {
	return origins.Source{
		Build: func(dir string, instead map[string][]byte) ([][]byte, error) {
			made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(
				files{tree, instead}, dir)
			if err != nil {
				return nil, err
			}
			var texts [][]byte
			for _, r := range made.Resources() {
				text, err := r.MarshalJSON()
				if err != nil {
					return nil, err
				}
				texts = append(texts, text)
			}
			return texts, nil
		},
		Read: func(name string) ([]byte, error) {
			if tree.IsDir(name) {
				return nil, errors.New("a directory")
			}
			return tree.ReadFile(name)
		},
		Dir: func(name string) (string, bool) { return filepath.Clean(name), tree.IsDir(name) },
	}
}

// shown returns the claims of each scalar.
func shown(t *origins.Trace) string {
	var lines []string
	var walk func(n *origins.Node, path string)
	walk = func(n *origins.Node, path string) {
		for i, c := range n.Claims {
			if c.Value != nil || c.Gone {
				lines = append(lines, fmt.Sprintf("%s#%d %v %s %s:%d", path, i, c.Value,
					t.Operations[c.Operation].Name, c.At.File, c.At.Line))
			}
		}
		for key, f := range n.Fields {
			walk(f, path+"."+key)
		}
		for i, f := range n.Items {
			walk(f, fmt.Sprintf("%s[%d]", path, i))
		}
	}
	for i, o := range t.Objects {
		walk(o, fmt.Sprint(i))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

const sample = `
-- /r/base/kustomization.yaml --
resources: [web.yaml]
configMapGenerator:
- name: settings
  literals: [mode=fast]
  files: [app.conf]
images:
- {name: web, newTag: "2"}
-- /r/base/app.conf --
hello
-- /r/base/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web:1
        args: [a, b]
        envFrom: [{configMapRef: {name: settings}}]
        env: [{name: OLD}, {name: LOG, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
-- /r/comp/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: Deployment}
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: c
-- /r/prod/kustomization.yaml --
resources: [../base]
components: [../comp]
namePrefix: prod-
namespace: prod
labels: [{pairs: {team: a}}]
patches:
- path: more.yaml
replacements:
- source: {kind: Deployment, fieldPath: spec.replicas}
  targets:
  - select: {kind: ConfigMap}
    fieldPaths: [data.mode]
-- /r/prod/more.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - name: side
        image: side
      - name: web
        args: null
        env:
        - {name: OLD, $patch: delete}
        - {name: LOG, value: info, valueFrom: {$patch: delete}}
`

const want = `0.apiVersion#0 apps/v1 resources ../base/web.yaml:1
0.kind#0 Deployment resources ../base/web.yaml:2
0.metadata.labels.team#0 a labels[0] kustomization.yaml:5
0.metadata.name#0 web resources ../base/web.yaml:3
0.metadata.name#1 prod-web namePrefix kustomization.yaml:3
0.metadata.namespace#0 prod namespace kustomization.yaml:4
0.spec.replicas#0 1 resources ../base/web.yaml:5
0.spec.replicas#1 3 patches[0] more.yaml:5
0.spec.selector.matchLabels.app#0 web resources ../base/web.yaml:6
0.spec.template.metadata.labels.app#0 web resources ../base/web.yaml:8
0.spec.template.spec.containers[0].image#0 side patches[0] more.yaml:10
0.spec.template.spec.containers[0].name#0 side patches[0] more.yaml:9
0.spec.template.spec.containers[1].args#1 <nil> patches[0] more.yaml:12
0.spec.template.spec.containers[1].envFrom[0].configMapRef.name#0 settings resources ../base/web.yaml:14
0.spec.template.spec.containers[1].envFrom[0].configMapRef.name#1 settings-gdh6ddt76t configMapGenerator[0] ../base/kustomization.yaml:3
0.spec.template.spec.containers[1].envFrom[0].configMapRef.name#2 prod-settings-gdh6ddt76t namePrefix kustomization.yaml:3
0.spec.template.spec.containers[1].envFrom[0].configMapRef.name#3 prod-settings-4b592486gg replacements[0] kustomization.yaml:9
0.spec.template.spec.containers[1].env[0].name#0 LOG resources ../base/web.yaml:15
0.spec.template.spec.containers[1].env[0].value#0 info patches[0] more.yaml:15
0.spec.template.spec.containers[1].env[0].valueFrom#1 <nil> patches[0] more.yaml:15
0.spec.template.spec.containers[1].env[0].valueFrom.fieldRef#1 <nil> patches[0] more.yaml:15
0.spec.template.spec.containers[1].env[0].valueFrom.fieldRef.fieldPath#0 spec.nodeName resources ../base/web.yaml:15
0.spec.template.spec.containers[1].env[0].valueFrom.fieldRef.fieldPath#1 <nil> patches[0] more.yaml:15
0.spec.template.spec.containers[1].image#0 web:1 resources ../base/web.yaml:12
0.spec.template.spec.containers[1].image#1 web:2 images[0] ../base/kustomization.yaml:7
0.spec.template.spec.containers[1].name#0 web resources ../base/web.yaml:11
1.apiVersion#0 v1 configMapGenerator[0] ../base/kustomization.yaml:3
1.data.app.conf#0 hello
 configMapGenerator[0] ../base/app.conf:1
1.data.mode#0 fast configMapGenerator[0] ../base/kustomization.yaml:4
1.data.mode#1 3 replacements[0] kustomization.yaml:12
1.kind#0 ConfigMap configMapGenerator[0] ../base/kustomization.yaml:3
1.metadata.labels.team#0 a labels[0] kustomization.yaml:5
1.metadata.name#0 settings-gdh6ddt76t configMapGenerator[0] ../base/kustomization.yaml:3
1.metadata.name#1 prod-settings-gdh6ddt76t namePrefix kustomization.yaml:3
1.metadata.name#2 prod-settings-4b592486gg replacements[0] kustomization.yaml:9
1.metadata.namespace#0 prod namespace kustomization.yaml:4`

func treeOf(t *testing.T, text string) filesys.FileSystem {
	t.Helper()
	tree := filesys.MakeFsInMemory()
	for _, f := range txtar.Parse([]byte(text)).Files {
		if err := tree.WriteFile(f.Name, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

// TestTrace holds that each value has all that set it, with the places.
func TestTrace(t *testing.T) {
	trace, err := origins.New(sourceOf(treeOf(t, sample)), "/r/prod")
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(trace); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTrace_Builds holds that each operation is built once, and none that only takes over a base.
func TestTrace_Builds(t *testing.T) {
	source := sourceOf(treeOf(t, sample))
	whole, builds := source.Build, 0
	source.Build = func(dir string, instead map[string][]byte) ([][]byte, error) {
		builds++
		return whole(dir, instead)
	}
	trace, err := origins.New(source, "/r/prod")
	if err != nil {
		t.Fatal(err)
	}
	if want := len(trace.Operations) - 1; builds != want {
		t.Errorf("%d builds for %d operations, and not %d", builds, len(trace.Operations), want)
	}
}

// TestTrace_Places holds the place of a value that several operations could have set.
func TestTrace_Places(t *testing.T) {
	trace, err := origins.New(sourceOf(treeOf(t, `-- /r/kustomization.yaml --
resources: [object.yaml]
images: [{name: web, newName: shop}]
namespace: a
patches: [{path: patch.yaml, target: {kind: Foo}}]
-- /r/object.yaml --
apiVersion: example.com/v1
kind: Foo
metadata: {name: a}
spec:
  image: shop
  containers: [{name: c, image: web}]
  list:
  - {owner: p, jobs: [{name: node, n: 1}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: a}
-- /r/patch.yaml --
apiVersion: example.com/v1
kind: Foo
metadata: {name: any}
spec:
  list:
  - {owner: s, jobs: [{name: node, n: 1}]}
`)), "/r")
	if err != nil {
		t.Fatal(err)
	}
	name := trace.At(1, fieldpath.Fields("metadata", "name"))
	if n := len(name); n != 2 || name[1].At.File != "kustomization.yaml" || name[1].At.Line != 3 {
		t.Errorf("namespace sets the name of a Namespace, also where it has it: %v", name)
	}
	list := fieldpath.Fields("spec", "list").Append(fieldpath.Index(0), fieldpath.Field("jobs"))
	for _, c := range []struct {
		reason string
		path   fieldpath.Path
		file   string
		line   int
	}{
		{"the patch replaces the list", list, "patch.yaml", 6},
		{"with each item", list.Append(fieldpath.Index(0)), "patch.yaml", 6},
		{"and each equal value", list.Append(fieldpath.Index(0), fieldpath.Field("n")),
			"patch.yaml", 6},
		{"images changes no image outside of containers", fieldpath.Fields("spec", "image"),
			"object.yaml", 5},
		{"and those of containers", fieldpath.Fields("spec", "containers").Append(
			fieldpath.Index(0), fieldpath.Field("image")), "kustomization.yaml", 2},
	} {
		claims := trace.At(0, c.path)
		at := claims[len(claims)-1].At
		if filepath.Base(at.File) != c.file || at.Line != c.line {
			t.Errorf("%s: %s is set at %s:%d, and not at %s:%d", c.reason, c.path, at.File, at.Line,
				c.file, c.line)
		}
	}
}

// TestTrace_Configured holds that each document of a file of transformers is an operation.
func TestTrace_Configured(t *testing.T) {
	const one = "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: a}\n" +
		"annotations: {one: a}\nfieldSpecs: [{path: metadata/annotations, create: true}]\n"
	trace, err := origins.New(sourceOf(treeOf(t, strings.Replace(sample, "namePrefix: prod-",
		"transformers: [many.yaml]\nnamePrefix: prod-", 1)+"-- /r/prod/many.yaml --\n"+one+"---\n"+
		strings.NewReplacer("one", "two", "name: a", "name: b").Replace(one))), "/r/prod")
	if err != nil {
		t.Fatal(err)
	}
	for key, line := range map[string]int{"one": 1, "two": 7} {
		claims := trace.At(1, fieldpath.Fields("metadata", "annotations", key))
		if at := claims[len(claims)-1].At; at.File != "many.yaml" || at.Line != line {
			t.Errorf("%s is set at %v, and not in line %d of many.yaml", key, at, line)
		}
	}
}

// TestTrace_Schema holds that the schema of the built directory is that of its bases, whatever they
// set: with one that lacks Deployments, a patch of the base replaces the containers.
func TestTrace_Schema(t *testing.T) {
	openapi.ResetOpenAPI() // kustomize keeps it for the whole process
	defer openapi.ResetOpenAPI()
	const patch = "openapi: {version: v1.21.2}\npatches:\n- path: patch.yaml\n"
	files := strings.Replace(sample, "configMapGenerator:", patch+"configMapGenerator:", 1)
	source := sourceOf(treeOf(t, strings.Replace(files, "resources: [../base]",
		"resources: [../base]\nopenapi: {path: schema.json}", 1)+`-- /r/prod/schema.json --
{"definitions": {}}
-- /r/base/patch.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, image: web:3, args: [c]}]}}}
`))
	_, err := source.Build("/r/prod", nil)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := origins.New(source, "/r/prod")
	if err != nil {
		t.Fatal(err)
	}
	const name = "containers[1].name#1 web patches[0] ../base/patch.yaml:4"
	if got := shown(trace); !strings.Contains(got, name) {
		t.Errorf("the containers of the base stay:\n%s", got)
	}
}

// TestTrace_Rest holds that what a kustomization does besides the known operations has the
// kustomization as its place, and the name of the keys: in the built directory, a base and a
// component.
func TestTrace_Rest(t *testing.T) {
	for _, dir := range []string{"/r/base", "/r/comp", "/r/prod"} {
		tree := treeOf(t, sample)
		file := dir + "/kustomization.yaml"
		data, err := tree.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := tree.WriteFile(file, append(data, "helmGlobals: {chartHome: none}\n"...)); err != nil {
			t.Fatal(err)
		}
		source := sourceOf(tree)
		whole := source.Build
		source.Build = func(top string, instead map[string][]byte) ([][]byte, error) {
			all := maps.Clone(instead)
			if all == nil {
				all = map[string][]byte{}
			}
			_, isPart := all[file]
			if !isPart {
				all[file] = data // without the key, which kustomize would refuse
			}
			made, err := whole(top, all)
			uses := top == dir || top == "/r/prod" && (dir != "/r/comp" || isPart ||
				all["/r/prod/kustomization.yaml"] == nil ||
				bytes.Contains(all["/r/prod/kustomization.yaml"], []byte("components")))
			for i := range made {
				if uses && !isPart {
					made[i] = append([]byte(`{"unknown":"x",`), made[i][1:]...)
				}
			}
			return made, err
		}
		trace, err := origins.New(source, "/r/prod")
		if err != nil {
			t.Fatal(err)
		}
		for i := range trace.Objects {
			c := trace.At(i, fieldpath.Fields("unknown"))[0]
			at, err := filepath.Rel("/r/prod", file)
			if err != nil || c.Value != "x" || trace.Operations[c.Operation].Name != "helmGlobals" ||
				c.At != (fieldpath.Position{File: at}) {
				t.Errorf("%s: object %d: %v by %v, %v", dir, i, c, trace.Operations[c.Operation], err)
			}
		}
	}
}

// TestTrace_Base holds that what acts only in the built directory changes nothing in a base.
func TestTrace_Base(t *testing.T) {
	text := strings.Replace(sample, "resources: [web.yaml]", "resources: [web.yaml]\n"+
		"buildMetadata: [managedByLabel]\nsortOptions: {order: legacy}", 1)
	trace, err := origins.New(sourceOf(treeOf(t, text)), "/r/prod")
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(trace); strings.Contains(got, "managed-by") {
		t.Errorf("the base marks its objects:\n%s", got)
	}
}

// TestTrace_Live holds that the state in a cluster is one operation more.
func TestTrace_Live(t *testing.T) {
	trace, err := origins.New(sourceOf(treeOf(t, sample)), "/r/prod")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(trace) // as the process that builds sends it
	if err == nil {
		trace = &origins.Trace{}
		err = json.Unmarshal(text, trace)
	}
	if err != nil {
		t.Fatal(err)
	}
	spec := func(replicas any) map[string]any {
		return map[string]any{"kind": "Deployment", "spec": map[string]any{"replicas": replicas}}
	}
	op := trace.Live(0, spec(3.0), spec(5.0))
	claims := trace.At(0, fieldpath.Fields("spec", "replicas"))
	if n := len(claims); n != 3 || claims[n-1].Value != 5.0 || claims[n-1].Operation != op {
		t.Errorf("replicas has the claims %v", claims)
	}
	if claims := trace.At(0, fieldpath.Fields("kind")); len(claims) != 1 {
		t.Errorf("kind has the claims %v", claims)
	}
}

// TestNeeded holds that the trace of one object is the same without the objects that it does not
// need, and that an object that is another one without them is noticed.
func TestNeeded(t *testing.T) {
	const others = `-- /r/prod/extra.yaml --
apiVersion: v1
kind: Secret
metadata: {name: idle}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}}
---
apiVersion: v1
kind: Service
metadata: {name: idle}
`
	source := sourceOf(treeOf(t,
		strings.Replace(sample, "[../base]", "[../base, extra.yaml]", 1)+others))
	all, err := source.Build("/r/prod", nil)
	if err != nil {
		t.Fatal(err)
	}
	output := bytes.Join(all, []byte("\n"))
	full, err := origins.New(source, "/r/prod")
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range []struct {
		kind, name string
		at         int // in the output
		builds     int // the objects that are built
	}{
		{"Deployment", "web", 0, 3}, {"configmap", "settings", 1, 3}, {"Secret", "prod-idle", 2, 5},
		{"Service", "prod-web", 3, 3},
	} {
		files, err := origins.Needed(source, "/r/prod", asked.kind, asked.name)
		if err != nil {
			t.Fatal(err)
		}
		less, built := source, 0
		less.Build = func(dir string, instead map[string][]byte) ([][]byte, error) {
			all := maps.Clone(files)
			maps.Copy(all, instead)
			made, err := source.Build(dir, all)
			built = len(made)
			return made, err
		}
		one, err := origins.New(less, "/r/prod")
		if err != nil || !one.Within(output, asked.kind+"/"+asked.name) {
			t.Errorf("%v: %v, not within the build", asked, err)
			continue
		}
		got, err1 := json.Marshal(one.Objects[asked.at])
		want, err2 := json.Marshal(full.Objects[asked.at])
		if err := errors.Join(err1, err2); err != nil || string(got) != string(want) ||
			built != asked.builds {
			t.Errorf("%v of %d objects: %v\n%s\nwant\n%s", asked, built, err, got, want)
		}
		other := bytes.ReplaceAll(output, []byte("prod-"), []byte("other-"))
		for _, text := range []string{asked.name, "nothing"} {
			if one, _ := origins.New(less, "/r/prod"); one.Within(other, asked.kind+"/"+text) {
				t.Errorf("%v: %s is within another build", asked, text)
			}
		}
	}
}
