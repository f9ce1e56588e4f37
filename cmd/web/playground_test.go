package web

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// builtPlayground returns the files of the playground, which all tests share.
var builtPlayground = sync.OnceValues(func() (map[string][]byte, error) { return Playground(func(string) {}) })

func playgroundFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := builtPlayground()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestPlayground_Program holds that the program for browsers has the same output as the program, byte by byte. It runs all cases of
// policies and all stock runtimes in one process. TestPlayground of cmd/internal/cli holds it for the same code without WebAssembly.
func TestPlayground_Program(t *testing.T) {
	inputs := map[string]string{}
	files, err := filepath.Glob(filepath.Join(repository, "internal", "testdata", "policies", "*", "input.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d cases: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		inputs[file] = string(text)
	}
	for _, name := range stockRuntimes(t) {
		inputs[name] = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  name: stock\nspec:\n  runtimeRef:\n    name: " + name + "\n  trainer:\n    numNodes: 3\n"
	}
	lines := [][]string{
		{"render", "-f", "input.yaml", "--on-conflict=last", "--show-notes"},
		{"render", "-f", "input.yaml", "--on-conflict=last", "--to=pods", "-o", "wide"},
		{"blame", "-f", "input.yaml", "-o", "html"},
		{"blame", "-f", "input.yaml", "--to=jobs", "--show-origin"},
	}
	names := slices.Sorted(maps.Keys(inputs))
	var requests []request
	for _, name := range names {
		requests = append(requests, request{map[string]string{"input.yaml": inputs[name]}, lines})
	}
	check := [][]string{{"check", "-f", "input.yaml", "--on-conflict=last", "--show-notes"}, {"check", "-f", "input.yaml", "--trainer-version=2.2"}}
	for file, lines := range map[string][][]string{"trainweld.wasm": lines, "checks.wasm": check} {
		for i := range requests {
			requests[i].Lines = lines
		}
		got, err := ask(playgroundFiles(t)[file], requests)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			for j, got := range got[i].Answers {
				want := native(t, inputs[name], lines[j])
				if got.Findings, got.Report = "", nil; !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %s %q: got %+v, want %+v", file, name, lines[j], got, want)
				}
			}
		}
	}
}

// stockRuntimes returns the names of the runtimes that the Trainer ships, from the program's schema of a TrainJob.
func stockRuntimes(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command(program, "schema", "TrainJob").Output()
	if err != nil {
		t.Fatal(err)
	}
	var schema any
	if err := json.Unmarshal(out, &schema); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	var find func(any)
	find = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, each := range v {
				find(each)
			}
		case map[string]any:
			if told, ok := v["enumDescriptions"].([]any); ok {
				for i, name := range v["enum"].([]any) {
					if strings.HasPrefix(told[i].(string), "ships with Trainer") {
						found[name.(string)] = true
					}
				}
			}
			for _, each := range v {
				find(each)
			}
		}
	}
	find(schema)
	if len(found) < 5 {
		t.Fatalf("the schema names %d stock runtimes", len(found))
	}
	return slices.Sorted(maps.Keys(found))
}

