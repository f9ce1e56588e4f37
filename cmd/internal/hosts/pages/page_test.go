package pages

import (
	"encoding/json"
	"flag"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pages are the command lines whose pages are tested.
var pages = []struct {
	name string
	args []string
}{
	{"blame", []string{"blame", "job.yaml", "-r", "runtime.yaml", "--patch", "platform.yaml"}},
	{"blame-field", []string{"blame", "job.yaml", "-r", "runtime.yaml", "nodeSelector"}},
	{"blame-pods", []string{"blame", "job.yaml", "-r", "runtime.yaml", "--to=pods"}},
	{"diff", []string{"diff", "../policies/torch", "../policies/plain"}},
	{"diff-release",
		[]string{"diff", "--from-version=2.0", "--to-version=2.3", "../policies/torch"}},
}

// TestPages opens each page wide and narrow, in both schemes, without and with a script. No page
// may send a request, be wider than its window. It writes pictures to bin/pages.
func TestPages(t *testing.T) {
	pictures := filepath.Join(repository, "bin", "pages")
	if err := os.MkdirAll(pictures, 0o777); err != nil { // a folder that git ignores
		t.Fatal(err)
	}
	for _, tested := range pages {
		file := write(t, tested.args...)
		for _, view := range []struct {
			name, scheme string
			width        int64
			script       bool
		}{{"wide", "light", 1280, true}, {"dark", "dark", 1280, true},
			{"narrow", "light", 320, true}, {"plain", "light", 1280, false}} {
			t.Run(tested.name+"/"+view.name, func(t *testing.T) {
				p := open(t, file, view.width, scheme(view.scheme), scripts(view.script))
				picture := get(t, p, chromedp.FullScreenshot(100))
				if err := os.WriteFile(filepath.Join(pictures, tested.name+"-"+view.name+".png"),
					picture, 0o666); err != nil {
					t.Fatal(err)
				}
				p.run(t, scripts(true))
				p.fits(t, view.width)
				p.quiet(t)
			})
		}
	}
}

// who is the text of the answer to a chosen line.
const who = `document.querySelector(".who").innerText`

// TestBlame_Keyboard asks who set lines with the keyboard alone.
func TestBlame_Keyboard(t *testing.T) {
	p := open(t, write(t, pages[0].args...), 1280)
	for range 40 {
		p.run(t, chromedp.KeyEvent(kb.Tab))
		if eval[string](t, p, `document.activeElement.className`) == "own" {
			break
		}
	}
	if got := eval[string](
		t, p, `document.activeElement.getAttribute("role") + " " + document.activeElement.className`); got != "listbox own" {
		t.Fatalf("40 tabs lead to %q, want the lines", got)
	}
	p.run(t, chromedp.KeyEvent("n"))
	for _, want := range []string{`nodeSelector["pool"]`, "manager/kueue.x-k8s.io/manager",
		"job.yaml:53:27", "wins"} {
		if got := eval[string](t, p, who); !strings.Contains(got, want) {
			t.Errorf("n leads to %q, want %q", got, want)
		}
	}
	if !eval[bool](
		t, p, `(() => { const r = document.querySelector("[aria-selected=true]").getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight; })()`) {
		t.Error("the chosen line is not in view")
	}
	p.run(t, chromedp.KeyEvent(kb.Home))
	for range 4 {
		p.run(t, chromedp.KeyEvent(kb.ArrowDown))
	}
	if got, want := eval[string](
		t, p, `document.querySelector("[aria-selected=true]").innerText + "|" + `+who),
		"cost-center: research"; !strings.Contains(got, want) ||
		!strings.Contains(got, "platform.yaml:7") {
		t.Errorf("four arrows lead to %q, want %q", got, want)
	}
	p.run(t, chromedp.KeyEvent(kb.Escape))
	if n := eval[int](t, p, `document.querySelectorAll("[aria-selected=true]").length`); n != 0 {
		t.Errorf("Escape leaves %d chosen lines", n)
	}
	p.quiet(t)
}

// TestPage_Keyboard filters, opens an object and leaves the header with the keyboard alone.
func TestPage_Keyboard(t *testing.T) {
	p := open(t, write(t, pages[2].args...), 1280)
	tabTo := func(selector string) {
		t.Helper()
		for range 30 {
			p.run(t, chromedp.KeyEvent(kb.Tab))
			if eval[bool](t, p, `document.activeElement.matches("`+selector+`")`) {
				return
			}
		}
		t.Fatalf("30 tabs do not lead to %s", selector)
	}
	tabTo(".skip")
	if !eval[bool](t, p, `document.activeElement.getBoundingClientRect().left >= 0`) {
		t.Error("the link to the report is not in view")
	}
	tabTo("#f-all")
	p.run(t, chromedp.KeyEvent(kb.ArrowRight))
	if got := eval[string](
		t, p, `document.activeElement.parentElement.innerText`); got != "runtime" ||
		!eval[bool](t, p, `document.activeElement.checked`) {
		t.Errorf("the right arrow chooses %q, want runtime", got)
	}
	tabTo("#o2 > summary")
	p.run(t, chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("#o2 .own")))
	p.quiet(t)
}

