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
	"sync"
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

// outsideOf returns the kustomizations of folders that kustomize would build with the network or with git. URL stands for a server.
func outsideOf() map[string]map[string]string {
	generator := "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nfiles: ['a=URL']\n"
	indented := "  - " + strings.ReplaceAll(strings.TrimSpace(generator), "\n", "\n    ") + "\n"
	plugin := func(text string) map[string]string {
		return map[string]string{"kustomization.yaml": "generators: [generator.yaml]\n", "generator.yaml": text}
	}
	name := "git@localhost:a?ref=--upload-pack=touch started;"
	return map[string]map[string]string{
		"base":          {"kustomization.yaml": "resources: ['URL/a.yaml']\n"},
		"repository":    {"kustomization.yaml": "resources: ['git::URL/a/b']\n"},
		"file":          {"kustomization.yaml": "resources: ['" + name + "']\n", name: "no manifest\n"},
		"file by HTTP":  {"kustomization.yaml": "resources: ['git::http:/localhost/a.git?ref=--exec']\n", "git::http:/localhost/a.git?ref=--exec": "no manifest\n"},
		"component":     {"kustomization.yaml": "components: ['" + name + "']\n", name: "no manifest\n"},
		"generator":     plugin(generator),
		"absolute":      plugin(strings.Replace(generator, "builtin", "/builtin", 1)),
		"versioned":     plugin(strings.Replace(generator, "builtin", "builtin/v1", 1)),
		"List":          plugin("apiVersion: v1\nkind: List\nitems:\n" + indented),
		"ConfigMapList": plugin("apiVersion: v1\nkind: ConfigMapList\nitems:\n" + indented),
		"ResourceList":  plugin("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + indented),
		"UTF-16":        plugin("\xff\xfe" + utf16Text(generator)),
		"UTF-16 top":    {"kustomization.yaml": "\xff\xfe" + utf16Text("resources: ['URL/a.yaml']\n")},
		"patched": {
			"kustomization.yaml":     "generators: [sub]\n",
			"sub/kustomization.yaml": "resources: [g.yaml]\npatches:\n- target: {kind: ConfigMapGenerator}\n  patch: '[{op: add, path: /files, value: [\"a=URL\"]}]'\n",
			"sub/g.yaml":             "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\n",
		},
		"openapi":     {"kustomization.yaml": "openapi: {path: 'URL/a.json'}\n"},
		"transformer": {"kustomization.yaml": "transformers: ['URL/a.yaml']\n"},
		"validator":   {"kustomization.yaml": "validators: ['URL/a.yaml']\n"},
		"helm":        {"kustomization.yaml": "helmCharts: [{name: a, repo: 'URL'}]\n"},
		"exec":        plugin("apiVersion: example.com/v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    config.kubernetes.io/function: 'exec: {path: ./run.sh}'\n"),
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

// plainFiles are files without inspection.
type plainFiles struct{ files }

func uninspectedFiles(tree host.Tree) *plainFiles { return &plainFiles{files{tree: tree}} }

func (f *plainFiles) answer(op byte, name string) []string {
	if op != opRead {
		return f.files.answer(op, name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return []string{err.Error()}
	}
	return []string{"", string(data)}
}

// TestBuild_StaysInside builds what would open a socket or start a program, with and without the inspection. Nothing is connected,
// and nothing is started.
func TestBuild_StaysInside(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { connections.Add(1) }
	server.Start()
	defer server.Close()
	for name, files := range outsideOf() {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"run.sh": "#!/bin/sh\ntouch started\n", "bin/git": "#!/bin/sh\ntouch started\n", "bin/helm": "#!/bin/sh\ntouch started\n"}
			for file, text := range files {
				all["top/"+file] = strings.ReplaceAll(strings.ReplaceAll(text, "URL", server.URL), utf16Text("URL"), utf16Text(server.URL))
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
				t.Errorf("Build() = %q, %v, want a finding on the build", built.Text, built.Findings)
			}
			real, err := b.tree.Real("top")
			if err != nil {
				t.Fatal(err)
			}
			uninspected := uninspectedFiles(b.tree)
			switch _, err := b.sandbox.run(request{Dir: real, UsualSchema: true}, uninspected); {
			case err == nil:
				t.Error("the process builds what needs more than files")
			case (name == "base" || name == "generator") && !strings.Contains(err.Error(), "a build fetches nothing"):
				t.Errorf("the transport of HTTP does not refuse: %v", err)
			}
			if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.sandbox.now.cmd.Process.Pid)); runtime.GOOS == "linux" && (err != nil || !strings.Contains(string(status), "\nSeccomp:\t2\n")) {
				t.Errorf("the process that builds has no filter: %v", err)
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

// TestBuild_Bounded builds what kustomize itself does not end, or not in little memory. Each ends with one finding at its file. The race
// detector takes more memory, and ends the process with words of its own.
func TestBuild_Bounded(t *testing.T) {
	nested := func(open, close string) string { return strings.Repeat(open, 9000) + strings.Repeat(close, 9000) }
	bomb := "  a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("  a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 8), i)
	}
	copies := ""
	for i := range 27 {
		copies += fmt.Sprintf("    - {op: copy, from: /data, path: /data/b%d}\n", i)
	}
	diamond := map[string]string{"kustomization.yaml": "components: [../c0]\nresources: [a.yaml]\n", "a.yaml": configMap}
	for i := range 24 {
		diamond[fmt.Sprintf("../c%d/kustomization.yaml", i)] = fmt.Sprintf("kind: Component\ncomponents: [../c%d, ../c%[1]d]\n", i+1)
	}
	diamond["../c24/kustomization.yaml"] = "kind: Component\nnamePrefix: a\n"
	stopped := errTime.Error()
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"aliases":     {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": configMap + "data:\n" + bomb}, errMemory.Error()},
		"copies":      {map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |-\n" + copies, "a.yaml": configMap + "data: {a: b}\n"}, errMemory.Error()},
		"diamond":     {diamond, stopped},
		"nested maps": {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": configMap + "data: " + nested("{a: ", "}") + "\n"}, stopped},
		"crds": {map[string]string{"kustomization.yaml": "resources: [a.yaml]\ncrds: [crd.json]\n", "a.yaml": configMap,
			"crd.json": `{"a.A": {"Schema": {"properties": {"kind": {}, "apiVersion": {}, "metadata": {}, "spec": {"$ref": "a.A"}}}}}`}, errDepth.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			switch name {
			case "copies":
				testenv.LongOnly(t, "it fills the memory as the aliases do")
			case "diamond":
				testenv.LongOnly(t, "it takes time as the nested maps do")
			}
			all := map[string]string{"good/kustomization.yaml": "resources: [a.yaml]\n", "good/a.yaml": configMap}
			for file, text := range tc.files {
				all[filepath.Join("top", file)] = text
			}
			write(t, all)
			b := newBuilder(t, workspace.Flags{Kustomize: []string{"top", "good"}})
			if b.sandbox.processor = time.Minute; tc.want == stopped {
				b.sandbox.processor = time.Second
			}
			done := make(chan *workspace.Built)
			go func() { done <- b.Build("top") }()
			if good := b.Build("good"); good.Findings != nil || len(good.Text) == 0 {
				t.Errorf("the other build: %q, %v", good.Text, good.Findings)
			}
			built := <-done
			if len(built.Findings) != 1 || built.Findings[0].Code != codes.BuildFailed || !strings.Contains(built.Findings[0].Message, tc.want) && !testenv.Race || built.Findings[0].Position.File != filepath.Join("top", "kustomization.yaml") {
				t.Errorf("Build() = %v, want one finding with %q", built.Findings, tc.want)
			}
		})
	}
}

// gated answers nothing before it is released. It tells when it is first asked.
type gated struct {
	answerer
	once            sync.Once
	asked, released chan struct{}
}

func (g *gated) answer(op byte, name string) []string {
	g.once.Do(func() { close(g.asked) })
	<-g.released
	return g.answerer.answer(op, name)
}

// TestSandbox_OtherBuilds ends the process while two builds run. The one that never gets its files ends at the limit of time. The other
// one is built again, and has its product.
func TestSandbox_OtherBuilds(t *testing.T) {
	write(t, map[string]string{"good/kustomization.yaml": "resources: [a.yaml]\n", "good/a.yaml": configMap})
	b := newBuilder(t, workspace.Flags{Kustomize: []string{"good"}})
	dir, err := b.tree.Real("good")
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		made product
		err  error
	}
	start := func() (*gated, chan result) {
		g := &gated{answerer: uninspectedFiles(b.tree), asked: make(chan struct{}), released: make(chan struct{})}
		done := make(chan result, 1)
		go func() {
			made, err := b.sandbox.run(request{Dir: dir, UsualSchema: true}, g)
			done <- result{made, err}
		}()
		<-g.asked
		return g, done
	}
	b.sandbox.time = 5 * time.Second
	endless, ends := start()
	t.Cleanup(func() { close(endless.released) })
	good, goesOn := start()
	b.sandbox.mu.Lock()
	shared := b.sandbox.now
	b.sandbox.mu.Unlock()
	shared.end(nil)
	close(good.released)
	late := time.After(time.Minute)
	for range 2 {
		select {
		case r := <-ends:
			if r.err == nil || !strings.Contains(r.err.Error(), errDeadline.Error()) {
				t.Errorf("the endless build: %v", r.err)
			}
		case r := <-goesOn:
			if r.err != nil || !strings.Contains(string(r.made.Text), "ConfigMap") {
				t.Errorf("the other build: %q, %v", r.made.Text, r.err)
			}
		case <-late:
			t.Fatal("a build does not end")
		}
	}
}

// TestSandbox_Memory watches a process that no system bounds. It ends above the limit.
func TestSandbox_Memory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the process watches itself on other systems")
	}
	b := &builds{cmd: selfCommand("build-fills"), ended: make(chan struct{})}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(time.Minute, func() { b.end(errDeadline) })
	defer limit.Stop()
	go b.watch()
	_ = b.cmd.Wait() // it was killed
	close(b.ended)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reason != errMemory {
		t.Errorf("it ends for the reason %v, want %v", b.reason, errMemory)
	}
}

