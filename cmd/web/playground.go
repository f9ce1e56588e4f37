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

// repository is the folder of the repository, relative to this package. The build of the pages and the tests run in the folder of the
// package.
const repository = "../.."

// example is an example of the playground. Answers are those to the command lines of the page.
type example struct {
	Name    string            `json:"name"`
	Files   map[string]string `json:"files"`
	Answers []answer          `json:"answers,omitempty"`
}

// examples are the examples of the playground: names for readers, and the files below testdata for each of its editors.
var examples = []struct {
	name  string
	files map[string]string
}{
	{"Two managers disagree", map[string]string{"job.yaml": "quickstart/job.yaml", "runtime.yaml": "quickstart/runtime.yaml", "patches.yaml": "quickstart/platform.yaml"}},
	{"A policy composes their values", map[string]string{"job.yaml": "compose/job.yaml", "runtime.yaml": "compose/runtime.yaml", "trainweld.yaml": "compose/trainweld.yaml"}},
	{"The runtime torch-distributed of the release", map[string]string{"job.yaml": "policyfile/jobs/llm.yaml"}},
	{"torch: torchrun on four nodes", map[string]string{"job.yaml": "policies/torch/input.yaml"}},
	{"torch: fine-tuning with torchtune", map[string]string{"job.yaml": "policies/torchtune/input.yaml"}},
	{"mpi: a launcher and its nodes", map[string]string{"job.yaml": "policies/mpi/input.yaml"}},
	{"jax", map[string]string{"job.yaml": "policies/jax/input.yaml"}},
	{"xgboost", map[string]string{"job.yaml": "policies/xgboost/input.yaml"}},
	{"volcano: a gang", map[string]string{"job.yaml": "policies/volcano/input.yaml"}},
}

// playgrounds are the pages of the playground, by the names of their files. They differ in their program only, and the button of each leads
// to the other one. Only checks.html loads the rules of a cluster.
var playgrounds = map[string]*strings.Replacer{
	"index.html": strings.NewReplacer("TITLE", "Playground", "PROGRAM", "trainweld.wasm", "OTHER", "checks.html", "BUTTON", "Check (loads 11 MB)", "FINDINGS",
		"These are the findings of rendering, where the last patch wins as in the cluster. The rules of the API server and of webhooks are not part of them: choose Check."),
	"checks.html": strings.NewReplacer("TITLE", "Playground with checks", "PROGRAM", "checks.wasm", "OTHER", "index.html", "BUTTON", "Render only (loads 6 MB)", "FINDINGS",
		"These are the findings of the command check, where the last patch wins as in the cluster: the rules of the API server, the webhooks and the controllers."),
}

// firstLines are the command lines that the pages run for their first example. Only checks.html runs the last one.
var firstLines = [][]string{
	{"render", "-f", "job.yaml", "-r", "runtime.yaml", "--patch", "patches.yaml", "--on-conflict=last", "--to=jobset"},
	{"render", "-f", "job.yaml", "-r", "runtime.yaml", "--patch", "patches.yaml", "--on-conflict=last", "--to=pods", "-o", "wide"},
	{"blame", "-f", "job.yaml", "-r", "runtime.yaml", "--patch", "patches.yaml", "--to=jobset", "-o", "html"},
	{"check", "-f", "job.yaml", "-r", "runtime.yaml", "--patch", "patches.yaml", "--on-conflict=last"},
}

// Playground returns the files of the playground by their names. It builds the programs for browsers with Go, and takes the script that
// calls them from the same Go. The larger program itself answers the first example, in node. So a page shows something while it loads. The
// build calls step with its next action.
func Playground(step func(what string)) (map[string][]byte, error) {
	step("compiling the programs for browsers: minutes the first time")
	files, err := buildPrograms()
	if err != nil {
		return nil, err
	}
	worker, err := workerOf()
	if err != nil {
		return nil, err
	}
	shown, err := examplesOf()
	if err != nil {
		return nil, err
	}
	step("asking the program for its first answers")
	first, err := ask(files["checks.wasm"], []request{{shown[0].Files, firstLines}})
	if err != nil {
		return nil, err
	}
	shown[0].Answers = first[0].Answers
	step("bundling the page")
	define := map[string]string{}
	for name, value := range map[string]any{"WORKER": string(worker), "EXAMPLES": shown} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		define[name] = string(text)
	}
	sources := filepath.Join(repository, "cmd", "web", "src")
	if files["playground.js"], err = bundle(filepath.Join(sources, "playground.ts"), define); err != nil {
		return nil, err
	}
	if files["playground.css"], err = bundle(filepath.Join(sources, "playground.css"), nil); err != nil {
		return nil, err
	}
	if files["licenses.txt"], err = licenses(); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(sources, "playground.html"))
	for name, replacer := range playgrounds {
		files[name] = bytes.Replace([]byte(replacer.Replace(string(text))), []byte("VERSION"), []byte(versionOf()), 1)
	}
	return files, err
}

// versionOf returns the tag or the revision of the repository, as the Makefile names a release, or "without a revision".
func versionOf() string {
	out, err := exec.Command("git", "-C", repository, "describe", "--tags", "--match", "v[0-9]*", "--always", "--dirty").Output()
	if err != nil {
		return "without a revision"
	}
	return string(bytes.TrimSpace(out))
}

// buildPrograms returns the programs as WebAssembly, by their names.
func buildPrograms() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "trainweld-playground")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	flags, err := smaller("bin/modules")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, folder := range map[string]string{"trainweld.wasm": "./playground", "checks.wasm": "./playground/checks"} {
		file := filepath.Join(dir, name)
		build := exec.Command("go", slices.Concat([]string{"build", "-trimpath", "-ldflags", "-s -w"}, flags, []string{"-o", file, folder})...)
		build.Dir = filepath.Join(repository, "cmd")
		build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building %s for browsers: %w\n%s", folder, err, out)
		}
		if files[name], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// workerOf returns the script of the worker: what Go needs in a browser, then the worker itself.
func workerOf() ([]byte, error) {
	script, err := goScript()
	if err != nil {
		return nil, err
	}
	goes, err := os.ReadFile(script)
	if err != nil {
		return nil, err
	}
	worker, err := bundle(filepath.Join(repository, "cmd", "web", "src", "worker.ts"), nil)
	return bytes.Join([][]byte{goes, worker}, []byte("\n")), err
}

// examplesOf reads the examples.
func examplesOf() ([]example, error) {
	var shown []example
	for _, e := range examples {
		files := map[string]string{}
		for name, file := range e.files {
			text, err := os.ReadFile(filepath.Join(repository, "internal", "testdata", filepath.FromSlash(file)))
			if err != nil {
				return nil, err
			}
			files[name] = string(text)
		}
		shown = append(shown, example{Name: e.name, Files: files})
	}
	return shown, nil
}
