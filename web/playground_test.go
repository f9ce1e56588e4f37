package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// builtPlayground returns the files of the playground, which all tests share.
var builtPlayground = sync.OnceValues(func() (map[string][]byte, error) { return Playground(repository) })

func playgroundFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := builtPlayground()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// asking is a script for node. It runs each request of a line of standard input, and writes the answers.
const asking = `
const fs = require("fs");
require(process.argv[1]);
const go = new Go();
WebAssembly.instantiate(fs.readFileSync(process.argv[2]), go.importObject).then(({instance}) => {
	go.run(instance);
	for (const line of fs.readFileSync(0, "utf8").trim().split("\n")) fs.writeSync(1, trainweld(line) + "\n");
	process.exit(0);
});`

// answer is what a command line prints.
type answer struct {
	Stdout, Stderr string
	Status         int
}

// TestPlayground_Program holds that the program for browsers prints what the program prints, byte by byte, for all cases of policies.
// TestPlayground of internal/cli holds it for the same code without WebAssembly.
func TestPlayground_Program(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "trainweld.wasm")
	if err := os.WriteFile(file, playgroundFiles(t)["trainweld.wasm"], 0o666); err != nil {
		t.Fatal(err)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(filepath.Join(repository, "testdata", "policies", "*"))
	if err != nil || len(folders) < 10 {
		t.Fatalf("found %d cases: %v", len(folders), err)
	}
	lines := [][]string{
		{"render", "-f", "input.yaml", "--on-conflict=last", "--show-notes"},
		{"render", "-f", "input.yaml", "--on-conflict=last", "--to=pods", "-o", "wide"},
		{"blame", "-f", "input.yaml", "-o", "html"},
		{"blame", "-f", "input.yaml", "--to=jobs", "--show-origin"},
	}
	var requests bytes.Buffer
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "input.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		request, err := json.Marshal(map[string]any{"files": map[string]string{"input.yaml": string(text)}, "lines": lines})
		if err != nil {
			t.Fatal(err)
		}
		requests.Write(append(request, '\n'))
	}
	run := exec.Command("node", "-e", asking, filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"), file)
	run.Stdin, run.Stderr = &requests, os.Stderr
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	printed := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(printed) != len(folders) {
		t.Fatalf("%d requests have %d answers", len(folders), len(printed))
	}
	for i, folder := range folders {
		var answers []answer
		if err := json.Unmarshal([]byte(printed[i]), &answers); err != nil || len(answers) != len(lines) {
			t.Fatalf("%s: %d answers: %v", folder, len(answers), err)
		}
		for j, got := range answers {
			if want := native(t, folder, lines[j]); got != want {
				t.Errorf("%s %q: got %+v, want %+v", folder, lines[j], got, want)
			}
		}
	}
}

// native returns what the program prints in a copy of the input of a folder, where no golden file is.
func native(t *testing.T, folder string, args []string) answer {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "input.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(program, args...)
	run.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(run.Dir, "input.yaml"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	run.Stdout, run.Stderr = &stdout, &stderr
	_ = run.Run() // the status is part of the answer
	return answer{stdout.String(), stderr.String(), run.ProcessState.ExitCode()}
}

// serve serves the playground, and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	files := playgroundFiles(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" {
			name = "index.html"
		}
		types := map[string]string{".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".wasm": "application/wasm"}
		w.Header().Set("Content-Type", types[filepath.Ext(name)])
		if files[name] == nil {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(files[name])
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// answered waits until the playground shows an answer after the one with a number.
func answered(after string) step {
	return wait(`Number(document.body.dataset.answer ?? 0) > ` + after)
}

// TestPlayground opens the playground wide and narrow, and in both schemes. It loads its own files and then sends nothing, whatever
// one types. It keeps the rules of axe-core, and its state in the address.
func TestPlayground(t *testing.T) {
	address := serve(t)
	pictures := filepath.Join(repository, "bin", "web")
	if err := os.MkdirAll(pictures, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, view := range []struct {
		name, scheme string
		width        int64
	}{{"wide", "light", 1280}, {"dark", "dark", 1280}, {"narrow", "light", 320}} {
		t.Run(view.name, func(t *testing.T) {
			p := open(t, address, view.width, scheme(view.scheme))
			p.run(t, answered("0"))
			if err := os.WriteFile(filepath.Join(pictures, "playground-"+view.name+".png"), get(t, p, chromedp.FullScreenshot(100)), 0o666); err != nil {
				t.Fatal(err)
			}
			if wide := eval[int64](t, p, `document.documentElement.scrollWidth`); wide > view.width {
				t.Errorf("the page is %d pixels wide in a window of %d", wide, view.width)
			}
			p.loaded(t, address)
			p.accessible(t)
		})
	}
}

// loaded holds that the tab asked for the files of the playground only, each once, and that the browser had nothing to complain about.
func (p *tab) loaded(t *testing.T, address string) {
	t.Helper()
	p.lock.Lock()
	defer p.lock.Unlock()
	var sent []string
	for _, request := range p.requests {
		if !strings.HasPrefix(request, "data:") && !strings.HasPrefix(request, "blob:") {
			sent = append(sent, strings.TrimPrefix(request, address))
		}
	}
	slices.Sort(sent)
	if want := []string{"playground.css", "playground.js", "trainweld.wasm"}; !slices.Equal(sent, want) {
		t.Errorf("the page asks for %q, want %q", sent, want)
	}
	if p.complaints != nil {
		t.Errorf("the browser says %q", p.complaints)
	}
}

// TestPlayground_Typing types into an editor by keyboard, and sees findings, Pods, owners and the address change without a request.
func TestPlayground_Typing(t *testing.T) {
	address := serve(t)
	p := open(t, address, 1280)
	p.run(t, answered("0"))
	for id, want := range map[string]string{"findings": "TW300", "pods": "llm-node-0", "owners": "managers", "yaml": "kind: JobSet"} {
		if got := eval[string](t, p, `document.getElementById("`+id+`").textContent`); !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
			t.Errorf("%s shows %q, want %q", id, got, want)
		}
	}
	for range 20 {
		p.run(t, chromedp.KeyEvent(kb.Tab))
		if eval[string](t, p, `document.activeElement.id`) == "edit-job.yaml" {
			break
		}
	}
	before := eval[string](t, p, `document.body.dataset.answer`)
	p.run(t, chromedp.KeyEvent("nonsense: 1\n"), answered(before), wait(`document.getElementById("findings").textContent.includes("nonsense")`), wait(`location.hash.length > 100`))
	p.loaded(t, address)

	again := open(t, eval[string](t, p, `location.href`), 1280)
	again.run(t, answered("0"), wait(`document.getElementById("findings").textContent.includes("nonsense")`))
}

// TestPlayground_Locked holds that the policy stops requests of a script once the program runs.
func TestPlayground_Locked(t *testing.T) {
	p := open(t, serve(t), 1280)
	p.run(t, answered("0"))
	eval[bool](t, p, `fetch("/sent").then(() => window.sent = "sent", () => window.sent = "blocked") && true`)
	if got := get(t, p, chromedp.Poll[string](`window.sent`)); got != "blocked" {
		t.Errorf("a script has %s", got)
	}
}
