package build

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/codes"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// outsideOf returns the kustomizations of folders that kustomize would build with the network or
// with git. URL stands for a server.
func outsideOf() map[string]map[string]string {
	generator := "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nfiles: " +
		"['a=URL']\n"
	indented := "  - " + strings.ReplaceAll(strings.TrimSpace(generator), "\n", "\n    ") + "\n"
	plugin := func(text string) map[string]string {
		return map[string]string{"kustomization.yaml": "generators: [generator.yaml]\n",
			"generator.yaml": text}
	}
	name := "git@localhost:a?ref=--upload-pack=touch started;"
	return map[string]map[string]string{
		"base":       {"kustomization.yaml": "resources: ['URL/a.yaml']\n"},
		"repository": {"kustomization.yaml": "resources: ['git::URL/a/b']\n"},
		"file": {"kustomization.yaml": "resources: ['" + name + "']\n",
			name: "no manifest\n"},
		"file by HTTP": {
			"kustomization.yaml": "resources: " +
				"['git::http:/localhost/a.git?ref=--exec']\n",
			"git::http:/localhost/a.git?ref=--exec": "no manifest\n"},
		"component": {"kustomization.yaml": "components: ['" + name + "']\n",
			name: "no manifest\n"},
		"generator":     plugin(generator),
		"absolute":      plugin(strings.Replace(generator, "builtin", "/builtin", 1)),
		"versioned":     plugin(strings.Replace(generator, "builtin", "builtin/v1", 1)),
		"List":          plugin("apiVersion: v1\nkind: List\nitems:\n" + indented),
		"ConfigMapList": plugin("apiVersion: v1\nkind: ConfigMapList\nitems:\n" + indented),
		"ResourceList": plugin(
			"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + indented),
		"UTF-16": plugin("\xff\xfe" + utf16Text(generator)),
		"UTF-16 top": {
			"kustomization.yaml": "\xff\xfe" + utf16Text("resources: ['URL/a.yaml']\n")},
		"patched": {
			"kustomization.yaml": "generators: [sub]\n",
			"sub/kustomization.yaml": "resources: [g.yaml]\npatches:\n- target: {kind: " +
				"ConfigMapGenerator}\n  patch: '[{op: add, path: /files, value: [\"a=URL\"]}]'\n",
			"sub/g.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: " +
				"{name: a}\n",
		},
		"openapi":     {"kustomization.yaml": "openapi: {path: 'URL/a.json'}\n"},
		"transformer": {"kustomization.yaml": "transformers: ['URL/a.yaml']\n"},
		"validator":   {"kustomization.yaml": "validators: ['URL/a.yaml']\n"},
		"helm":        {"kustomization.yaml": "helmCharts: [{name: a, repo: 'URL'}]\n"},
		"helm plugin": plugin(
			"apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: a}\nname: " +
				"a\nrepo: URL\n"),
		"container": plugin(
			"apiVersion: example.com/v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    " +
				"config.kubernetes.io/function: 'container: {image: a, network: true}'\n"),
		"starlark": plugin(
			"apiVersion: example.com/v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    " +
				"config.kubernetes.io/function: 'starlark: {path: URL/a.star}'\n"),
		"ssh":    {"kustomization.yaml": "resources: ['ssh://git@localhost/a//b?ref=c']\n"},
		"github": {"kustomization.yaml": "resources: ['github.com/a/b//c?ref=d']\n"},
		"crds":   {"kustomization.yaml": "crds: ['URL/a.json']\n"},
		"patch": {
			"kustomization.yaml": "resources: [a.yaml]\npatches: [{path: 'URL/a.yaml'}]\n",
			"a.yaml":             configMap},
		"replacement": {
			"kustomization.yaml": "resources: [a.yaml]\nreplacements: [{path: 'URL/a.yaml'}]\n",
			"a.yaml":             configMap},
		"variables": {
			"kustomization.yaml": "configMapGenerator: [{name: a, envs: ['URL/a.env']}]\n"},
		"settings": {
			"kustomization.yaml": "resources: [a.yaml]\nconfigurations: ['URL/a.yaml']\n",
			"a.yaml":             configMap},
		"exec": plugin(
			"apiVersion: example.com/v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    " +
				"config.kubernetes.io/function: 'exec: {path: ./run.sh}'\n"),
	}
}

// utf16Text returns a text as UTF-16.
func utf16Text(text string) string {
	var encoded []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		encoded = append(encoded, byte(unit), byte(unit>>8))
	}
	return string(encoded)
}

