package build

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/manifest"
)

// TestMain runs this binary as the command of a build if its first argument says so.
func TestMain(m *testing.M) {
	Serve()
	if len(os.Args) < 3 || !strings.HasPrefix(os.Args[1], "build-") {
		os.Exit(testenv.Tests{M: m}.Run())
	}
	switch os.Args[1] {
	case "build-hangs":
		fmt.Fprintln(os.Stderr, "child", startSelf("build-sleeps", os.Stdout, nil))
		time.Sleep(time.Minute)
	case "build-says":
		file := filepath.Join(os.Args[2], "Chart.yaml")
		text, err := os.ReadFile(file)
		fmt.Printf("%q %q %v", os.Args[2:], text, err)
	case "build-sleeps":
		if file := os.Getenv("SLEEPS"); file != "" {
			_ = os.WriteFile(file, nil, 0o600)
		}
		time.Sleep(time.Minute)
	case "build-leaves":
		fmt.Printf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: child-%d}\n", startSelf("build-sleeps", nil, nil))
	case "build-detaches":
		out, err := selfCommand("build-forks").Output()
		if err != nil {
			panic(err)
		}
		fmt.Printf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: child-%s}\n", out)
	case "build-forks": // and ends, so that nothing tells whose descendant the other one is
		fmt.Print(startSelf("build-sleeps", nil, detached()))
	case "build-tells":
		fmt.Fprintln(os.Stderr, "password: hunter2")
		os.Exit(1)
	case "build-prints":
		text, err := os.ReadFile(filepath.Join(os.Args[2], "out.yaml"))
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s", text)
	case "build-writes": // changes a file, and removes one here, and one beside
		fmt.Println("kind: ConfigMap")
		err := errors.Join(os.WriteFile(filepath.Join(os.Args[2], "Chart.yaml"), []byte("name: b\n"), 0o666), os.WriteFile(filepath.Join(os.Args[2], "new"), nil, 0o666),
			os.Remove(filepath.Join(os.Args[2], "old")), os.Remove(filepath.Join(os.Args[2]+"2", "old")))
		if err != nil {
			panic(err)
		}
	case "build-fills":
		for held := bytes.Repeat([]byte("full"), mostResident/4); ; {
			time.Sleep(time.Minute)
			runtime.KeepAlive(held)
		}
	case "build-floods":
		for line := bytes.Repeat([]byte("# flood\n"), 1<<13); ; {
			if _, err := os.Stdout.Write(line); err != nil {
				return
			}
		}
	}
}

func selfCommand(what string) *exec.Cmd { return exec.Command(os.Args[0], what, ".") }

