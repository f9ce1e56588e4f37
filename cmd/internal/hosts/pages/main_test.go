// Package pages opens the pages of reports in a headless Chromium.
package pages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// repository is the folder of the repository, relative to this package.
const repository = "../../../.."

// program is the built program, and browser the context of one headless Chromium for all tests.
var (
	program string
	browser context.Context
)

// TestMain builds the program, and starts the browser that CHROMIUM or the PATH names. Without one,
// no test can run: the tests fail.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "trainweld-web")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "trainweld")
		build := exec.Command("go", "build", "-tags", "kustomize_disable_go_plugin_support", "-o",
			program, "./cmd/trainweld")
		// the program's module is in the workspace, and this one is not
		build.Dir, build.Env = repository, append(os.Environ(), "GOWORK=")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building trainweld: %v\n%s", err, out)
			return 1
		}
		name := os.Getenv("CHROMIUM")
		if name == "" {
			name = "chromium"
		}
		file, err := exec.LookPath(name)
		if err != nil {
			fmt.Fprintf(os.Stderr,
				"these tests need a browser: install Debian's package chromium, or name one in "+
					"CHROMIUM: %v\n", err)
			return 1
		}
		opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(file),
			chromedp.Flag("force-color-profile", "srgb"))
		if os.Geteuid() == 0 {
			opts = append(opts, chromedp.NoSandbox) // the sandbox does not run for root
		}
		allocator, stop := chromedp.NewExecAllocator(context.Background(), opts...)
		defer stop()
		var end context.CancelFunc
		browser, end = chromedp.NewContext(allocator)
		defer end()
		if err := chromedp.Do(browser); err != nil {
			fmt.Fprintf(os.Stderr, "starting %s: %v\n", file, err)
			return 1
		}
		return m.Run()
	}())
}

// write writes the standard output of a command to a file of a temporary folder, and returns its
// path.
func write(t *testing.T, args ...string) string {
	t.Helper()
	run := exec.Command(program, append(args, "-o", "html")...)
	run.Dir = filepath.Join(repository, "testdata", "quickstart")
	out, err := run.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 1) {
		t.Fatalf("%q: %v\n%s", args, err, exit.Stderr)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, out, 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// tab is a tab that shows a page, and collects what should not happen.
type tab struct {
	context.Context
	lock                 sync.Mutex
	requests, complaints []string
}

// step is a step of a test in a tab.
type step = chromedp.Action[chromedp.Void]

// command is a step that sends a command of the protocol.
func command[P, R any](cmd cdp.Command[P, R], params P) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cmd, params)
		return err
	})
}

// scheme makes the tab prefer a color scheme.
func scheme(name string) step {
	return command(emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: name},
			{Name: "prefers-reduced-motion", Value: "reduce"},
		}})
}

// scripts lets the page run scripts, or not. The test itself needs them.
func scripts(run bool) step {
	return command(emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: !run})
}

// open opens a file or an address in a tab of its own, as wide as asked, after the steps.
func open(t *testing.T, file string, width int64, steps ...step) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(func() { cancel(); closeTab() })
	p := &tab{Context: ctx}
	address := file
	if !strings.HasPrefix(file, "http:") {
		address = "file://" + file
	}
	if err := chromedp.Listen(ctx, func(event any) { p.note(event, address) }); err != nil {
		t.Fatal(err)
	}
	steps = append(
		[]step{command(network.Enable, network.EnableParams{}), command(log.Enable, cdp.Empty{}),
			command(page.BringToFront, cdp.Empty{}), chromedp.EmulateViewport(width, 900)},
		steps...)
	p.run(t, append(steps, chromedp.Navigate(address))...)
	return p
}

// note keeps complaints of the browser, and requests for anything except the page.
func (p *tab) note(event any, address string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if url, _, _ := strings.Cut(e.Request.URL, "#"); url != address {
			p.requests = append(p.requests, e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		p.complaints = append(p.complaints, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		p.complaints = append(p.complaints, string(e.Type))
	case *log.EventEntryAdded:
		p.complaints = append(p.complaints, e.Entry.Text)
	}
}

func (p *tab) run(t *testing.T, steps ...step) {
	t.Helper()
	if err := chromedp.Do(p, steps...); err != nil {
		t.Fatal(err)
	}
}

// get returns the result of an action.
func get[T any](t *testing.T, p *tab, action chromedp.Action[T]) T {
	t.Helper()
	value, err := chromedp.Run(p, action)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// eval returns the value of a JavaScript expression.
func eval[T any](t *testing.T, p *tab, expression string) T {
	t.Helper()
	return get(t, p, chromedp.Evaluate[T](expression))
}

// quiet holds that the page sent no request, and that the browser had nothing to complain about.
func (p *tab) quiet(t *testing.T) {
	t.Helper()
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.requests != nil || p.complaints != nil {
		t.Errorf("the page asks for %q, and the browser says %q", p.requests, p.complaints)
	}
}

// wait waits until a JavaScript expression is true.
func wait(expression string) step {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Poll[bool](expression)(ctx, t)
		return chromedp.Void{}, err
	}
}
