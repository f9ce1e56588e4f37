package web

import (
	"bytes"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// unused are files of modules that the program for browsers does without. They make it a third larger. The first two describe
// types for OpenAPI and link a web server. The third one reads the watches of a client and links HTTP/2. No package that the program
// links uses them, or it would not compile without them.
var unused = map[string]string{
	"github.com/kubeflow/trainer/v2": "pkg/apis/trainer/v1alpha1/zz_generated.openapi.go",
	"sigs.k8s.io/jobset":             "api/jobset/v1alpha2/openapi_generated.go",
	"k8s.io/apimachinery":            "pkg/watch/streamwatcher.go",
}

// smaller writes a go.mod of the program to a folder of the repository. It also writes copies of modules, without their unused files. It
// returns the flags of a build in folder cmd with that file. The folder has a fixed name. So builds are cached, and equal on every machine.
func smaller(folder string) ([]string, error) {
	program := filepath.Join(repository, "cmd")
	mod, err := os.ReadFile(filepath.Join(program, "go.mod"))
	if err != nil {
		return nil, err
	}
	sum, err := os.ReadFile(filepath.Join(program, "go.sum"))
	if err != nil {
		return nil, err
	}
	var replaced bytes.Buffer
	for _, sibling := range []string{"", "/render"} { // go.work does not count here
		fmt.Fprintf(&replaced, "replace github.com/trainweld/trainweld%s => ..%s/\n", sibling, sibling)
	}
	for _, module := range []string{"github.com/kubeflow/trainer/v2", "k8s.io/apimachinery", "sigs.k8s.io/jobset"} {
		list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
		list.Dir, list.Env = repository, append(os.Environ(), "GOWORK=")
		dir, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list -m %s: %w", module, err)
		}
		if err := copyModule(strings.TrimSpace(string(dir)), filepath.Join(repository, folder, module), unused[module]); err != nil {
			return nil, err
		}
		fmt.Fprintf(&replaced, "replace %s => %s\n", module, path.Join("..", folder, module))
	}
	file := filepath.Join(repository, folder, "playground.mod")
	if err := os.WriteFile(file, append(mod, replaced.Bytes()...), 0o666); err != nil {
		return nil, err
	}
	if err := os.WriteFile(strings.TrimSuffix(file, ".mod")+".sum", sum, 0o666); err != nil {
		return nil, err
	}
	return []string{"-mod=mod", "-modfile=" + path.Join("..", folder, "playground.mod")}, nil
}

// copyModule copies the Go code of a module without its tests and one file. A missing file is an error: a new version of the module
// has moved it.
func copyModule(from, to, without string) error {
	if _, err := os.Stat(filepath.Join(from, without)); err != nil {
		return fmt.Errorf("the program for browsers leaves a file out that is gone: %w", err)
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return fs.WalkDir(os.DirFS(from), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case name == without, strings.HasSuffix(name, "_test.go"), name != "go.mod" && !strings.HasSuffix(name, ".go"):
			return nil
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if name != "go.mod" { // so that gofmt, which reads all folders, finds nothing to change
			if data, err = format.Source(data); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		file := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		return os.WriteFile(file, data, 0o666)
	})
}