// TestSandbox_Waits runs a build that gets its files late, as on a machine with much other work. The wait is not time of the processor.
func TestSandbox_Waits(t *testing.T) {
	write(t, map[string]string{"good/kustomization.yaml": "resources: [a.yaml]\n", "good/a.yaml": configMap})
	b := newBuilder(t, workspace.Flags{Kustomize: []string{"good"}})
	dir, err := b.tree.Real("good")
	if err != nil {
		t.Fatal(err)
	}
	b.sandbox.processor = 2 * time.Second
	g := &gated{answerer: uninspectedFiles(b.tree), asked: make(chan struct{}), released: make(chan struct{})}
	go func() {
		<-g.asked
		time.Sleep(3 * time.Second)
		close(g.released)
	}()
	if made, err := b.sandbox.run(request{Dir: dir, UsualSchema: true}, g); err != nil || !strings.Contains(string(made.Text), "ConfigMap") {
		t.Errorf("a build that waits: %q, %v", made.Text, err)
	}
}

// TestSandbox_Stopped builds more than a run may whose builds reach a limit. The others are not built, and each has a finding.
func TestSandbox_Stopped(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no other system tells the time of the processor")
	}
	all := map[string]string{}
	const count = mostStopped + 2
	for i := range count {
		all[fmt.Sprintf("all/k%d/kustomization.yaml", i)], all[fmt.Sprintf("all/k%d/a.yaml", i)] = "resources: [a.yaml]\n", configMap
	}
	write(t, all)
	b := newBuilder(t, workspace.Flags{Kustomize: []string{"all"}})
	b.sandbox.processor = time.Nanosecond
	for i := range count {
		want := errTime
		if i >= mostStopped {
			want = errOthers
		}
		dir := filepath.Join("all", fmt.Sprint("k", i))
		built := b.Build(dir)
		if len(built.Findings) != 1 || !strings.Contains(built.Findings[0].Message, want.Error()) || built.Findings[0].Position.File != filepath.Join(dir, "kustomization.yaml") {
			t.Errorf("Build(%s) = %q, %v, want %q", dir, built.Text, built.Findings, want)
		}
	}
}

