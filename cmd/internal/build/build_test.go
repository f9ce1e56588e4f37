package build

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/internal/testenv"
)

// TestMain builds if this binary is the process that builds.
func TestMain(m *testing.M) {
	Serve()
	os.Exit(testenv.Tests{M: m}.Run())
}

// write writes files below a new directory, and changes into it.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	t.Chdir(dir)
}

func newBuilder(t *testing.T, flags workspace.Flags) *Builder {
	t.Helper()
	b, err := New(&host.Program{}, host.Files{}, flags)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// TestNew_Limits holds the limits of a build that SECURITY.md promises.
func TestNew_Limits(t *testing.T) {
	b := newBuilder(t, workspace.Flags{Kustomize: []string{"."}})
	if b.processes.time != time.Minute || b.processes.memory != 3<<29 {
		t.Errorf("a build may take %s and %d bytes", b.processes.time, b.processes.memory)
	}
}

// TestBuild_Revision builds a directory of a revision. Its folder of temporary files is there for
// no longer than the builder.
func TestBuild_Revision(t *testing.T) {
	write(t, map[string]string{"a/kustomization.yaml": "resources: [a.yaml]\n",
		"a/a.yaml": configMap})
	for _, args := range []string{
		"init -q", "add .", "-c user.name=a -c user.email=a@example.com commit -qm a"} {
		if out, err := exec.Command("git", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Skipf("git %s: %v\n%s", args, err, out)
		}
	}
	if err := os.Remove("a/a.yaml"); err != nil {
		t.Fatal(err)
	}
	revision, err := host.OpenRevision("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer revision.Close()
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary)
	b, err := New(&host.Program{}, revision, workspace.Flags{Kustomize: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	if built := b.Build("a"); built.Findings != nil ||
		!strings.Contains(string(built.Text), "ConfigMap") {
		t.Errorf("Build() = %q, %v", built.Text, built.Findings)
	}
	during, err := os.ReadDir(temporary)
	b.Close()
	after, errAfter := os.ReadDir(temporary)
	if err != nil || errAfter != nil || len(during) != 1 || len(after) != 0 {
		t.Errorf("the folder of temporary files has %v during the build, and %v after it: %v, %v",
			during, after, err, errAfter)
	}
}

// TestBuild_Large builds a file that is as large as an output may be. The next object is too many.
func TestBuild_Large(t *testing.T) {
	testenv.LongOnly(t, "it makes 64 MiB")
	var made product
	objects := resmap.New()
	for i := range 2 {
		r, err := provider.NewDefaultDepProvider().GetResourceFactory().FromMap(
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": fmt.Sprint("a", i)},
				"data":     map[string]any{"a": strings.Repeat("x", mostOutput/2)}})
		if err == nil {
			err = objects.Append(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := made.write(objects); !errors.Is(err, errLarge) {
		t.Errorf("write() = %v, want %v", err, errLarge)
	}
}

const schema = `{"definitions": {"example": {
  "x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Thing", "version": "v1"}],
  "properties": {"spec": {"type": "object", "properties": {"items": {
    "type": "array", "items": {"type": "object"}, "x-kubernetes-patch-merge-key": "id", "x-kubernetes-patch-strategy": "merge"}}}}}}}`

// TestBuild_Schemas builds kustomizations with and without a schema of their own at once. kustomize
// holds one schema for the process.
func TestBuild_Schemas(t *testing.T) {
	thing := "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {items: [{id: " +
		"1, a: 1}, {id: 2, a: 2}]}\n"
	patches := "patches: [{patch: '{apiVersion: example.com/v1, kind: Thing, metadata: {name: " +
		"a}, spec: {items: [{id: 2, a: 3}]}}'}]\n"
	files := map[string]string{
		"base/thing.yaml": thing, "base/kustomization.yaml": "resources: [thing.yaml]\n"}
	var dirs []string
	for i := range 6 {
		dir := fmt.Sprintf("overlays/%02d", i)
		dirs = append(dirs, dir)
		text := "resources: [../../base]\n" + patches
		if i%3 == 0 {
			text += "openapi: {path: schema.json}\n"
			files[dir+"/schema.json"] = schema
		}
		files[dir+"/kustomization.yaml"] = text
	}
	write(t, files)
	want := make([]string, len(dirs))
	for i, dir := range dirs {
		want[i] = kustomized(t, dir)
	}
	if want[0] == want[1] {
		t.Fatal("the schema makes no difference; this test looks at the wrong things")
	}
	b := newBuilder(t, workspace.Flags{Kustomize: []string{"overlays"}})
	var all sync.WaitGroup
	for i, dir := range dirs {
		all.Go(func() {
			built := b.Build(dir)
			if got := asYAML(t, built.Text); got != want[i] || built.Findings != nil {
				t.Errorf("%s: got %s and %v, want %s", dir, got, built.Findings, want[i])
			}
		})
	}
	all.Wait()
}

// TestClosure collects kustomizations that name each other, and a directory without one. Each is
// there once, before the ones that it names. One with a schema of its own is reported.
func TestClosure(t *testing.T) {
	write(t, map[string]string{
		"top/kustomization.yaml": "resources: [../a, ../b, ../empty]\n",
		"a/kustomization.yaml":   "resources: [../c, ../top]\n",
		"b/kustomization.yaml":   "resources: [../c]\n",
		"c/kustomization.yaml":   "", "empty/README": "",
		"own/kustomization.yaml":    "resources: [../schema, ../c]\n",
		"schema/kustomization.yaml": "openapi: {path: a.json}\n",
	})
	b := newBuilder(t, workspace.Flags{Kustomize: []string{"top"}})
	for dir, want := range map[string]string{"top": "top a c b true", "c": "c true",
		"own": "own schema c false", "schema": "schema false"} {
		all := b.closure(b.kustomizationIn(dir))
		var names []string
		for _, k := range all {
			names = append(names, filepath.Base(filepath.Dir(k.file)))
		}
		if got := fmt.Sprint(strings.Join(names, " "), " ", !setsSchema(all)); got != want {
			t.Errorf("closure(%s) = %s, want %s", dir, got, want)
		}
	}
}

// TestBuild_SameAsKustomize compares builds with the builds of kustomize itself, also where the
// user asks for annotations.
func TestBuild_SameAsKustomize(t *testing.T) {
	base := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {y: \"on\", n: \"1\"}\n"
	for name, text := range map[string]string{
		"plain":     "resources: [../base]\n",
		"annotated": "resources: [../base]\nbuildMetadata: [originAnnotations]\n",
		"managed":   "resources: [../base]\nbuildMetadata: [managedByLabel]\n",
		"transformations": "resources: [../base]\nbuildMetadata: " +
			"[transformerAnnotations]\nnamePrefix: a-\n",
		"generator": "configMapGenerator: [{name: b, literals: [c=d]}]\ncommonAnnotations: " +
			"{a: b}\n",
		"empty lists": "resources:\ncomponents: ~\nconfigMapGenerator: [{name: b, literals: " +
			"[c=d]}]\npatches:\n",
		"many": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: " +
			"{name: m, annotations: {a: b}}\nresources: [../base]\nsortOptions: {order: legacy, " +
			"legacySortOptions: {orderFirst: [Secret]}}\n" +
			"labels: [{pairs: {l: m}, includeSelectors: true, fields: [{path: data/x, create: " +
			"true}]}]\nimages: [{name: i, newTag: '1'}]\n" +
			"vars: [{name: V, objref: {apiVersion: v1, kind: ConfigMap, name: " +
			"a}}]\nsecretGenerator: [{name: s, type: Opaque, literals: ['a=b=c'], options: " +
			"{disableNameSuffixHash: true, immutable: true}}]\n" +
			"patchesJson6902: [{target: {version: v1, kind: ConfigMap, name: a}, patch: " +
			"'[{\"op\": \"add\", \"path\": \"/data/j\", \"value\": " +
			"\"1\"}]'}]\npatchesStrategicMerge: ['{apiVersion: v1, kind: ConfigMap, metadata: " +
			"{name: a}, data: {n: null}}']\n" +
			"patches: [{target: {kind: ConfigMap, name: a.*, labelSelector: 'x!=y'}, options: " +
			"{allowNameChange: true}, patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: " +
			"z}}'}]\n" +
			"replacements: [{source: {kind: Secret, name: s, fieldPath: data.a, options: " +
			"{delimiter: '=', index: 0}}, targets: [{select: {kind: ConfigMap}, reject: [{name: " +
			"none}], fieldPaths: [data.r], options: {create: true}}]}]\n",
		"addresses": "resources: [../base]\nhelmCharts: []\ncommonAnnotations: {path: " +
			"'https://example.com', files: 'http:x', env: 'http:y'}\nconfigMapGenerator: [{name: " +
			"b, literals: ['c=https://example.com'], options: {annotations: {path: " +
			"'https://example.com'}}}]\n",
		"cases": "Resources: [../base]\nNAMEPREFIX: a-\n",
		"json":  `{"resources": ["../base"], "namespace": "a"}`,
		"data":  "configMapGenerator: [{name: b, files: [script.sh]}]\n",
		"empty": "resources: []\nconfigMapGenerator: []\nnamespace: a\n",
	} {
		t.Run(name, func(t *testing.T) {
			write(t, map[string]string{
				"base/a.yaml": base, "base/kustomization.yaml": "resources: [a.yaml]\n",
				"top/kustomization.yaml": text, "top/script.sh": "#!/bin/sh\necho: builtin \\ {\n"})
			built := newBuilder(t, workspace.Flags{Kustomize: []string{"top"}}).Build("top")
			if want := kustomized(t, "top"); asYAML(t, built.Text) != want ||
				built.Findings != nil {
				t.Errorf("Build() = %s, %v, want %s", asYAML(t, built.Text), built.Findings, want)
			}
		})
	}
}

// kustomized is what kustomize alone makes of a directory, in a process that has built nothing.
func kustomized(t *testing.T, dir string) string {
	t.Helper()
	openapi.ResetOpenAPI()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	openapi.ResetOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	text, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func asYAML(t *testing.T, text []byte) string {
	t.Helper()
	var objects []string
	for line := range bytes.Lines(text) {
		object, err := yaml.JSONToYAML(line)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, string(object))
	}
	return strings.Join(objects, "---\n")
}

func TestFind(t *testing.T) {
	const overlay, component = "resources: [../../base]\n",
		"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
	write(t, map[string]string{
		"apps/base/kustomization.yaml":                                            "resources: []\n",
		"apps/overlays/eu/kustomization.yml":                                      overlay,
		"apps/overlays/us/Kustomization":                                          overlay,
		"apps/queue/kustomization.yaml":                                           component,
		"apps/.hidden/kustomization.yaml":                                         overlay,
		"charts/b/deploy/kustomization.yaml":                                      "resources: []\n",
		"below" + strings.Repeat("/a", host.MostNested+1) + "/kustomization.yaml": overlay,
		"empty/readme.md":                                                         "nothing\n",
		"job.yaml":                                                                "kind: A\n",
		"apps/overlays/eu/deep/kustomization.yaml":                                "resources:\n",
	})
	for _, tc := range []struct {
		flags workspace.Flags
		want  []string
		found int
	}{
		{flags: workspace.Flags{Kustomize: []string{"apps"}},
			want: []string{"apps/overlays/eu", "apps/overlays/eu/deep", "apps/overlays/us"}},
		{flags: workspace.Flags{Kustomize: []string{"apps/base"}}, want: []string{"apps/base"}},
		{flags: workspace.Flags{Kustomize: []string{"./apps/overlays/*/"}},
			want: []string{"apps/overlays/eu", "apps/overlays/us"}},
		{flags: workspace.Flags{Kustomize: []string{"apps/overlays", "apps/overlays/us"}},
			want: []string{"apps/overlays/eu", "apps/overlays/eu/deep", "apps/overlays/us"}},
		{flags: workspace.Flags{Kustomize: []string{"below"}}, found: 1},
		{flags: workspace.Flags{Kustomize: []string{"empty", "nowhere", "job.yaml", "no*"}},
			found: 4},
	} {
		dirs, found := newBuilder(t, tc.flags).Find()
		for i := range dirs {
			dirs[i] = filepath.ToSlash(dirs[i])
		}
		if !slices.Equal(dirs, tc.want) || len(found) != tc.found {
			t.Errorf("Find(%q %q) = %q, %v, want %q and %d findings", tc.flags.Kustomize,
				tc.flags.Files, dirs, found, tc.want, tc.found)
		}
	}
}

// TestRemote names an address without its secrets.
func TestRemote(t *testing.T) {
	for address, want := range map[string]string{
		"git@github.com:a/b":                  "git@github.com:a/b",
		"https://example.com/a?ref=b":         "https://example.com/a?ref=b",
		"git@example.com/a:b@c":               "***@c",
		"https://a@example.com/b":             "https://***@example.com/b",
		"https://example.com/a?ref=b&token=c": "https://example.com/a?***", "a@b://c": "a@b://c",
	} {
		if got := remote(address); got != strconv.Quote(want)+
			" is remote: a build fetches nothing" {
			t.Errorf("remote(%q) = %s, want %s", address, got, want)
		}
	}
}

// TestSafeReason shows the known parts of a message, once each, and at most five.
func TestSafeReason(t *testing.T) {
	const missing, denied = "no such file or directory", "permission denied"
	for text, want := range map[string]string{
		missing + " hunter2 " + missing + ": " + denied: missing + ": " + denied,
		"line 1 has invalid utf8 bytes, line 2 has invalid utf8 bytes, line 3 has invalid utf8 " +
			"bytes, permission denied, file does not exist, exceeded max depth": "line 1 has invalid utf8 bytes: line 2 has invalid utf8 bytes: line 3 has invalid utf8 bytes: permission denied: file does not exist",
		"hunter2": "its message may hold values of the files, and is not shown",
	} {
		if got := safeReason(text); got != want {
			t.Errorf("safeReason(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestIsRepository(t *testing.T) {
	for path, want := range map[string]bool{
		"../../base": false, "base": false, "a/b@c": false, "a.git/b": false,
		"git@example.com:a/b": true, "github.com/a/b": true, "GitHub.com:a/b": true,
		"ssh://a/b": true, "file:///a": true, "git::a/b": true,
	} {
		if got := isRepository(path); got != want {
			t.Errorf("isRepository(%q) = %t, want %t", path, got, want)
		}
	}
}

// TestTrace reads a build, and looks for lines of its text.
func TestTrace(t *testing.T) {
	write(t, map[string]string{
		"base/kustomization.yaml": "resources: [job.yaml]\n",
		"base/job.yaml": "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: " +
			"TrainJob\nmetadata:\n  name: llm\nspec:\n  runtimeRef: {name: a}\n  wrong: 1\n",
		"eu/kustomization.yaml": "namePrefix: eu-\nresources: [../base]\n",
	})
	flags := workspace.Flags{Kustomize: []string{"eu"}}
	var found int
	err := Parts(&host.Program{Files: host.Files{}}, flags, func(part workspace.Flags) error {
		in := workspace.Read(&host.Program{Files: host.Files{}}, part)
		in.Label(in.Findings)
		for _, f := range in.Findings {
			if found++; f.Build != "eu" || f.Position.File != filepath.Join("base", "job.yaml") ||
				f.Position.Line != 7 {
				t.Errorf("%v of build %q", f, f.Build)
			}
			if line := in.Line(f.Position); line != "  wrong: 1" {
				t.Errorf("Line() = %q", line)
			}
		}
		for _, j := range in.Jobs {
			if at := j.Document.Position(nil); at.File != filepath.Join("base", "job.yaml") {
				t.Errorf("%s is at %s", j.Name, at)
			}
		}
		return nil
	})
	if err != nil || found != 1 {
		t.Errorf("%d findings, %v, want one", found, err)
	}
}
