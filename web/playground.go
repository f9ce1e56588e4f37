package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// example is an example of the playground.
type example struct {
	Name  string            `json:"name"`
	Files map[string]string `json:"files"`
}

// examples are the examples of the playground: names for readers, and the files below testdata for each of its editors.
var examples = []struct {
	name  string
	files map[string]string
}{
	{"Two managers disagree", map[string]string{"job.yaml": "quickstart/job.yaml", "runtime.yaml": "quickstart/runtime.yaml", "patches.yaml": "quickstart/platform.yaml"}},
	{"torch: torchrun on four nodes", map[string]string{"job.yaml": "policies/torch/input.yaml"}},
	{"torch: fine-tuning with torchtune", map[string]string{"job.yaml": "policies/torchtune/input.yaml"}},
	{"mpi: a launcher and its nodes", map[string]string{"job.yaml": "policies/mpi/input.yaml"}},
	{"jax", map[string]string{"job.yaml": "policies/jax/input.yaml"}},
	{"xgboost", map[string]string{"job.yaml": "policies/xgboost/input.yaml"}},
	{"volcano: a gang", map[string]string{"job.yaml": "policies/volcano/input.yaml"}},
}

// Playground returns the files of the playground by their names. It builds the program for browsers with Go, and takes what calls it
// from the same Go.
func Playground(repository string) (map[string][]byte, error) {
	program, err := buildProgram(repository)
	if err != nil {
		return nil, err
	}
	worker, err := workerOf(repository)
	if err != nil {
		return nil, err
	}
	shown, err := examplesOf(repository)
	if err != nil {
		return nil, err
	}
	define := map[string]string{}
	for name, value := range map[string]any{"WORKER": string(worker), "EXAMPLES": shown} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		define[name] = string(text)
	}
	files := map[string][]byte{"trainweld.wasm": program}
	sources := filepath.Join(repository, "web", "src")
	if files["playground.js"], err = bundle(filepath.Join(sources, "playground.ts"), define); err != nil {
		return nil, err
	}
	if files["playground.css"], err = bundle(filepath.Join(sources, "playground.css"), nil); err != nil {
		return nil, err
	}
	files["index.html"], err = os.ReadFile(filepath.Join(sources, "playground.html"))
	return files, err
}

// buildProgram returns the program as WebAssembly.
func buildProgram(repository string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "trainweld-playground")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "trainweld.wasm")
	flags, err := smaller(repository, "bin/modules")
	if err != nil {
		return nil, err
	}
	build := exec.Command("go", slices.Concat([]string{"build", "-trimpath", "-ldflags", "-s -w"}, flags, []string{"-o", file, "./cmd/playground"})...)
	build.Dir = repository
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the program for browsers: %w\n%s", err, out)
	}
	return os.ReadFile(file)
}

// workerOf returns the script of the worker: what Go needs in a browser, then the worker itself.
func workerOf(repository string) ([]byte, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	goes, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return nil, err
	}
	worker, err := bundle(filepath.Join(repository, "web", "src", "worker.ts"), nil)
	return bytes.Join([][]byte{goes, worker}, []byte("\n")), err
}

// examplesOf reads the examples.
func examplesOf(repository string) ([]example, error) {
	var shown []example
	for _, e := range examples {
		files := map[string]string{}
		for name, file := range e.files {
			text, err := os.ReadFile(filepath.Join(repository, "testdata", filepath.FromSlash(file)))
			if err != nil {
				return nil, err
			}
			files[name] = string(text)
		}
		shown = append(shown, example{e.name, files})
	}
	return shown, nil
}