// TestBlame_Pointer shows who set a line on hover, and keeps the answer after a click.
func TestBlame_Pointer(t *testing.T) {
	p := open(t, write(t, pages[0].args...), 1280)
	hover := func(text string) {
		t.Helper()
		place := eval[[]float64](t, p, fmt.Sprintf(`(() => {
			const line = [...document.querySelectorAll(".own > li")].find((li) => li.innerText.includes(%q));
			line.scrollIntoView({block: "center"});
			const r = line.getBoundingClientRect();
			return [r.left + 200, r.top + r.height - 5];
		})()`, text))
		p.run(t, chromedp.MouseEvent("mouseMoved", place[0], place[1]))
	}
	hover("completions: ")
	if got := eval[string](t, p, who); !strings.Contains(got, "trainjob") ||
		!strings.Contains(got, "job.yaml:12") ||
		!strings.Contains(got, ".spec.replicatedJobs[name=\"node\"].template.spec.completions") {
		t.Errorf("hover shows %q", got)
	}
	p.run(t, chromedp.Click(chromedp.CSS(".own > .disputed")))
	hover("completions: ")
	if got := eval[string](t, p, who); !strings.Contains(got, "nodeSelector") {
		t.Errorf("after a click, hover shows %q, want the chosen line", got)
	}
	p.quiet(t)
}

// TestBlame_Paths compares the path that the page shows for each line with the paths of -o json.
func TestBlame_Paths(t *testing.T) {
	for _, input := range []string{"../policies/mpi", "../policies/torchtune", "../policies/flux",
		"."} {
		run := exec.Command(program, "blame", input, "-o", "json")
		run.Dir = filepath.Join(repository, "testdata", "quickstart")
		out, err := run.Output()
		if err != nil {
			t.Fatal(err)
		}
		var report struct {
			Objects []struct{ Fields []struct{ Path string } }
		}
		if err := json.Unmarshal(out, &report); err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for _, o := range report.Objects {
			for _, f := range o.Fields {
				known[f.Path] = true
			}
		}
		p := open(t, write(t, "blame", input), 1280)
		paths := eval[[]string](
			t, p, `[...document.querySelectorAll("details.object")].flatMap((object) => {
			object.open = true;
			object.dispatchEvent(new Event("toggle"));
			return [...object.querySelectorAll(".own > li[data-p]")].map((line) => {
				line.dispatchEvent(new MouseEvent("pointerover", {bubbles: true}));
				return object.querySelector(".who h3, .who caption").textContent;
			});
		})`)
		if len(paths) < 10 {
			t.Fatalf("%s: the page has %d lines with a place", input, len(paths))
		}
		for _, path := range paths {
			if !known[path] {
				t.Errorf("%s: the page shows the path %s, which no field has", input, path)
			}
		}
	}
}

