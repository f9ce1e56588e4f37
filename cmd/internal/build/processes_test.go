package build

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf16"

	"github.com/trainweld/trainweld/cmd/internal/host"
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

// TestBuild_Files builds what would read files outside of the repository, or files that are not
// regular. Each is rejected at once.
func TestBuild_Files(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		links map[string]string
		want  string
	}{
		"above": {
			files: map[string]string{"kustomization.yaml": "resources: [../../outside/a.yaml]\n"},
			want:  "is outside of the repository"},
		"base": {
			files: map[string]string{"kustomization.yaml": "resources: [../../outside]\n"},
			want:  "is outside of the repository"},
		"component": {
			files: map[string]string{"kustomization.yaml": "components: [../../outside]\n"},
			want:  "is outside of the repository"},
		"linked base": {files: map[string]string{"kustomization.yaml": "resources: [../base]\n"},
			links: map[string]string{"../base": "../outside"},
			want:  "is outside of the repository"},
		"linked file": {files: map[string]string{"kustomization.yaml": "resources: [a.yaml]\n"},
			links: map[string]string{"a.yaml": "../../outside/a.yaml"},
			want:  "is outside of the repository"},
		"linked values": {
			files: map[string]string{
				"kustomization.yaml": "configMapGenerator: [{name: a, files: [a.yaml]}]\n"},
			links: map[string]string{"a.yaml": "../../outside/a.yaml"},
			want:  "is outside of the repository"},
		"linked top": {
			links: map[string]string{"kustomization.yaml": "../../outside/kustomization.yaml"},
			want:  "is outside of the repository"},
		"device": {links: map[string]string{"kustomization.yaml": os.DevNull},
			want: "is outside of the repository"},
		"process": {
			files: map[string]string{
				"kustomization.yaml": "configMapGenerator: [{name: a, files: " +
					"[/proc/self/environ]}]\n"}, want: "is outside of the repository"},
		"linked process": {
			files: map[string]string{
				"kustomization.yaml": "configMapGenerator: [{name: a, files: [a]}]\n"},
			links: map[string]string{"a": "/proc/self/environ"},
			want:  "is outside of the repository"},
		"variables": {
			files: map[string]string{
				"kustomization.yaml": "secretGenerator: [{name: a, envs: [../../outside/a.yaml]}]\n"}, want: "is outside of the repository"},
		"replacement": {
			files: map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\nreplacements: [{path: b.yaml}]\n",
				"a.yaml":             configMap},
			links: map[string]string{"b.yaml": "../../outside/a.yaml"},
			want:  "is outside of the repository"},
		"definition": {
			files: map[string]string{"kustomization.yaml": "resources: [a.yaml]\ncrds: [b.yaml]\n",
				"a.yaml": configMap}, links: map[string]string{"b.yaml": "../../outside/a.yaml"},
			want: "is outside of the repository"},
		"schema": {
			files: map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\nopenapi: {path: b.yaml}\n",
				"a.yaml":             configMap},
			links: map[string]string{"b.yaml": "../../outside/a.yaml"},
			want:  "is outside of the repository"},
		"patch": {
			files: map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\npatches: [{path: b.yaml}]\n",
				"a.yaml":             configMap},
			links: map[string]string{"b.yaml": "../../outside/a.yaml"},
			want:  "is outside of the repository"},
		"levels": {
			files: map[string]string{
				"kustomization.yaml": "resources: [" + strings.Repeat("../", 60) + "etc/passwd]\n"},
			want: "is outside of the repository"},
		"git": {
			files: map[string]string{
				"kustomization.yaml": "configMapGenerator: [{name: a, files: [../.git/HEAD]}]\n"},
			want: "is outside of the repository"},
		"GIT": {
			files: map[string]string{
				"kustomization.yaml": "configMapGenerator: [{name: a, files: [.GIT/config]}]\n",
				".GIT/config":        "secret"}, want: "is outside of the repository"},
		"git base": {files: map[string]string{"kustomization.yaml": "resources: [../base]\n"},
			links: map[string]string{"../base": ".git"}, want: "is outside of the repository"},
		"loop": {files: map[string]string{"kustomization.yaml": "resources: [a.yaml]\n"},
			links: map[string]string{"a.yaml": "b.yaml", "b.yaml": "a.yaml"}, want: "TW122"},
		"loop of bases": {files: map[string]string{"kustomization.yaml": "resources: [base]\n"},
			links: map[string]string{"base": "."}, want: "cycle detected"},
		"base of a base": {
			files: map[string]string{"kustomization.yaml": "resources: [base]\n",
				"base/kustomization.yaml": "resources: [a.yaml]\n"},
			links: map[string]string{"base/a.yaml": "../../../outside/a.yaml"},
			want:  "is outside of the repository"},
		"inside": {
			files: map[string]string{"kustomization.yaml": "resources: [../base]\n",
				"../real/kustomization.yaml": "resources: [a.yaml]\n", "../real/a.yaml": configMap},
			links: map[string]string{"../base": "real"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"repository/.git/HEAD": "", "repository/top/README": "",
				"outside/a.yaml": configMap, "outside/kustomization.yaml": "resources: [a.yaml]\n"}
			for file, text := range tc.files {
				all[filepath.Join("repository/top", file)] = text
			}
			write(t, all)
			for file, to := range tc.links {
				if err := os.Symlink(to, filepath.Join("repository/top", file)); err != nil {
					t.Skip("needs symbolic links: ", err)
				}
			}
			for _, here := range []string{".", "repository"} {
				t.Chdir(here)
				dir, err := filepath.Rel(here, filepath.Join("repository", "top"))
				if err != nil {
					t.Fatal(err)
				}
				built := newBuilder(t, workspace.Flags{Kustomize: []string{dir}}).Build(dir)
				got := fmt.Sprint(built.Findings)
				if tc.want == "" && (built.Findings != nil || len(built.Text) == 0) ||
					!strings.Contains(got, tc.want) || tc.want != "" && built.Text != nil {
					t.Errorf("Build(%s) = %q, %v, want %q", dir, built.Text, built.Findings,
						tc.want)
				}
			}
		})
	}
}