// TestBuild_Files builds what would read files outside of the repository, or files that are not regular. Each is rejected at once.
func TestBuild_Files(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		links map[string]string
		want  string
	}{
		"above":         {files: map[string]string{"kustomization.yaml": "resources: [../../outside/a.yaml]\n"}, want: "is outside of the repository"},
		"base":          {files: map[string]string{"kustomization.yaml": "resources: [../../outside]\n"}, want: "is outside of the repository"},
		"component":     {files: map[string]string{"kustomization.yaml": "components: [../../outside]\n"}, want: "is outside of the repository"},
		"linked base":   {files: map[string]string{"kustomization.yaml": "resources: [../base]\n"}, links: map[string]string{"../base": "../outside"}, want: "is outside of the repository"},
		"linked file":   {files: map[string]string{"kustomization.yaml": "resources: [a.yaml]\n"}, links: map[string]string{"a.yaml": "../../outside/a.yaml"}, want: "is outside of the repository"},
		"linked values": {files: map[string]string{"kustomization.yaml": "configMapGenerator: [{name: a, files: [a.yaml]}]\n"}, links: map[string]string{"a.yaml": "../../outside/a.yaml"}, want: "is outside of the repository"},
		"linked top":    {links: map[string]string{"kustomization.yaml": "../../outside/kustomization.yaml"}, want: "is outside of the repository"},
		"device":        {links: map[string]string{"kustomization.yaml": os.DevNull}, want: "is outside of the repository"},
		"inside":        {files: map[string]string{"kustomization.yaml": "resources: [../base]\n", "../real/kustomization.yaml": "resources: [a.yaml]\n", "../real/a.yaml": configMap}, links: map[string]string{"../base": "real"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"repository/.git/HEAD": "", "repository/top/README": "", "outside/a.yaml": configMap, "outside/kustomization.yaml": "resources: [a.yaml]\n"}
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
				if tc.want == "" && (built.Findings != nil || len(built.Text) == 0) || !strings.Contains(got, tc.want) || tc.want != "" && built.Text != nil {
					t.Errorf("Build(%s) = %q, %v, want %q", dir, built.Text, built.Findings, tc.want)
				}
			}
		})
	}
}