// TestFilter shows the lines of one manager, also without a script.
func TestFilter(t *testing.T) {
	file := write(t, pages[0].args...)
	for _, script := range []bool{true, false} {
		p := open(t, file, 1280, scripts(script))
		p.run(t, scripts(true))
		name := eval[string](
			t, p, `[...document.querySelectorAll(".filter label")].find((l) => l.innerText.includes("kueue")).querySelector("input").id`)
		p.run(t, chromedp.Click(chromedp.CSS("#"+name)), scripts(script))
		p.run(t, scripts(true))
		layer := strings.TrimPrefix(name, "f-")
		colors := eval[[]string](
			t, p, `[...document.querySelectorAll(".own > li")].map((l) => l.classList.contains("`+
				layer+`") + getComputedStyle(l).color)`)
		slices.Sort(colors)
		if colors = slices.Compact(colors); len(colors) != 2 {
			t.Errorf("script %v: the lines have the colors %q, want one for the manager and one "+
				"for all others", script, colors)
		}
		p.run(t, chromedp.Click(chromedp.CSS("#places")))
		if got := eval[string](
			t, p, `getComputedStyle(document.querySelector(".own > .disputed"), "::after").content`); got != `"53"` {
			t.Errorf("script %v: the disputed line shows the place %s, want 53", script, got)
		}
		p.quiet(t)
	}
}

// TestFind hides the findings and the objects without a word.
func TestFind(t *testing.T) {
	p := open(t, write(t, "blame", "job.yaml", "-r", "runtime.yaml", "--to=pods"), 1280)
	p.run(t, chromedp.SendKeys(chromedp.CSS(".find input"), "node-0-2"))
	if got := eval[[]string](
		t, p, `[...document.querySelectorAll("details.object:not([hidden]) h2, nav tr.item:not([hidden]) a")].map((e) => e.innerText)`); len(got) != 2 || got[0] != got[1] || !strings.HasSuffix(got[0], "node-0-2") {
		t.Errorf("the page still shows %q", got)
	}
	if got := eval[bool](t, p, `(() => { location.hash = "#o4"; return true; })()`); !got {
		t.Fatal("no address")
	}
	p.run(t, wait(`document.getElementById("o4").open`))
	p.quiet(t)
}

// TestFilter_Changes shows the changes of one layer, and hides TrainJobs without one.
func TestFilter_Changes(t *testing.T) {
	p := open(t, write(t, "diff", "../policies/torch", "../policies/plain"), 1280)
	name := eval[string](
		t, p, `[...document.querySelectorAll(".filter label")].find((l) => l.innerText.includes("policy/torch")).querySelector("input").id`)
	p.run(t, chromedp.Click(chromedp.CSS("#"+name)))
	lines := eval[[]bool](
		t, p, `[...document.querySelectorAll(".diff > .add, .diff > .del")].map((l) =>
		l.classList.contains("`+strings.TrimPrefix(name, "f-")+`") === (getComputedStyle(l).backgroundColor !== "rgba(0, 0, 0, 0)"))`)
	if len(lines) < 10 || slices.Contains(lines, false) {
		t.Errorf("the page shows changes of other layers, or not all of %s: %v", name, lines)
	}
	p.quiet(t)
}

// TestZoom holds that a page fits the window at 200 % and 400 %, and with letters of twice the
// size. Print shows closed parts.
func TestZoom(t *testing.T) {
	for _, tested := range pages {
		file := write(t, tested.args...)
		for _, zoom := range []int64{2, 4} {
			p := open(t, file, 1280/zoom)
			p.fits(t, 1280/zoom)
		}
		p := open(t, file, 1280,
			command(page.SetFontSizes,
				page.SetFontSizesParams{FontSizes: &page.FontSizes{Standard: 32, Fixed: 26}}))
		p.fits(t, 1280)
		if size := eval[string](t, p, `getComputedStyle(document.body).fontSize`); size != "30px" {
			t.Errorf("%s: letters have %s with a font size of 32 pixels", tested.name, size)
		}
	}
	p := open(t, write(t, pages[2].args...), 1280,
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	if tall := eval[float64](
		t, p, `document.querySelectorAll(".own")[2].getBoundingClientRect().height`); tall < 100 {
		t.Errorf("print shows %v pixels of a closed object", tall)
	}
}

// TestZoom_LongNames holds that names of managers of the greatest length break.
func TestZoom_LongNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "job.yaml")
	job := "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " +
		"llm}\nspec:\n  runtimeRef: {name: torch-a100}\n  runtimePatches:\n"
	for _, value := range []string{"a", "b"} {
		job += "  - manager: example.com/" + strings.Repeat(value, 240) +
			"\n    trainingRuntimeSpec: {template: {metadata: {labels: {team: " + value + "}}}}\n"
	}
	if err := os.WriteFile(file, []byte(job), 0o666); err != nil {
		t.Fatal(err)
	}
	page := write(t, "blame", file, "-r", "runtime.yaml")
	for _, width := range []int64{320, 700, 1000, 1280} {
		p := open(t, page, width)
		p.fits(t, width)
	}
}