// TestBuild_NoRepository builds an overlay of another folder, around which there is no repository.
// It may name a base anywhere, as kustomize lets it, and files only in or below its own directory.
func TestBuild_NoRepository(t *testing.T) {
	write(t, map[string]string{
		"x/base/kustomization.yaml": "resources: [a.yaml]\n", "x/base/a.yaml": configMap,
		"x/over/kustomization.yaml": "resources: [../base]\nnamePrefix: b-\n",
		"x/file/kustomization.yaml": "resources: [../base/a.yaml]\n", "y/README": "",
	})
	x, err := filepath.Abs("x")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("y")
	b := newBuilder(t, workspace.Flags{Kustomize: []string{x}})
	if built := b.Build(filepath.Join(x, "over")); built.Findings != nil ||
		!strings.Contains(string(built.Text), "b-a") {
		t.Errorf("Build() = %q, %v", built.Text, built.Findings)
	}
	if built := b.Build(filepath.Join(x, "file")); !strings.Contains(fmt.Sprint(built.Findings),
		"is not in or below") {
		t.Errorf("a file beside: %q, %v", built.Text, built.Findings)
	}
}

// TestTreeFiles reads through the files that a process gives kustomize, as a kustomization could
// that is not inspected.
func TestTreeFiles(t *testing.T) {
	write(t, map[string]string{"repository/.git/config": "secret",
		"repository/top/a.yaml": configMap, "outside/a.yaml": "secret"})
	for link, to := range map[string]string{"in.yaml": "a.yaml", "out.yaml": "../../outside/a.yaml",
		"absolute.yaml": os.DevNull, "git.yaml": "../.git/config"} {
		if err := os.Symlink(to, filepath.Join("repository/top", link)); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
	}
	root, err := filepath.EvalSymlinks("repository")
	if err != nil {
		t.Fatal(err)
	}
	if root, err = filepath.Abs(root); err != nil {
		t.Fatal(err)
	}
	f := &treeFiles{tree: host.Within(host.Files{}, root), top: filepath.Join(root, "other")}
	for name, want := range map[string]string{
		"a.yaml": "", "in.yaml": "", "out.yaml": "is outside of the repository",
		"absolute.yaml": "is outside of the repository", "git.yaml": "is outside of the repository",
		"../.git/config":       "is outside of the repository",
		"../../outside/a.yaml": "is outside of the repository",
		".":                    "is a directory: must be a regular file",
	} {
		file := filepath.Join(root, "top", name)
		data, err := f.ReadFile(file)
		if want == "" && (err != nil || string(data) != configMap) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("ReadFile(%s) = %q, %v, want %q", name, data, err, want)
		}
		if _, _, err := f.CleanedAbs(file); (err == nil) != (want == "" || name == ".") {
			t.Errorf("CleanedAbs(%s): %v", name, err)
		}
	}
}

