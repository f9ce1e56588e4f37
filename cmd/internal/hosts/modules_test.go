package hosts

import (
	"bytes"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const core = "github.com/trainweld/trainweld"

// proxied is a version of this tree's modules in a proxy of its own.
type proxied struct {
	version, repository string
	env                 []string
}

// newProxy tags a version of the last commit in a clone of a bare clone, as make tag does, and
// writes the modules of the tag as a proxy has them. The version names the tree, so caches of
// modules never hold another one by its name.
func newProxy(t *testing.T) proxied {
	t.Helper()
	folder, bare := t.TempDir(), filepath.Join(t.TempDir(), "bare.git")
	p := proxied{repository: filepath.Join(t.TempDir(), "trainweld")}
	must(t, repository, nil, "git", "clone", "--quiet", "--bare", ".", bare)
	must(t, repository, nil, "git", "clone", "--quiet", bare, p.repository)
	for _, setting := range []string{"user.name=a", "user.email=a@example.com"} {
		name, value, _ := strings.Cut(setting, "=")
		must(t, p.repository, nil, "git", "config", name, value)
	}
	must(t, p.repository, nil, "git", "checkout", "--quiet", "-B", "main")
	tree := strings.TrimSpace(must(t, p.repository, nil, "git", "rev-parse", "HEAD^{tree}").stdout)
	p.version = "v0.1.0-rc.1.t" + tree[:12] // a number would not begin with zero
	must(t, ".", []string{"GOWORK=off"}, "go", "run", "./packaging", "tag", p.repository, p.version)
	for _, name := range []string{"", "render", "cmd"} {
		v := module.Version{Path: path.Join(core, name), Version: p.version}
		into := filepath.Join(folder, filepath.FromSlash(v.Path), "@v")
		if err := os.MkdirAll(into, 0o777); err != nil {
			t.Fatal(err)
		}
		var archive bytes.Buffer
		if err := zip.CreateFromVCS(&archive, v, p.repository, path.Join(name, p.version),
			name); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{
			p.version + ".zip":  archive.String(),
			p.version + ".mod":  read(t, filepath.Join(p.repository, name, "go.mod")),
			p.version + ".info": `{"Version": "` + p.version + `"}`, "list": p.version + "\n",
		} {
			if err := os.WriteFile(filepath.Join(into, file), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	others := strings.TrimSpace(must(t, repository, nil, "go", "env", "GOPROXY").stdout)
	p.env = []string{"GOWORK=off", "GOFLAGS=", "GONOSUMDB=" + core,
		"GOPROXY=file://" + filepath.ToSlash(folder) + "," + others}
	return p
}

// TestModules builds the modules without the workspace. The files of each are complete, and replace
// and exclude nothing. The lowest versions that the core names are enough for its tests.
func TestModules(t *testing.T) {
	need(t, "git")
	p := newProxy(t)
	for _, folder := range []string{"", "render", "cmd"} {
		dir := filepath.Join(p.repository, folder)
		must(t, dir, p.env, "go", "mod", "tidy", "-diff")
		mod := read(t, filepath.Join(dir, "go.mod"))
		for _, directive := range []string{"\nreplace", "\nexclude"} {
			if strings.Contains(mod, directive) {
				t.Errorf("go.mod in %q has a directive %s, which go install refuses", folder,
					strings.TrimSpace(directive))
			}
		}
	}
	must(t, p.repository, p.env, "go", "mod", "verify")
	must(t, p.repository, p.env, "go", "test", "-vet=off", "./fieldpath/...", "./schema",
		"./merge/...", "./finding", "./conflict")
	bin := t.TempDir()
	must(t, bin, append(p.env, "GOBIN="+bin), "go", "install", core+"/cmd/trainweld@"+p.version)
	if got := must(t, bin, nil, filepath.Join(bin, "trainweld"),
		"version").stdout; !strings.Contains(got, "trainweld "+p.version+"\n") {
		t.Errorf("the installed program prints %q, want version %s", got, p.version)
	}
}

// TestPreCommit_Install installs the hooks of the tree as pre-commit does in a clone of any
// revision. It installs the tree's packages, then the packages that the hook names.
func TestPreCommit_Install(t *testing.T) {
	var hooks []struct {
		AdditionalDependencies []string `yaml:"additional_dependencies"`
	}
	decode(t, read(t, filepath.Join(repository, ".pre-commit-hooks.yaml")), &hooks)
	if len(hooks) == 0 {
		t.Fatal("there are no hooks")
	}
	for _, hook := range hooks {
		bin := t.TempDir()
		for _, packages := range append([]string{"./..."}, hook.AdditionalDependencies...) {
			must(t, repository, []string{"GOBIN=" + bin}, "go", "install", packages)
		}
		must(t, bin, nil, filepath.Join(bin, "trainweld"), "version")
	}
}

// controller merges with the core what client-go's types describe.
const controller = `package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/kubernetes/scheme"
MERGE
)

func main() {
	fmt.Println(scheme.Scheme.IsVersionRegistered(appsv1.SchemeGroupVersion))
	LINES
}
`

const merging = `patch := merge.Object{"spec": map[string]any{"replicas": int64(2)}}
	result, err := merge.Strategic(&appsv1.Deployment{}, []merge.Patch{{Manager: "a", Value: patch}})
	if err != nil || conflict.Find(result.History).Err() != nil || *result.Value.Spec.Replicas != 2 {
		panic(err)
	}`

// TestImporters adds the core to controllers on several versions of Kubernetes. Their line go and
// every module that they link stay. The list of modules gets the core. On newer versions it may
// also get modules that only an older Kubernetes links.
func TestImporters(t *testing.T) {
	need(t, "git")
	p := newProxy(t)
	for _, c := range []struct{ kubernetes, version string }{
		{"v0.32.0", "1.23.0"}, {"v0.34.0", "1.24.0"}, {"v0.36.0", "1.26.0"}} {
		t.Run(c.kubernetes, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			program := func(imports, lines string) {
				write("main.go",
					strings.NewReplacer("MERGE", imports, "LINES", lines).Replace(controller))
			}
			write("go.mod", "module example.com/controller\n\ngo "+c.version+
				"\n\nrequire k8s.io/client-go "+c.kubernetes+"\n")
			program("", "")
			must(t, dir, p.env, "go", "mod", "tidy")
			listed := func() map[string]bool {
				lines := strings.Split(
					strings.TrimSpace(must(t, dir, p.env, "go", "list", "-m", "all").stdout), "\n")
				return maps.Collect(func(yield func(string, bool) bool) {
					for _, line := range lines {
						if !yield(line, true) {
							return
						}
					}
				})
			}
			linked := func() string {
				return must(t, dir, p.env, "go", "list", "-deps", "-f",
					"{{with .Module}}{{.Path}} {{.Version}}{{end}}", ".").stdout
			}
			modules, links := listed(), linked()
			must(t, dir, p.env, "go", "get", core+"@"+p.version)
			program("\n\t\""+core+"/conflict\"\n\t\""+core+"/merge\"", merging)
			must(t, dir, p.env, "go", "mod", "tidy")
			must(t, dir, p.env, "go", "run", ".")
			if mod := read(t, filepath.Join(dir, "go.mod")); !strings.Contains(
				mod, "\ngo "+c.version+"\n") {
				t.Errorf("the line go has changed:\n%s", mod)
			}
			for line := range strings.Lines(linked()) {
				if line = strings.TrimSpace(line); line != "" && line != "example.com/controller" &&
					!strings.HasPrefix(line, core+" ") &&
					!strings.Contains("\n"+links, "\n"+line+"\n") {
					t.Errorf("the controller links %s, and did not before", line)
				}
			}
			old := strings.Fields(
				"github.com/davecgh/go-spew github.com/gogo/protobuf github.com/golang/protobuf " +
					"github.com/google/gofuzz sigs.k8s.io/structured-merge-diff/v4")
			for line := range listed() {
				name, _, _ := strings.Cut(line, " ")
				if !modules[line] && name != core &&
					(c.kubernetes == "v0.32.0" || !slices.Contains(old, name)) {
					t.Errorf("the list of modules has %s, and did not before", line)
				}
			}
		})
	}
}