// native returns the answer of the program to an input.
func native(t *testing.T, input string, args []string) answer {
	t.Helper()
	run := exec.Command(program, args...)
	run.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(run.Dir, "input.yaml"), []byte(input), 0o666); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	run.Stdout, run.Stderr = &stdout, &stderr
	_ = run.Run() // the status is part of the answer
	return answer{Stdout: stdout.String(), Stderr: stderr.String(), Status: run.ProcessState.ExitCode()}
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
		types := map[string]string{".txt": "text/plain", ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".wasm": "application/wasm"}
		w.Header().Set("Content-Type", types[filepath.Ext(name)])
		if files[name] == nil {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(files[name])
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// answeredAfter waits until the playground shows an answer after the one with a number.
func answeredAfter(after string) step {
	return wait(`Number(document.body.dataset.answer ?? 0) > ` + after)
}

// TestPlayground opens the playground wide, narrow and at 200 %, and in both schemes. It loads its own files and then sends nothing, whatever
// one types. It keeps the rules of axe-core, and its state in the address.
func TestPlayground(t *testing.T) {
	address := serve(t)
	for _, view := range []struct {
		name, scheme string
		width        int64
	}{{"wide", "light", 1280}, {"dark", "dark", 1280}, {"narrow", "light", 320}, {"zoomed", "dark", 640}} {
		t.Run(view.name, func(t *testing.T) {
			p := open(t, address, view.width, scheme(view.scheme))
			p.run(t, answeredAfter("0"))
			p.writePicture(t, view.name, get(t, p, chromedp.FullScreenshot(100)))
			if wide := eval[int64](t, p, `document.documentElement.scrollWidth`); wide > view.width {
				t.Errorf("the page is %d pixels wide in a window of %d", wide, view.width)
			}
			p.loaded(t, address, "trainweld.wasm")
			p.accessible(t)
		})
	}
}

// loaded holds that the tab asked for each file of the playground once, and for no other. The browser did not complain.
func (p *tab) loaded(t *testing.T, address string, others ...string) {
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
	want := append([]string{"playground.css", "playground.js"}, others...)
	if slices.Sort(want); !slices.Equal(sent, want) {
		t.Errorf("the page asks for %q, want %q", sent, want)
	}
	if p.complaints != nil {
		t.Errorf("the browser says %q", p.complaints)
	}
}

// focus moves the focus by keyboard to the editor of a file.
func (p *tab) focus(t *testing.T, file string) {
	t.Helper()
	for range 30 {
		p.run(t, chromedp.KeyEvent(kb.Tab))
		if eval[string](t, p, `document.activeElement.id`) == "edit-"+file {
			return
		}
	}
	t.Fatalf("30 tabs do not lead to the editor of %s", file)
}

// TestPlayground_Typing types into an editor by keyboard, and sees findings, Pods, owners and the address change without a request.
func TestPlayground_Typing(t *testing.T) {
	address := serve(t)
	p := open(t, address, 1280)
	p.run(t, answeredAfter("0"))
	for id, want := range map[string]string{"findings": "TW300", "pods": "llm-node-0", "owners": "managers", "yaml": "kind: JobSet"} {
		if got := eval[string](t, p, `document.getElementById("`+id+`").textContent`); !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
			t.Errorf("%s shows %q, want %q", id, got, want)
		}
	}
	p.focus(t, "job.yaml")
	p.run(t, chromedp.KeyEvent("nonsense: 1\n"), wait(`document.getElementById("findings").textContent.includes("nonsense")`), wait(`location.hash.length > 100`))
	p.loaded(t, address, "trainweld.wasm")

	again := open(t, eval[string](t, p, `location.href`), 1280)
	again.run(t, answeredAfter("0"), wait(`document.getElementById("findings").textContent.includes("nonsense")`))
}

// TestPlayground_Checks asks for the rules of the cluster by keyboard. The second page has the files of the first one, and loads its own
// program only. It shows and marks the findings of the command check. Its button leads back.
func TestPlayground_Checks(t *testing.T) {
	const job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: llm}\nspec:\n  runtimeRef: {name: torch-distributed}\n" +
		"  trainer: {numNodes: 2, resourcesPerNode: {requests: {cpu: 2}, limits: {cpu: 1}}}\n"
	const reported = `document.getElementById("findings").textContent.includes("must be less than or equal to cpu limit")`
	address := serve(t)
	state := "#" + packed(t, map[string]any{"files": map[string]string{"job.yaml": job}, "to": "pods"})
	p := open(t, address+state, 1280)
	p.run(t, answeredAfter("0"))
	if eval[bool](t, p, reported) {
		t.Error("the page that renders reports a rule of the API server")
	}
	p.lock.Lock()
	p.requests = nil
	p.lock.Unlock()
	eval[bool](t, p, `document.getElementById("other").focus() || true`)
	p.run(t, chromedp.KeyEvent(kb.Enter))
	p.arrive(t, "/checks.html")
	p.run(t, answeredAfter("0"), wait(reported), wait(`document.getElementById("edit-job.yaml").shadowRoot.querySelector(".cm-lint-marker-error") !== null`))
	if got := eval[string](t, p, `document.getElementById("to").value + " " + document.getElementById("status").textContent`); !strings.HasPrefix(got, "pods 1 error, ") {
		t.Errorf("the page shows %q", got)
	}
	p.loaded(t, address, "checks.html", "checks.wasm")
	eval[bool](t, p, `fetch("/sent").then(() => window.sent = "sent", () => window.sent = "blocked") && true`)
	if got := get(t, p, chromedp.Poll[string](`window.sent`)); got != "blocked" {
		t.Errorf("a script of the page that checks has %s", got)
	}
	eval[bool](t, p, `document.getElementById("other").click() || true`)
	p.arrive(t, "/index.html")
	p.run(t, answeredAfter("0"))
	if got := eval[string](t, p, `document.getElementById("edit-job.yaml").shadowRoot.textContent`); !strings.Contains(got, "torch-distributed") {
		t.Errorf("the first page has the TrainJob %q", got)
	}
	for _, view := range []struct {
		name, scheme string
		width        int64
	}{{"checks", "light", 1280}, {"checks-dark", "dark", 1280}, {"checks-narrow", "light", 390}} {
		p := open(t, address+"checks.html"+state, view.width, scheme(view.scheme))
		p.run(t, answeredAfter("0"), wait(reported))
		p.picture(t, view.name)
		if wide := eval[int64](t, p, `document.documentElement.scrollWidth`); wide > view.width {
			t.Errorf("the page is %d pixels wide in a window of %d", wide, view.width)
		}
		p.accessible(t)
	}
}