// TestInspect_Bounded inspects texts that are small, and grow in their reader. Each has few
// rejections.
func TestInspect_Bounded(t *testing.T) {
	long := "&a \"" + strings.Repeat("x", 1000) + "\""
	aliases := strings.Repeat(", *a", mostExpanded/1000+1)
	remote := strings.Repeat("\"http:a\", ", 10)
	for i := range 1000 {
		remote += fmt.Sprintf("\"http:%d\", ", i)
	}
	deep := strings.Repeat("a/", host.MostNested+1) + "a"
	for name, tc := range map[string]struct {
		text, want string
		count      int
	}{
		"aliases":      {"resources: [" + long + aliases + "]\n", errExpands.Error(), 1},
		"circle":       {"resources: &a [*a]\n", errExpands.Error(), 1},
		"few aliases":  {"resources: [&a a.yaml, *a]\n", `"a.yaml" does not exist`, 1},
		"remote files": {"crds: [" + remote + "]\n", "is remote", mostRejections},
		"literals": {
			"configMapGenerator: [{name: a, literals: [" + strings.ReplaceAll(remote, "=", "") +
				"]}]\n", "a literal has no =", mostRejections},
		"deep": {"resources: [" + deep + "]\n", "lies in more than 100 directories", 1},
		"missing files": {"resources: [" + strings.ReplaceAll(remote, "http:", "") + "]\n",
			"does not exist", mostRejections},
		"large": {"resources: [a.yaml]\n#" + strings.Repeat("x", mostKustomization),
			"must be at most 1 MiB", 1},
	} {
		t.Run(name, func(t *testing.T) {
			k := (&kustomizations{
				tree: memory{
					fstest.MapFS{"kustomization.yaml": {Data: []byte(tc.text)},
						deep + "/a.yaml": {}}}}).in(".")
			if len(k.rejections) != tc.count ||
				!strings.Contains(k.rejections[0].Message, tc.want) {
				t.Errorf("%d refusals, want %d with %q: %.300v", len(k.rejections), tc.count,
					tc.want, k.rejections)
			}
		})
	}
}

// TestBuild_Names builds kustomizations in directories whose names are not words. Searching for
// them finds each, and one process builds all.
func TestBuild_Names(t *testing.T) {
	names := []string{"-x", "a b", "plain"}
	if runtime.GOOS == "linux" {
		names = append(names, "a\nb", "a\xffb", "a\x1b[31m", `a\nb`)
	}
	slices.Sort(names)
	all := map[string]string{}
	for _, name := range names {
		all[filepath.Join("all", name, "kustomization.yaml")],
			all[filepath.Join("all", name, "a.yaml")] = "resources: [a.yaml]\n", configMap
	}
	write(t, all)
	b := newBuilder(t, workspace.Flags{Kustomize: []string{"all"}})
	dirs, found := b.Find()
	if len(dirs) != len(names) || found != nil {
		t.Errorf("Find() = %q, %v, want %q", dirs, found, names)
	}
	for _, dir := range dirs {
		if built := b.Build(dir); built.Findings != nil || len(built.Text) == 0 {
			t.Errorf("Build(%q) = %q, %v", dir, built.Text, built.Findings)
		}
	}
	if n := len(b.processes.idle); n != 1 {
		t.Errorf("%d processes build, want one for all", n)
	}
}

// TestBuild_Secrets builds what makes kustomize quote values in its messages. No message shows one.
func TestBuild_Secrets(t *testing.T) {
	const secret = "hunter2"
	for name, text := range map[string]string{
		"URL": "resources: ['https://a:hunter2@example.com/b']\npatches: [{path: " +
			"'https://hunter2@example.com/b'}]\n",
		"address": "resources: ['a:hunter2@example.com:b']\n",
		"query":   "resources: ['https://example.com/b?ref=c&access_token=hunter2']\n",
		"literal": "secretGenerator: [{name: a, literals: [hunter2]}]\n",
		"file":    "secretGenerator: [{name: a, files: [\"=hunter2=b\"]}]\n",
		"plugin literal": "generators:\n- |-\n  apiVersion: builtin\n  kind: SecretGenerator\n  " +
			"metadata: {name: a}\n  literals: [hunter2]\n",
		"inline patch": "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: " +
			"'hunter2'\n",
		"broken patch": "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: " +
			"'{kind: Secret, stringData: {a: hunter2}'\n",
		"no target": "resources: [a.yaml]\npatches:\n- patch: '{apiVersion: v1, kind: " +
			"Secret, metadata: {name: b}, stringData: {a: hunter2}}'\n",
		"two patches": "resources: [a.yaml]\npatches:\n- patch: \"hunter2\"\n  path: a.yaml\n",
		"JSON patch": "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: " +
			"'[{op: test, path: /data, value: hunter2}]'\n",
		"no name":         "resources: [secret.yaml]\n",
		"broken resource": "resources: [broken.yaml]\n",
		"transformer": "resources: [a.yaml]\ntransformers:\n- |-\n  apiVersion: builtin\n  " +
			"kind: PatchTransformer\n  metadata: {name: a}\n  patch: hunter2\n",
		"field": "secretGenerator: [{name: a, literals: {a: hunter2}}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			write(t, map[string]string{
				"top/kustomization.yaml": text, "top/a.yaml": configMap,
				"top/broken.yaml": "kind: Secret\nstringData: {a: hunter2\n",
				"top/secret.yaml": "apiVersion: v1\nkind: Secret\nstringData: {a: hunter2}\n",
			})
			built := newBuilder(t, workspace.Flags{Kustomize: []string{"top"}}).Build("top")
			if built.Findings == nil {
				t.Errorf("Build() = %q, want a finding", built.Text)
			}
			for _, f := range built.Findings {
				if strings.Contains(f.Message+f.Remedy.Text, secret) {
					t.Errorf("a finding shows a value: %v", f)
				}
			}
		})
	}
}