// startSelf starts this binary and returns the number of the process.
func startSelf(what string, stdout *os.File, attributes *syscall.SysProcAttr) int {
	child := selfCommand(what)
	if child.SysProcAttr = attributes; stdout != nil {
		child.Stdout = stdout
	}
	if err := child.Start(); err != nil {
		panic(err)
	}
	return child.Process.Pid
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

// commandBuilder builds a chart with this binary. Its copies are below a folder of their own.
func commandBuilder(t *testing.T, what string) (b *Builder, copies string) {
	t.Helper()
	return commandBuilderOf(t, what, map[string]string{"chart/Chart.yaml": "name: a\n"})
}

func commandBuilderOf(t *testing.T, what string, files map[string]string) (b *Builder, copies string) {
	t.Helper()
	write(t, files)
	copies = t.TempDir()
	t.Setenv("TMPDIR", copies)
	self, err := os.Executable()
	if err != nil || strings.Contains(self, " ") {
		t.Skipf("the test binary has no path for a command: %q, %v", self, err)
	}
	return newBuilder(t, workspace.Flags{Files: []string{"chart"}, BuildCommand: self + " " + what + " {}"}), copies
}

// isEmpty fails if a copy of the tree is left.
func isEmpty(t *testing.T, copies string) {
	t.Helper()
	if left, err := os.ReadDir(copies); err != nil || len(left) > 0 {
		t.Errorf("the copy is left: %v, %v", left, err)
	}
}

// isGone fails if a process is still there.
func isGone(t *testing.T, pid int) {
	t.Helper()
	for range 100 {
		if !runs(pid) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

func TestBuild_EndlessCommand(t *testing.T) {
	b, copies := commandBuilder(t, "build-hangs")
	b.limit = 2 * time.Second
	start := time.Now()
	built := b.Build("chart")
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the build took %s", took)
	}
	if len(built.Findings) != 1 || !strings.Contains(built.Findings[0].Message, "exceeds the limit of 2s: child ") {
		t.Fatalf("Build() = %v, want one finding on the limit", built.Findings)
	}
	var pid int
	_, after, _ := strings.Cut(built.Findings[0].Message, "child ")
	if _, err := fmt.Sscan(after, &pid); err != nil {
		t.Fatal(err)
	}
	isGone(t, pid)
	if found := b.Close(); found != nil {
		t.Errorf("Close() = %v", found)
	}
	isEmpty(t, copies)
}

// TestBuild_OrphanProcess builds with commands that leave a process, in the session of the command or in another one.
func TestBuild_OrphanProcess(t *testing.T) {
	for _, what := range []string{"build-leaves", "build-detaches"} {
		t.Run(what, func(t *testing.T) {
			if what == "build-detaches" && runtime.GOOS != "linux" {
				t.Skip("only Linux tells whose descendant an orphan is: SECURITY.md")
			}
			b, copies := commandBuilder(t, what)
			built := b.Build("chart")
			if built.Findings != nil {
				t.Fatalf("Build() = %v", built.Findings)
			}
			var pid int
			_, after, _ := strings.Cut(string(built.Text), "child-")
			if _, err := fmt.Sscan(strings.TrimRight(after, "}\n"), &pid); err != nil {
				t.Fatal(err)
			}
			isGone(t, pid)
			b.Close()
			isEmpty(t, copies)
		})
	}
}

func TestBuild_FloodingCommand(t *testing.T) {
	b, copies := commandBuilder(t, "build-floods")
	built := b.Build("chart")
	if len(built.Findings) != 1 || built.Text != nil || !strings.HasSuffix(built.Findings[0].Message, "prints more than 64 MiB") {
		t.Errorf("Build() = %v, want one finding on the size", built.Findings)
	}
	b.Close()
	isEmpty(t, copies)
}

// TestBuild_CommandWithSecrets holds that the finding on a command shows no password of its messages.
func TestBuild_CommandWithSecrets(t *testing.T) {
	b, _ := commandBuilder(t, "build-tells")
	if built := b.Build("chart"); len(built.Findings) != 1 || !strings.HasSuffix(built.Findings[0].Message, "fails: exit status 1: password: ***") {
		t.Errorf("Build() = %v, want one finding with a masked password", built.Findings)
	}
}

// TestBuild_CommandNames builds directories whose names are not words, in a tree of such a name, with and without a repository. Each
// command gets its directory by a path that is not an option, and reads the file of that directory.
func TestBuild_CommandNames(t *testing.T) {
	names := []string{"-x", "--help", "a b", "{}", "$(touch x)", "chart"}
	if runtime.GOOS == "linux" {
		names = append(names, "a\nb", "a\xffb", "a\x1b[31m", `a\nb`, "a\"b")
	}
	for _, isRepository := range []bool{false, true} {
		above := t.TempDir()
		dir := filepath.Join(above, "tree")
		if runtime.GOOS == "linux" {
			dir += "\nname: other"
		}
		for _, name := range names {
			testenv.WriteIn(t, filepath.Join(dir, name), "Chart.yaml", "name: "+name)
		}
		t.Setenv("GIT_CEILING_DIRECTORIES", above)
		t.Chdir(dir)
		if isRepository {
			if out, err := exec.Command("git", "init", "-q").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		b := newBuilder(t, workspace.Flags{Files: names, BuildCommand: os.Args[0] + " build-says {}"})
		for _, name := range names {
			for _, named := range []string{name, filepath.Join(dir, name)} {
				built := b.Build(named)
				want := fmt.Sprintf("%q %q <nil>", []string{"." + string(filepath.Separator) + name}, "name: "+name)
				if string(built.Text) != want || built.Findings != nil {
					t.Errorf("Build(%q) = %q, %v, want %q", named, built.Text, built.Findings, want)
				}
			}
		}
		b.Close()
	}
}

func TestBuild_InterruptedCommand(t *testing.T) {
	b, copies := commandBuilder(t, "build-sleeps")
	sleeps := filepath.Join(t.TempDir(), "sleeps")
	t.Setenv("SLEEPS", sleeps)
	done := make(chan *workspace.Built)
	go func() { done <- b.Build("chart") }()
	for _, err := os.Stat(sleeps); err != nil; _, err = os.Stat(sleeps) {
		time.Sleep(10 * time.Millisecond)
	}
	start := time.Now()
	b.copy.end() // as after a signal
	isEmpty(t, copies)
	if built := <-done; len(built.Findings) == 0 {
		t.Error("the build has no finding")
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the end took %s", took)
	}
	if err := b.copy.run(nil); err == nil || err.Error() != "interrupted" {
		t.Errorf("run() after the end = %v", err)
	}
}

// TestBuild_CommandWrites holds that a build has no output if its command writes, and that each file is reported once.
func TestBuild_CommandWrites(t *testing.T) {
	b, copies := commandBuilderOf(t, "build-writes", map[string]string{"chart/Chart.yaml": "name: a\n", "chart/old": "", "chart2/old": ""})
	built := b.Build("chart")
	if len(built.Findings) != 1 || built.Text != nil || !strings.Contains(built.Findings[0].Message, " writes chart/Chart.yaml and 2 more files: a build may not write files") {
		t.Errorf("Build() = %q, %v", built.Text, built.Findings)
	}
	for range 20 { // in any order of a map
		if written := b.copy.written("chart"); written != "chart/Chart.yaml and 2 more files" {
			t.Errorf("written() = %q", written)
		}
	}
	if found := b.Close(); found != nil {
		t.Errorf("Close() = %v, and the build has told it", found)
	}
	isEmpty(t, copies)
}

// TestBuild_CommandWritesBeside holds that the end reports what no build has written into its own directory.
func TestBuild_CommandWritesBeside(t *testing.T) {
	b, copies := commandBuilderOf(t, "build-writes", map[string]string{"a/chart/Chart.yaml": "name: a\n", "a/chart/old": "", "a/chart2/old": ""})
	b.copy.once.Do(func() { b.copy.err = b.copy.make() })
	for _, err := range []error{os.Remove(filepath.Join(b.copy.folder, "a/chart2/old")), os.Chmod(filepath.Join(b.copy.folder, "a"), 0o500)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if written := b.copy.written("a/chart"); written != "" {
		t.Errorf("written() = %q", written)
	}
	if found := b.Close(); len(found) != 1 || !strings.Contains(found[0].Message, "--build writes a/chart2/old: a build may not write files") {
		t.Errorf("Close() = %v, want a finding", found)
	}
	isEmpty(t, copies)
	b.copy.end() // again, as after a signal at the end
}

// TestBuild_NoCopy holds that a build without a place for its copy has a finding.
func TestBuild_NoCopy(t *testing.T) {
	b, copies := commandBuilder(t, "build-prints")
	t.Setenv("TMPDIR", filepath.Join(copies, "nowhere"))
	if built := b.Build("chart"); len(built.Findings) != 1 || !strings.Contains(built.Findings[0].Message, "nowhere") {
		t.Errorf("Build() = %v", built.Findings)
	}
}

// TestBuild_CommandOrigins holds the sources of the objects that a command prints. The source is the template that helm names before an
// object, or the place where a kustomization sets a field. A directory with both is a chart.
func TestBuild_CommandOrigins(t *testing.T) {
	const (
		object   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p-a, annotations: {config.kubernetes.io/origin: 'path: a.yaml'}}\n"
		printed  = "# Source: a/t.yaml\n" + object + "data:\n  a: |\n    # Source: a/u.yaml\n---\n" + object + "---\n# Source: u.yaml\n" + object
		prefixed = "resources: [a.yaml]\nnamePrefix: p-\n"
	)
	files := map[string]string{"both/kustomization.yaml": prefixed, "top/kustomization.yaml": prefixed, "top/a.yaml": strings.Replace(object, "p-a", "a", 1), "top/out.yaml": object}
	for _, chart := range []string{"chart", "both"} {
		for name, text := range map[string]string{"Chart.yaml": "name: a\n", "t.yaml": "", "u.yaml": "", "a.yaml": strings.Replace(object, "p-a", "a", 1), "out.yaml": printed} {
			files[chart+"/"+name] = text
		}
	}
	b, _ := commandBuilderOf(t, "build-prints", files)
	documents, _ := manifest.Decode("a.yaml", []byte(object))
	name := fieldpath.Fields("metadata", "name")
	at := func(dir string, line int) string {
		t.Helper()
		built := b.Build(dir)
		if built.Origin == nil {
			t.Fatalf("Build(%s) = %v", dir, built.Findings)
		}
		return built.Origin(line)(documents[0], name).String()
	}
	for _, chart := range []string{"chart", "both"} {
		for line, want := range map[int]string{1: "t.yaml", 2: "t.yaml", 7: "t.yaml", 8: "a.yaml:3:12", 9: "a.yaml:3:12", 13: "u.yaml"} {
			if got := at(chart, line); got != chart+"/"+want {
				t.Errorf("line %d of %s comes from %s, want %s", line, chart, got, want)
			}
		}
	}
	if got := at("top", 1); got != "top/kustomization.yaml:2:1" {
		t.Errorf("the name comes from %s", got)
	}
	if file := b.Build("top").File; file != "top/kustomization.yaml" {
		t.Errorf("the file of a kustomization is %s", file)
	}
}

// TestLimited holds that an output is over its limit only with a byte more, and that it keeps what fits.
func TestLimited(t *testing.T) {
	var full bool
	l := &limitedBuffer{most: 4, full: func() { full = true }}
	for _, tc := range []struct {
		text string
		over bool
	}{{"ab", false}, {"cd", false}, {"", false}, {"e", true}} {
		if n, err := l.Write([]byte(tc.text)); n != len(tc.text) || err != nil || l.over != tc.over || full != tc.over {
			t.Errorf("Write(%q) = %d, %v, over %t", tc.text, n, err, l.over)
		}
	}
	l = &limitedBuffer{most: 4}
	if n, err := l.Write([]byte("abcde")); n != 5 || err != nil || l.kept.String() != "abcd" || !l.over {
		t.Errorf("Write() = %d, %v, and keeps %q", n, err, l.kept.String())
	}
}

const schema = `{"definitions": {"example": {
  "x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Thing", "version": "v1"}],
  "properties": {"spec": {"type": "object", "properties": {"items": {
    "type": "array", "items": {"type": "object"}, "x-kubernetes-patch-merge-key": "id", "x-kubernetes-patch-strategy": "merge"}}}}}}}`

// TestBuild_Schemas builds kustomizations with and without a schema of their own at once. kustomize holds one schema for the process.
func TestBuild_Schemas(t *testing.T) {
	thing := "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {items: [{id: 1, a: 1}, {id: 2, a: 2}]}\n"
	patches := "patches: [{patch: '{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, spec: {items: [{id: 2, a: 3}]}}'}]\n"
	files := map[string]string{"base/thing.yaml": thing, "base/kustomization.yaml": "resources: [thing.yaml]\n"}
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

// TestClosure collects kustomizations that name each other, and a directory without one. Each is there once, before the ones that it
// names. One with a schema of its own is reported.
func TestClosure(t *testing.T) {
	write(t, map[string]string{
		"top/kustomization.yaml": "resources: [../a, ../b, ../empty]\n", "a/kustomization.yaml": "resources: [../c, ../top]\n", "b/kustomization.yaml": "resources: [../c]\n",
		"c/kustomization.yaml": "", "empty/README": "", "own/kustomization.yaml": "resources: [../schema, ../c]\n", "schema/kustomization.yaml": "openapi: {path: a.json}\n",
	})
	b := newBuilder(t, workspace.Flags{Kustomize: []string{"top"}})
	for dir, want := range map[string]string{"top": "top a c b true", "c": "c true", "own": "own schema c false", "schema": "schema false"} {
		all, isUsual := b.closure(b.kustomizationIn(dir))
		var names []string
		for _, k := range all {
			names = append(names, filepath.Base(filepath.Dir(k.file)))
		}
		if got := fmt.Sprint(strings.Join(names, " "), " ", isUsual); got != want {
			t.Errorf("closure(%s) = %s, want %s", dir, got, want)
		}
	}
}

// TestBuild_SameAsKustomize compares builds with the builds of kustomize itself, also where the user asks for annotations.
func TestBuild_SameAsKustomize(t *testing.T) {
	base := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {y: \"on\", n: \"1\"}\n"
	for name, text := range map[string]string{
		"plain":           "resources: [../base]\n",
		"annotated":       "resources: [../base]\nbuildMetadata: [originAnnotations]\n",
		"managed":         "resources: [../base]\nbuildMetadata: [managedByLabel]\n",
		"transformations": "resources: [../base]\nbuildMetadata: [transformerAnnotations]\nnamePrefix: a-\n",
		"generator":       "configMapGenerator: [{name: b, literals: [c=d]}]\ncommonAnnotations: {a: b}\n",
		"json":            `{"resources": ["../base"], "namespace": "a"}`,
		"data":            "configMapGenerator: [{name: b, files: [script.sh]}]\n",
		"empty":           "resources: []\nconfigMapGenerator: []\nnamespace: a\n",
	} {
		t.Run(name, func(t *testing.T) {
			write(t, map[string]string{"base/a.yaml": base, "base/kustomization.yaml": "resources: [a.yaml]\n", "top/kustomization.yaml": text, "top/script.sh": "#!/bin/sh\necho: builtin \\ {\n"})
			built := newBuilder(t, workspace.Flags{Kustomize: []string{"top"}}).Build("top")
			if want := kustomized(t, "top"); asYAML(t, built.Text) != want || built.Findings != nil {
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
	schemas.ready = false
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
	const overlay, component = "resources: [../../base]\n", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
	write(t, map[string]string{
		"apps/base/kustomization.yaml":                                    "resources: []\n",
		"apps/overlays/eu/kustomization.yml":                              overlay,
		"apps/overlays/us/Kustomization":                                  overlay,
		"apps/queue/kustomization.yaml":                                   component,
		"apps/.hidden/kustomization.yaml":                                 overlay,
		"charts/a/Chart.yaml":                                             "name: a\n",
		"charts/a/charts/sub/Chart.yaml":                                  "name: sub\n",
		"charts/b/templates/x/Chart.yaml":                                 "name: b\n",
		"charts/b/deploy/kustomization.yaml":                              "resources: []\n",
		"empty/readme.md":                                                 "nothing\n",
		"job.yaml":                                                        "kind: A\n",
		"apps/overlays/eu/deep/kustomization.yaml":                        "resources: []\n",
		"below" + strings.Repeat("/a", host.MostNested+1) + "/Chart.yaml": "name: a\n",
		"above" + strings.Repeat("/a", host.MostNested) + "/Chart.yaml":   "name: a\n",
	})
	for _, tc := range []struct {
		flags workspace.Flags
		want  []string
		found int
	}{
		{flags: workspace.Flags{Kustomize: []string{"apps"}}, want: []string{"apps/overlays/eu", "apps/overlays/eu/deep", "apps/overlays/us"}},
		{flags: workspace.Flags{Kustomize: []string{"apps/base"}}, want: []string{"apps/base"}},
		{flags: workspace.Flags{Kustomize: []string{"./apps/overlays/*/"}}, want: []string{"apps/overlays/eu", "apps/overlays/us"}},
		{flags: workspace.Flags{Kustomize: []string{"apps/overlays", "apps/overlays/us"}}, want: []string{"apps/overlays/eu", "apps/overlays/eu/deep", "apps/overlays/us"}},
		{flags: workspace.Flags{Kustomize: []string{"empty", "nowhere", "job.yaml", "no*"}}, found: 4},
		{flags: workspace.Flags{Files: []string{"charts", "job.yaml"}, BuildCommand: "a {}"}, want: []string{"charts/a", "charts/b/deploy", "charts/b/templates/x"}},
		{flags: workspace.Flags{Files: []string{"charts/a"}, BuildCommand: "a {}"}, want: []string{"charts/a"}},
		{flags: workspace.Flags{Files: []string{"below"}, BuildCommand: "a {}"}, found: 1},
		{flags: workspace.Flags{Files: []string{"above"}, BuildCommand: "a {}"}, want: []string{"above" + strings.Repeat("/a", host.MostNested)}},
		{flags: workspace.Flags{Files: []string{"empty"}, BuildCommand: "a {}"}, found: 1},
		{flags: workspace.Flags{Files: []string{"job.yaml"}, BuildCommand: "a {}"}, found: 1},
	} {
		dirs, found := newBuilder(t, tc.flags).Find()
		for i := range dirs {
			dirs[i] = filepath.ToSlash(dirs[i])
		}
		if !slices.Equal(dirs, tc.want) || len(found) != tc.found {
			t.Errorf("Find(%q %q) = %q, %v, want %q and %d findings", tc.flags.Kustomize, tc.flags.Files, dirs, found, tc.want, tc.found)
		}
	}
}

func TestMasked(t *testing.T) {
	const withheld = "(the rest may hold values of a Secret, and is not shown)"
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{"Error: template: a/templates/job.yaml:3:5: nil pointer\n", "Error: template: a/templates/job.yaml:3:5: nil pointer"},
		{"password: hunter2 and more", "password: *** *** ***"},
		{"DB_PASSWORD=hunter2", "DB_PASSWORD=***"},
		{"--api-token=hunter2 now", "--api-token=*** ***"},
		{"Authorization: Bearer hunter2", "Authorization: *** ***"},
		{"header bearer hunter2", "header bearer ***"},
		{"--password hunter2", "--password ***"}, {"the token is missing", "the token is missing"}, {"=hunter2", "=hunter2"},
		{"at https://user:hunter2@example.com/a?b", "at https://***@example.com/a?***"}, {"https://a:hun/ter2@b#c", "https://***@b#***"},
		{"https://@b/?token=hunter2", "https://***@b/?***"}, {"token=https://b", "token=***"}, {"https://b/c", "https://b/c"},
		{"key AbCdEfGh1234567890IjKl is used", "key *** is used"}, {"AbCdEfGh1234567890Ij", "***"}, {"AbCdEfGh1234567890I", "AbCdEfGh1234567890I"},
		{"aHVudGVyMmh1bnRlcjJodW50ZXI=", "***"}, {`"aHVudGVyMmh1b/nRlcjJodW50ZXI=",`, "***"}, {"aHVudGVyMmh1bnRlcj==", "***"}, {"aHVudGVyMmh1bnRlc==", "aHVudGVyMmh1bnRlc=="},
		{"charts/AbCdEfGh1234567890IjKl/a", "charts/AbCdEfGh1234567890IjKl/a"}, {"hun-TER-2345678901234567", "***"},
		{"0123456789abcdef01234567", "***"}, {"AKIA0123456789ABCDEF", "***"}, {"torch-distributed-worker-12", "torch-distributed-worker-12"},
		{"01234567890123456789", "01234567890123456789"}, {"AbcdefghijklmnopqrsT", "AbcdefghijklmnopqrsT"},
		{"\n \n-----BEGIN A-----\nhunter2\n -----END A-----\nend", "-----BEGIN A----- | end"},
		{"first\nkind: Secret\ndata:\n  a: hunter2\n", "first | " + withheld},
		{"stringData: |\n  hunter2\n", withheld}, {"error in {stringData: {a: hunter2}}\n", withheld}, {"'kind': \"Secret\"\nhunter2\n", withheld},
		{`{"kind":"Secret","data":{"a":"hunter2"}}`, withheld}, {"pwd=hunter2 x", "pwd=*** ***"}, {"auth: hunter2", "auth: ***"},
		{"password:\n  hunter2 a\nb", "password: | *** *** | b"}, {"the password is:\nhunter2", "the password is: | ***"}, {"password = hunter2", "password = ***"},
		{"password =hunter2", "password =***"}, {"password is: hunter2", "password is: ***"}, {"token\nhunter2", "token | hunter2"}, {"a: b\nc", "a: b | c"}, {"token: a\nb", "token: *** | b"},
		{`{"a":1,"password":"hunter2"}`, `{"a":1,"password":***`}, {"A=1,PASSWORD=hunter2", "A=1,PASSWORD=***"}, {"PASSWORD=a://hunter2", "PASSWORD=***"}, {"a=b://c?d=e", "a=b://c?***"},
		{"kind: !!str &a Secret\nhunter2", withheld}, {"kind: SecretList\nhunter2", withheld}, {"kind:\n  Secret\nhunter2", "kind: | " + withheld},
		{"-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\nend", "-----BEGIN PRIVATE KEY----- | end"},
		{"1\n2\n3\n4\n5\n6\n7\n", "1 | 2 | 3 | 4 | 5 | (2 more lines)"},
		{"\x1b[31mred\x00", `\x1b[31mred\x00`},
		{strings.Repeat("ä", 400), strings.Repeat("ä", 300) + "…"}, {strings.Repeat("ä", 300), strings.Repeat("ä", 300)},
	} {
		if got := masked(tc.text); got != tc.want {
			t.Errorf("masked(%q) = %q, want %q", tc.text, got, tc.want)
		}
	}
}

// TestRemote names an address without its secrets.
func TestRemote(t *testing.T) {
	for address, want := range map[string]string{
		"git@github.com:a/b": "git@github.com:a/b", "https://example.com/a?ref=b": "https://example.com/a?ref=b", "git@example.com/a:b@c": "***@c",
		"https://a@example.com/b": "https://***@example.com/b", "https://example.com/a?ref=b&token=c": "https://example.com/a?***", "a@b://c": "a@b://c",
	} {
		if got := remote(address); got != strconv.Quote(want)+" is remote: a build fetches nothing" {
			t.Errorf("remote(%q) = %s, want %s", address, got, want)
		}
	}
}

// TestSafeReason shows the known parts of a message, once each, and at most five.
func TestSafeReason(t *testing.T) {
	const missing, denied = "no such file or directory", "permission denied"
	for text, want := range map[string]string{
		missing + " hunter2 " + missing + ": " + denied: missing + ": " + denied,
		"line 1 has invalid utf8 bytes, line 2 has invalid utf8 bytes, line 3 has invalid utf8 bytes, permission denied, file does not exist, exceeded max depth": "line 1 has invalid utf8 bytes: line 2 has invalid utf8 bytes: line 3 has invalid utf8 bytes: permission denied: file does not exist",
		"hunter2": "its message may hold values of the files, and is not shown",
	} {
		if got := safeReason(text); got != want {
			t.Errorf("safeReason(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, tc := range []struct {
		command string
		want    []string
	}{
		{"helm template {}", []string{"helm", "template", "{}"}},
		{"  cue  export ./{}/... ", []string{"cue", "export", "./{}/..."}},
		{"helm template", nil},
		{"{}", nil},
		{" ", nil},
	} {
		if got, err := splitCommand(tc.command); !slices.Equal(got, tc.want) || (err == nil) != (tc.want != nil) {
			t.Errorf("words(%q) = %q, %v, want %q", tc.command, got, err, tc.want)
		}
	}
}

func TestIsRepository(t *testing.T) {
	for path, want := range map[string]bool{
		"../../base": false, "base": false, "a/b@c": false, "a.git/b": false,
		"git@example.com:a/b": true, "github.com/a/b": true, "GitHub.com:a/b": true, "ssh://a/b": true, "file:///a": true, "git::a/b": true,
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
		"base/job.yaml":           "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  name: llm\nspec:\n  runtimeRef: {name: a}\n  wrong: 1\n",
		"eu/kustomization.yaml":   "namePrefix: eu-\nresources: [../base]\n",
	})
	flags := workspace.Flags{Kustomize: []string{"eu"}}
	var found int
	err := Parts(&host.Program{Files: host.Files{}}, flags, func(part workspace.Flags) error {
		in := workspace.Read(&host.Program{Files: host.Files{}}, part)
		in.Label(in.Findings)
		for _, f := range in.Findings {
			if found++; f.Build != "eu" || f.Position.File != filepath.Join("base", "job.yaml") || f.Position.Line != 7 {
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