// fits holds that a page is not wider than its window. Text is whole, except a name that the page
// has elsewhere.
func (p *tab) fits(t *testing.T, width int64) {
	t.Helper()
	if wide := eval[int64](t, p, `document.documentElement.scrollWidth`); wide > width {
		t.Errorf("the page is %d pixels wide in a window of %d", wide, width)
	}
	if cut := eval[[]string](
		t, p, `[...document.querySelectorAll("main *:not(.own > li > b)")].filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && getComputedStyle(e).overflowX !== "visible").map((e) => e.outerHTML.slice(0, 100))`); len(cut) > 0 {
		t.Errorf("in a window of %d pixels, the page cuts %q", width, cut)
	}
}

// many writes TrainJobs to a folder, each with its own disputed value.
func many(t *testing.T, jobs int, nodes func(i int) int) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(repository, "testdata", "quickstart", "job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range jobs {
		job := strings.NewReplacer("name: llm", fmt.Sprintf("name: train-%d", i), "a100-spot",
			fmt.Sprintf("pool-%d", i), "numNodes: 4",
			fmt.Sprintf("numNodes: %d", nodes(i))).Replace(string(text))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("job-%d.yaml", i)), []byte(job),
			0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLarge opens pages of 400 TrainJobs and one of the objects, and logs how long a page takes.
func TestLarge(t *testing.T) {
	const jobs = 400
	old, now := many(t, jobs, func(int) int { return 4 }), many(t, jobs, func(i int) int {
		return i + 5
	})
	for _, args := range [][]string{
		{"blame", now, "-r", "runtime.yaml"}, {"diff", old, now, "-r", "runtime.yaml"},
	} {
		file := write(t, args...)
		best := time.Hour
		for range 3 { // the machine's other work disturbs the shortest time least
			start := time.Now()
			p := open(t, file, 1280)
			p.run(t, chromedp.WaitVisible(chromedp.CSS("footer")))
			best = min(best, time.Since(start))
			if args[0] == "blame" {
				p.run(t, chromedp.Click(chromedp.CSS("#o1 summary")),
					chromedp.WaitVisible(chromedp.CSS("#o1 .who")))
			}
			p.quiet(t)
		}
		t.Logf("%s: a page of %d TrainJobs opens in %v", args[0], jobs, best)
	}
}

var update = flag.Bool("update", false, "write the pictures of README.md and docs/pages.md")

// TestPicture takes the pictures of README.md and docs/pages.md. Pictures differ between machines,
// so it compares only the size.
func TestPicture(t *testing.T) {
	const width, height, scale = 1180, 680, 2
	for name, preferred := range map[string]string{"blame.png": "light", "blame-dark.png": "dark"} {
		file := filepath.Join(repository, "docs", name)
		if *update {
			p := open(t, write(t, "blame", "job.yaml", "-r", "runtime.yaml"), width,
				chromedp.EmulateViewport(width, height, chromedp.EmulateScale(scale)),
				scheme(preferred))
			p.run(t, chromedp.Click(chromedp.CSS(".own > .disputed")))
			p.run(t, chromedp.Evaluate[chromedp.Void](
				`document.querySelector(".own > .disputed").scrollIntoView({block: "center"})`),
				chromedp.MouseEvent("mouseMoved", 0, 0))
			if err := os.WriteFile(file, get(t, p, chromedp.CaptureScreenshot()),
				0o666); err != nil {
				t.Fatal(err)
			}
		}
		picture, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer picture.Close()
		size, err := png.DecodeConfig(picture)
		if err != nil || size.Width != width*scale || size.Height != height*scale {
			t.Errorf("%s has %d x %d pixels, %v, want %v x %v", file, size.Width, size.Height, err,
				width*scale, height*scale)
		}
	}
}