// directly builds a directory in a process, without the inspection of its kustomizations.
func directly(b *Builder, dir string) (*product, error) {
	real, err := b.tree.Real(dir)
	if err != nil {
		return nil, err
	}
	return b.made(request{}, real)
}

// TestBuild_StaysInside builds what would open a socket or start a program, with and without the
// inspection. Nothing is connected, and nothing is started.
func TestBuild_StaysInside(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { connections.Add(1) }
	server.Start()
	defer server.Close()
	for name, files := range outsideOf() {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"run.sh": "#!/bin/sh\ntouch started\n",
				"bin/git": "#!/bin/sh\ntouch started\n", "bin/helm": "#!/bin/sh\ntouch started\n"}
			for file, text := range files {
				all["top/"+file] = strings.ReplaceAll(strings.ReplaceAll(text, "URL", server.URL),
					utf16Text("URL"), utf16Text(server.URL))
			}
			write(t, all)
			here, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			for _, program := range []string{"run.sh", "bin/git", "bin/helm"} {
				if err := os.Chmod(program, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", filepath.Join(here, "bin"))
			b := newBuilder(t, workspace.Flags{Kustomize: []string{"top"}})
			built := b.Build("top")
			if !strings.Contains(fmt.Sprint(built.Findings), "TW12") {
				t.Errorf("Build() = %q, %v, want a finding on the build", built.Text,
					built.Findings)
			}
			_, err = directly(b, "top")
			want := map[string]string{
				"base": "a build fetches nothing", "generator": "a build fetches nothing",
				"openapi": "a build fetches nothing", "repository": "no 'git' program on path",
				"helm": "must specify --enable-helm", "exec": "external plugins disabled",
			}[name]
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the process builds what needs more than files: %v, want %q", err, want)
			}
			for _, dir := range []string{".", "top"} {
				if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
					t.Error("a program was started")
				}
			}
		})
	}
	if n := connections.Load(); n > 0 {
		t.Errorf("%d connections, want none", n)
	}
}

