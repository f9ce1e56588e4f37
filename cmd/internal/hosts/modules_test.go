package hosts

import (
	"bytes"
	"path"
	"path/filepath"
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
	must(t, repository, nil, "git", "clone", "--quiet", "--config=user.name=a",
		"--config=user.email=a@example.com", bare, p.repository)
	must(t, p.repository, nil, "git", "checkout", "--quiet", "-B", "main")
	tree := strings.TrimSpace(must(t, p.repository, nil, "git", "rev-parse", "HEAD^{tree}").stdout)
	p.version = "v0.1.0-rc.1.t" + tree[:12] // a number would not begin with zero
	must(t, ".", []string{"GOWORK=off"}, "go", "run", "./packaging", "tag", p.repository, p.version)
	for _, name := range []string{"", "render", "cmd"} {
		v := module.Version{Path: path.Join(core, name), Version: p.version}
		into := filepath.Join(folder, filepath.FromSlash(v.Path), "@v")
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
			write(t, filepath.Join(into, file), text)
		}
	}
	others := strings.TrimSpace(must(t, repository, nil, "go", "env", "GOPROXY").stdout)
	p.env = []string{"GOWORK=off", "GOFLAGS=", "GONOSUMDB=" + core,
		"GOPROXY=file://" + filepath.ToSlash(folder) + "," + others}
	return p
}

// TestModules builds the modules without the workspace. The files of each are complete, and the
// program's replace nothing, which go install refuses. The lowest versions that the core names are
// enough for its tests.
func TestModules(t *testing.T) {
	need(t, "git")
	p := newProxy(t)
	for _, folder := range []string{"", "render", "cmd"} {
		must(t, filepath.Join(p.repository, folder), p.env, "go", "mod", "tidy", "-diff")
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

// TestImporters adds the core to controllers on several versions of Kubernetes. Their line go and
// every module that they link stay. The list of modules gets the core. On newer versions it may
// also get modules that only an older Kubernetes links.
func TestImporters(t *testing.T) {
	need(t, "git")
	p := newProxy(t)
	old := " github.com/davecgh/go-spew github.com/gogo/protobuf github.com/golang/protobuf " +
		"github.com/google/gofuzz sigs.k8s.io/structured-merge-diff/v4 "
	for _, c := range []struct{ kubernetes, version string }{
		{"v0.32.0", "1.23.0"}, {"v0.34.0", "1.24.0"}, {"v0.36.0", "1.26.0"}} {
		t.Run(c.kubernetes, func(t *testing.T) {
			dir := t.TempDir()
			mod, program := filepath.Join(dir, "go.mod"), filepath.Join(dir, "main.go")
			write(t, mod, "module example.com/controller\n\ngo "+c.version+
				"\n\nrequire k8s.io/client-go "+c.kubernetes+"\n")
			write(t, program, read(t, "testdata/controller/before.go"))
			must(t, dir, p.env, "go", "mod", "tidy")
			list := func(args ...string) string {
				return must(t, dir, p.env, "go", append([]string{"list"}, args...)...).stdout
			}
			linked := []string{"-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", "."}
			before, links := list("-m", "all"), list(linked...)
			must(t, dir, p.env, "go", "get", core+"@"+p.version)
			write(t, program, read(t, "testdata/controller/after.go"))
			must(t, dir, p.env, "go", "mod", "tidy")
			must(t, dir, p.env, "go", "run", ".")
			if text := read(t, mod); !strings.Contains(text, "\ngo "+c.version+"\n") {
				t.Errorf("the line go has changed:\n%s", text)
			}
			for _, had := range []struct{ does, before, after string }{
				{"links", links, list(linked...)}, {"lists", before, list("-m", "all")}} {
				for line := range strings.Lines(had.after) {
					name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
					isOld := had.does == "lists" && c.kubernetes != "v0.32.0" &&
						strings.Contains(old, " "+name+" ")
					if name != "" && name != core && !isOld &&
						!strings.Contains("\n"+had.before, "\n"+line) {
						t.Errorf("the controller %s %s, and did not before", had.does, line)
					}
				}
			}
		})
	}
}