// TestFind_Bounded looks for charts whose files are links out of the repository. A command's output names no file outside either.
func TestFind_Bounded(t *testing.T) {
	write(t, map[string]string{"repository/.git/HEAD": "", "repository/a/README": "", "repository/b/README": "", "outside/Chart.yaml": "name: a\n", "outside/kustomization.yaml": ""})
	for link, to := range map[string]string{"a/Chart.yaml": "../../outside/Chart.yaml", "b/kustomization.yaml": "../../outside/kustomization.yaml", "a/values.yaml": "README"} {
		if err := os.Symlink(to, filepath.Join("repository", link)); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
	}
	t.Chdir("repository")
	b := newBuilder(t, workspace.Flags{Files: []string{"."}, BuildCommand: "cat {}"})
	if b.isChart("a") || b.isLibrary("a") {
		t.Error("a link out of the repository makes a chart")
	}
	if k := b.kustomizationIn("b"); k == nil || len(k.rejections) != 1 || len(k.data) > 0 {
		t.Errorf("the kustomization is %v", k)
	}
	if file := b.template("a", "a/../../outside/Chart.yaml"); file != "" {
		t.Errorf("the output names %s", file)
	}
	if file := b.template("a", "a/values.yaml"); file != "a/values.yaml" {
		t.Errorf("the output names %q, want a file of the repository", file)
	}
}

// TestInspect_Bounded inspects texts that are small, and grow in their reader. Each has few rejections.
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
		"aliases":       {"resources: [" + long + aliases + "]\n", errExpands.Error(), 1},
		"circle":        {"resources: &a [*a]\n", errExpands.Error(), 1},
		"few aliases":   {"resources: [&a a.yaml, *a]\n", `"a.yaml" does not exist`, 1},
		"remote files":  {"crds: [" + remote + "]\n", "is remote", mostRejections},
		"literals":      {"configMapGenerator: [{name: a, literals: [" + strings.ReplaceAll(remote, "=", "") + "]}]\n", "a literal has no =", mostRejections},
		"deep":          {"resources: [" + deep + "]\n", "lies in more than 100 directories", 1},
		"missing files": {"resources: [" + strings.ReplaceAll(remote, "http:", "") + "]\n", "does not exist", mostRejections},
		"plugin":        {"generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  files: [" + long + aliases + "]\n", errExpands.Error(), 1},
		"large":         {"resources: [a.yaml]\n#" + strings.Repeat("x", mostKustomization), "must be at most 1 MiB", 1},
		"remote plugin": {"generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  files: [" + remote + "]\n", "is remote", mostRejections},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := newKustomizations(memory{fstest.MapFS{"kustomization.yaml": {Data: []byte(tc.text)}, deep + "/a.yaml": {}}}).read("kustomization.yaml")
			if err != nil || len(k.rejections) != tc.count || !strings.Contains(k.rejections[0].message, tc.want) {
				t.Errorf("%v; %d refusals, want %d with %q: %.300v", err, len(k.rejections), tc.count, tc.want, k.rejections)
			}
		})
	}
}