// arrive waits until the tab is at another page. A step fails while the tab goes there.
func (p *tab) arrive(t *testing.T, path string) {
	t.Helper()
	for {
		at, err := chromedp.Run(p, chromedp.Evaluate[string](`document.readyState === "complete" ? location.pathname : ""`))
		if err == nil && at == path {
			return
		}
		if p.Err() != nil {
			t.Fatalf("the tab is at %q, want %q: %v", at, path, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestPlayground_Marks sees findings in the editors, at the places that they name, and reads them by keyboard.
func TestPlayground_Marks(t *testing.T) {
	const editor, tooltip = `document.getElementById("edit-job.yaml").shadowRoot`, `document.getElementById("edit-job.yaml").shadowRoot.querySelector(".cm-tooltip-lint")`
	p := open(t, serve(t), 1280, chromedp.EmulateViewport(1280, 900))
	p.run(t, answeredAfter("0"))
	p.focus(t, "job.yaml")
	for _, want := range []struct{ severity, marked string }{{"info", "pool: a100-reserved"}, {"warning", "pool: a100-spot"}} {
		p.run(t, chromedp.KeyEvent(kb.F8), wait(editor+`.querySelector(".cm-activeLine .cm-lintRange-`+want.severity+`") && `+tooltip+` !== null`))
		if got := eval[string](t, p, `[...`+editor+`.querySelectorAll(".cm-activeLine .cm-lintRange")].map((e) => e.textContent).join("")`); got != want.marked {
			t.Errorf("the mark covers %q, want %q", got, want.marked)
		}
		if colors := eval[[]string](t, p, `((e) => [getComputedStyle(e).borderBottomColor, getComputedStyle(e).color])(`+editor+`.querySelector(".cm-activeLine .cm-lintRange"))`); colors[0] == colors[1] {
			t.Errorf("the mark has the color of its text, %s", colors[0])
		}
		if got := eval[string](t, p, tooltip+`.textContent`); !strings.Contains(got, "TW300") || !strings.Contains(got, `kueue.x-k8s.io/manager sets "a100-spot" at job.yaml:53`) {
			t.Errorf("the mark says %q", got)
		}
		p.run(t, chromedp.KeyEvent(kb.Escape), wait(tooltip+` === null`))
	}
	p.run(t, chromedp.KeyEvent(kb.F8), chromedp.KeyEvent(kb.F8), wait(tooltip+` !== null`))
	p.accessible(t)
	p.picture(t, "marks")
	if p.complaints != nil {
		t.Errorf("the browser says %q", p.complaints)
	}
}

// TestPlayground_Invalid breaks the YAML. The finding has a mark, and the last objects stay.
func TestPlayground_Invalid(t *testing.T) {
	p := open(t, serve(t), 1280, chromedp.EmulateViewport(1280, 900))
	p.run(t, answeredAfter("0"))
	p.focus(t, "job.yaml")
	p.run(t, chromedp.KeyEvent("kind: ["), wait(`document.getElementById("findings").textContent.includes("TW100") && !document.getElementById("stale").hidden`))
	if got := eval[string](t, p, `document.getElementById("status").textContent + document.getElementById("findings").textContent`); !strings.HasPrefix(got, "1 error, rendered in ") || !strings.Contains(got, "msjob.yaml:4:1: error TW100") {
		t.Errorf("the page shows %q", got)
	}
	if got := eval[string](t, p, `document.getElementById("yaml").textContent`); !strings.Contains(got, "kind: JobSet") {
		t.Errorf("the YAML is %q, want the last JobSet", got)
	}
	p.run(t, wait(`document.getElementById("edit-job.yaml").shadowRoot.querySelector(".cm-lint-marker-error") !== null`))
	p.accessible(t)
	p.picture(t, "invalid")
}

// TestPlayground_Failure lets the program fail. The page says so, starts it again, and answers the next change.
func TestPlayground_Failure(t *testing.T) {
	p := open(t, serve(t), 1280, command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.workers = [];
		window.Worker = class extends Worker { constructor(address) { super(address); workers.push(this); } };`}))
	p.run(t, answeredAfter("0"))
	before := eval[string](t, p, `document.body.dataset.answer`)
	if got := eval[string](t, p, `workers[0].dispatchEvent(new ErrorEvent("error", {message: "out of memory"})), document.getElementById("status").textContent`); got != "the program failed: out of memory" {
		t.Errorf("the page says %q", got)
	}
	p.focus(t, "job.yaml")
	p.run(t, chromedp.KeyEvent("nonsense: 1\n"), answeredAfter(before), wait(`document.getElementById("findings").textContent.includes("nonsense")`))
	if n := eval[int](t, p, `workers.length`); n != 2 {
		t.Errorf("the page has started %d workers", n)
	}
}

// picture writes a picture of the tab to bin/web.
func (p *tab) picture(t *testing.T, name string) {
	t.Helper()
	p.writePicture(t, name, get(t, p, chromedp.CaptureScreenshot()))
}

// writePicture writes a picture of the playground to bin/web.
func (p *tab) writePicture(t *testing.T, name string, picture []byte) {
	t.Helper()
	pictures := filepath.Join(repository, "bin", "web")
	if err := os.MkdirAll(pictures, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pictures, "playground-"+name+".png"), picture, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestPlayground_Hostile opens an address whose files hold markup. All of it is shown, and none of it becomes part of the page.
func TestPlayground_Hostile(t *testing.T) {
	const hostile = `</style><script>hit=1</script><img src=x onerror=hit=1><svg/onload=hit=1>`
	job := "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: '" + hostile + "'}\nspec:\n  runtimeRef: {name: torch-distributed}\n  trainer: {image: '" + hostile + "'}\n"
	for _, job := range []string{job, strings.Replace(job, "{name: '"+hostile+"'}", "{name: llm}", 1), "kind: " + hostile, hostile} {
		p := open(t, serve(t)+"#"+packed(t, map[string]any{"files": map[string]string{"job.yaml": job, hostile: hostile}, "to": hostile}), 1280)
		p.run(t, answeredAfter("0"))
		shown := eval[string](t, p, `document.getElementById("results").textContent + document.getElementById("edit-job.yaml").shadowRoot.textContent`)
		if !strings.Contains(shown, "<script>hit=1</script>") {
			t.Errorf("the page does not show the text of %q", job)
		}
		if n := eval[int](t, p, `document.querySelectorAll("body img, body script, #owners style, svg[onload]").length`); n != 0 || eval[bool](t, p, `window.hit !== undefined`) {
			t.Errorf("%d elements of %q are part of the page", n, job)
		}
		if p.complaints != nil {
			t.Errorf("the browser says %q", p.complaints)
		}
	}
}

// TestAddress reads addresses of strangers in node. None but a whole one gives a state, and no text is inflated beyond the limit.
func TestAddress(t *testing.T) {
	file, err := filepath.Abs(filepath.Join("src", "address.ts"))
	if err != nil {
		t.Fatal(err)
	}
	entry := filepath.Join(t.TempDir(), "entry.ts")
	if err := os.WriteFile(entry, fmt.Appendf(nil, "import { unpack } from %q; Object.assign(globalThis, { unpack });", file), 0o666); err != nil {
		t.Fatal(err)
	}
	const script = `;(async () => {
	const answers = [];
	for (const text of JSON.parse(require("fs").readFileSync(0, "utf8"))) {
		const before = process.memoryUsage.rss();
		const said = await unpack(text).then((state) => state === undefined ? "nothing" : JSON.stringify(state), (error) => error.message);
		answers.push([said, String((process.memoryUsage.rss() - before) >> 20)]);
	}
	console.log(JSON.stringify(answers));
})();`
	bundled, err := bundle(entry, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := packed(t, map[string]any{"files": map[string]any{"job.yaml": strings.Repeat("abc", 99), "b": 1}, "to": 2})
	cases := []struct{ name, fragment, want string }{
		{"nothing", "", "nothing"},
		{"whole", whole, `{"files":{"job.yaml":"` + strings.Repeat("abc", 99) + `"},"to":"jobset"}`},
		{"no base64", "%%%", "it is damaged"},
		{"no deflate", "AAAA", "it is damaged"},
		{"cut", whole[:12], "it is damaged"},
		{"no JSON", packedText(t, "hello"), "its text is not JSON"},
		{"no files", packed(t, []string{"a"}), "it has no files"},
		{"files of another type", packed(t, map[string]any{"files": 1}), "it has no files"},
		{"null", packed(t, nil), "it has no files"},
		{"bomb", packedText(t, strings.Repeat(" ", 128<<20)), "it is too large"},
		{"long", strings.Repeat("A", 1<<20+1), "it is too large"},
	}
	var fragments []string
	for _, tc := range cases {
		fragments = append(fragments, tc.fragment)
	}
	in, err := json.Marshal(fragments)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command("node", "-e", string(bundled)+script)
	run.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	run.Stderr = &stderr
	out, err := run.Output()
	var answers [][2]string
	if err := errors.Join(err, json.Unmarshal(out, &answers)); err != nil || len(answers) != len(cases) {
		t.Fatalf("%v: %q, %s", err, out, stderr.String())
	}
	for i, tc := range cases {
		if answers[i][0] != tc.want {
			t.Errorf("%s: %.200q, want %.200q", tc.name, answers[i][0], tc.want)
		}
		if grown, err := strconv.Atoi(answers[i][1]); err != nil || grown > 128 {
			t.Errorf("%s: the process grows by %s MiB", tc.name, answers[i][1])
		}
	}
}

// TestPlayground_Address opens an address that holds no state. The page says so, and shows the first example.
func TestPlayground_Address(t *testing.T) {
	p := open(t, serve(t)+"#AAAA", 1280)
	p.run(t, answeredAfter("0"), wait(`!document.getElementById("broken").hidden`))
	if got := eval[string](t, p, `document.getElementById("broken").textContent`); got != "The address holds no files that this page can read: it is damaged." {
		t.Errorf("the page says %q", got)
	}
	if got := eval[string](t, p, `document.getElementById("yaml").textContent`); !strings.Contains(got, "kind: JobSet") {
		t.Errorf("the YAML is %q, want the YAML of the first example", got)
	}
	if p.complaints != nil {
		t.Errorf("the browser says %q", p.complaints)
	}
	p.accessible(t)
}

// TestPlayground_Endless lets a run take longer than the page allows. The page ends it, and answers the next change.
func TestPlayground_Endless(t *testing.T) {
	p := open(t, serve(t), 1280, command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.workers = [];
		window.hangs = false;
		window.Worker = class extends Worker {
			constructor(address) { super(address); workers.push(this); }
			postMessage(message) { if (!window.hangs || message instanceof WebAssembly.Module) super.postMessage(message); }
		};
		const wait = setTimeout;
		window.setTimeout = (f, ms) => wait(f, ms === 20000 && window.hangs ? 1 : ms);`}))
	p.run(t, answeredAfter("0"), wait(`document.body.dataset.warm === "yes"`))
	before := eval[string](t, p, `document.body.dataset.answer`)
	eval[bool](t, p, `window.hangs = true`)
	p.focus(t, "job.yaml")
	p.run(t, chromedp.KeyEvent("nonsense: 1\n"), wait(`document.getElementById("status").textContent === "the program failed: it took more than 20 s"`))
	eval[bool](t, p, `(window.hangs = false) || true`)
	p.run(t, chromedp.KeyEvent("more: 1\n"), answeredAfter(before), wait(`document.getElementById("findings").textContent.includes("more")`))
	if n := eval[int](t, p, `workers.length`); n < 2 {
		t.Errorf("the page has started %d workers", n)
	}
}

// packed returns a state as the address holds it.
func packed(t *testing.T, state any) string {
	t.Helper()
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	return packedText(t, string(text))
}

// packedText returns a text as the address holds it.
func packedText(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(b.Bytes())
}

// TestPlayground_Locked holds that the policy stops requests of a script once the program runs.
func TestPlayground_Locked(t *testing.T) {
	p := open(t, serve(t), 1280)
	p.run(t, answeredAfter("0"))
	eval[bool](t, p, `fetch("/sent").then(() => window.sent = "sent", () => window.sent = "blocked") && true`)
	if got := get(t, p, chromedp.Poll[string](`window.sent`)); got != "blocked" {
		t.Errorf("a script has %s", got)
	}
}