// TestBuild_Bounded builds what kustomize itself does not end, or not in little memory. Each ends
// with one finding at its file. The race detector takes more memory, and ends the process with
// words of its own.
func TestBuild_Bounded(t *testing.T) {
	nested := func(open, close string) string {
		return strings.Repeat(open, 9000) + strings.Repeat(close, 9000)
	}
	bomb := "  a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("  a%d: &a%d [%s*a%d]\n", i+1, i+1,
			strings.Repeat(fmt.Sprintf("*a%d, ", i), 8), i)
	}
	copies := ""
	for i := range 27 {
		copies += fmt.Sprintf("    - {op: copy, from: /data, path: /data/b%d}\n", i)
	}
	diamond := map[string]string{"kustomization.yaml": "components: [../c0]\nresources: [a.yaml]\n",
		"a.yaml": configMap}
	for i := range 24 {
		diamond[fmt.Sprintf("../c%d/kustomization.yaml", i)] = fmt.Sprintf(
			"kind: Component\ncomponents: [../c%d, ../c%[1]d]\n", i+1)
	}
	diamond["../c24/kustomization.yaml"] = "kind: Component\nnamePrefix: a\n"
	const thing = "apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\nspec: {b: {c: d}}\n"
	stopped := errDeadline.Error()
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"aliases": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml]\n",
				"a.yaml": configMap + "data:\n" + bomb}, errMemory.Error()},
		"copies": {
			map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\npatches:\n- target: {kind: " +
					"ConfigMap}\n  patch: |-\n" + copies, "a.yaml": configMap + "data: {a: b}\n"},
			errMemory.Error()},
		"diamond": {diamond, stopped},
		"nested maps": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml]\n",
				"a.yaml": configMap + "data: " + nested("{a: ", "}") + "\n"}, stopped},
		"crds": {map[string]string{"kustomization.yaml": "resources: [a.yaml]\ncrds: [crd.json]\n",
			"a.yaml":   configMap,
			"crd.json": `{"a.A": {"Schema": {"properties": {"kind": {}, "apiVersion": {}, "metadata": {}, "spec": {"$ref": "a.A"}}}}}`}, errDepth.Error()},
		"openapi": {map[string]string{
			"kustomization.yaml": "resources: [a.yaml]\nopenapi: {path: b.json}\npatches: " +
				"[{path: c.yaml}]\n", "a.yaml": thing, "c.yaml": thing,
			"b.json": `{"definitions": {"a": {"x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "A", "version": "v1"}], "properties": {"spec": {"$ref": "#/definitions/a"}}, "$ref": "#/definitions/a"}}}`}, stopped},
		"broken openapi": {
			map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\nopenapi: {path: b.json}\npatches: " +
					"[{path: c.yaml}]\n", "a.yaml": thing, "c.yaml": thing, "b.json": "["},
			"kustomize crashes"},
	} {
		t.Run(name, func(t *testing.T) {
			switch name {
			case "copies":
				testenv.LongOnly(t, "it fills the memory as the aliases do")
			case "diamond":
				testenv.LongOnly(t, "it takes time as the nested maps do")
			}
			all := map[string]string{"good/kustomization.yaml": "resources: [a.yaml]\n",
				"good/a.yaml": configMap}
			for file, text := range tc.files {
				all[filepath.Join("top", file)] = text
			}
			write(t, all)
			b := newBuilder(t, workspace.Flags{Kustomize: []string{"top", "good"}})
			if b.processes.memory = 300 << 20; tc.want == stopped {
				b.processes.time = 2 * time.Second
			}
			done := make(chan *workspace.Built)
			go func() { done <- b.Build("top") }()
			if good := b.Build("good"); good.Findings != nil || len(good.Text) == 0 {
				t.Errorf("the other build: %q, %v", good.Text, good.Findings)
			}
			built := <-done
			if len(built.Findings) != 1 || built.Findings[0].Code != codes.BuildFailed ||
				!strings.Contains(built.Findings[0].Message, tc.want) && !testenv.Race ||
				built.Findings[0].Position.File != filepath.Join("top", "kustomization.yaml") {
				t.Errorf("Build() = %v, want one finding with %q", built.Findings, tc.want)
			}
		})
	}
}

// TestProcesses_Crash ends the process of a build. The build fails, and the next one has a process
// of its own.
func TestProcesses_Crash(t *testing.T) {
	write(t, map[string]string{"good/kustomization.yaml": "resources: [a.yaml]\n",
		"good/a.yaml": configMap})
	b := newBuilder(t, workspace.Flags{Kustomize: []string{"good"}})
	made, err := directly(b, "good")
	if err != nil || !strings.Contains(string(made.Text), "ConfigMap") {
		t.Fatalf("%v, %v", made, err)
	}
	_ = b.processes.idle[0].cmd.Process.Kill()
	if made, err := directly(b, "good"); err == nil ||
		!strings.Contains(err.Error(), errEnded.Error()) {
		t.Errorf("a build without a process: %v, %v", made, err)
	}
	if made, err := directly(b, "good"); err != nil ||
		!strings.Contains(string(made.Text), "ConfigMap") {
		t.Errorf("the next build: %v, %v", made, err)
	}
}

// TestProcesses_Environment holds that a process sees no variable of the caller, and so finds no
// program. What it says stays with it.
func TestProcesses_Environment(t *testing.T) {
	t.Setenv("SECRET", "value")
	b, err := start()
	if err != nil {
		t.Fatal(err)
	}
	defer b.end()
	if got := b.cmd.Environ(); slices.ContainsFunc(got, func(v string) bool {
		return strings.HasPrefix(v, "PATH=") || strings.HasPrefix(v, "SECRET=")
	}) {
		t.Errorf("the environment of the process is %q", got)
	}
	if b.cmd.Stderr != &b.stderr {
		t.Error("standard error is not captured")
	}
}