// TestBuild_Names builds kustomizations in directories whose names are not words. Searching for them finds each, and one process builds
// all.
func TestBuild_Names(t *testing.T) {
	names := []string{"-x", "a b", "plain"}
	if runtime.GOOS == "linux" {
		names = append(names, "a\nb", "a\xffb", "a\x1b[31m", `a\nb`)
	}
	slices.Sort(names)
	all := map[string]string{}
	for _, name := range names {
		all[filepath.Join("all", name, "kustomization.yaml")], all[filepath.Join("all", name, "a.yaml")] = "resources: [a.yaml]\n", configMap
	}
	write(t, all)
	b := newBuilder(t, workspace.Flags{Kustomize: []string{"all"}})
	dirs, found := b.Find()
	if len(dirs) != len(names) || found != nil {
		t.Errorf("Find() = %q, %v, want %q", dirs, found, names)
	}
	processes := map[*builds]bool{}
	for _, dir := range dirs {
		if built := b.Build(dir); built.Findings != nil || len(built.Text) == 0 {
			t.Errorf("Build(%q) = %q, %v", dir, built.Text, built.Findings)
		}
		processes[b.sandbox.now] = true
	}
	if len(processes) != 1 {
		t.Errorf("%d processes build, want one for all", len(processes))
	}
}

// TestBuild_Secrets builds what makes kustomize quote values in its messages. No message shows one.
func TestBuild_Secrets(t *testing.T) {
	const secret = "hunter2"
	for name, text := range map[string]string{
		"URL":             "resources: ['https://a:hunter2@example.com/b']\npatches: [{path: 'https://hunter2@example.com/b'}]\n",
		"address":         "resources: ['a:hunter2@example.com:b']\n",
		"query":           "resources: ['https://example.com/b?ref=c&access_token=hunter2']\n",
		"literal":         "secretGenerator: [{name: a, literals: [hunter2]}]\n",
		"file":            "secretGenerator: [{name: a, files: [\"=hunter2=b\"]}]\n",
		"plugin literal":  "generators:\n- |-\n  apiVersion: builtin\n  kind: SecretGenerator\n  metadata: {name: a}\n  literals: [hunter2]\n",
		"inline patch":    "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: 'hunter2'\n",
		"broken patch":    "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: '{kind: Secret, stringData: {a: hunter2}'\n",
		"no target":       "resources: [a.yaml]\npatches:\n- patch: '{apiVersion: v1, kind: Secret, metadata: {name: b}, stringData: {a: hunter2}}'\n",
		"two patches":     "resources: [a.yaml]\npatches:\n- patch: \"hunter2\"\n  path: a.yaml\n",
		"JSON patch":      "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: '[{op: test, path: /data, value: hunter2}]'\n",
		"no name":         "resources: [secret.yaml]\n",
		"broken resource": "resources: [broken.yaml]\n",
		"transformer":     "resources: [a.yaml]\ntransformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: a}\n  patch: hunter2\n",
		"field":           "secretGenerator: [{name: a, literals: {a: hunter2}}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			write(t, map[string]string{
				"top/kustomization.yaml": text, "top/a.yaml": configMap, "top/broken.yaml": "kind: Secret\nstringData: {a: hunter2\n",
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

// TestServe_ConfinedFirst starts the process that builds, and sends it nothing. It gives its rights away before it reads an input.
func TestServe_ConfinedFirst(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs the files of a process in /proc")
	}
	t.Setenv("SECRET", "value")
	b, err := start(mostProcessor)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		b.end(nil)
		<-b.ended
	}()
	of := func(file string) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", b.cmd.Process.Pid, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for start := time.Now(); !strings.Contains(of("status"), "\nSeccomp:\t2\n"); time.Sleep(time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatal("without an input, the process has no filter")
		}
	}
	if !strings.Contains(of("status"), "\nNoNewPrivs:\t1\n") {
		t.Error("the process may get new privileges")
	}
	if got := of("environ"); got != "TRAINWELD_PROCESS=kustomize\x00" {
		t.Errorf("the environment of the process is %q", got)
	}
	limits := strings.Join(strings.Fields(of("limits")), " ")
	for _, want := range []string{"Max core file size 0 0", "Max data size 536870912 536870912"} {
		if !strings.Contains(limits, want) {
			t.Errorf("the process has the limits %s, want %s", limits, want)
		}
	}
}
