package host

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

const interruptCase = "TRAINWELD_TEST_INTERRUPT"

// interrupts are what processes do, and what they write before they end with the status.
var interrupts = map[string]struct {
	run    func(p *Program)
	want   string
	status int
}{
	"outside of a listener": {func(p *Program) {
		p.CleanUp(func() { fmt.Println("cleaned") })
		p.signals.handle(Interrupted{syscall.SIGTERM})
	}, "cleaned\n", 143},
	"a first signal": {func(p *Program) {
		p.CleanUp(func() { fmt.Println("cleaned") })
		came, _ := p.Listen()
		fmt.Println(came())
		p.signals.handle(Interrupted{syscall.SIGINT})
		fmt.Println(came())
	}, "<nil>\ninterrupted (interrupt)\n", 0},
	"a second signal": {func(p *Program) {
		p.CleanUp(func() { fmt.Println("cleaned") })
		_, _ = p.Listen()
		p.signals.handle(Interrupted{syscall.SIGINT})
		p.signals.handle(Interrupted{syscall.SIGHUP})
	}, "cleaned\n", 129},
	"behind a listener": {func(p *Program) {
		_, end := p.Listen()
		p.signals.handle(Interrupted{syscall.SIGINT})
		end()
		came, _ := p.Listen()
		fmt.Println(came())
		end()
		p.signals.handle(Interrupted{syscall.SIGINT})
	}, "<nil>\n", 130},
	"a forgotten cleaner": {func(p *Program) {
		forget := p.CleanUp(func() { fmt.Println("cleaned") })
		p.CleanUp(func() { fmt.Println("cleaned, too") })
		forget()
		p.signals.handle(Interrupted{syscall.SIGINT})
	}, "cleaned, too\n", 130},
}

// TestSignals sends signals to a process at each time: the first one while it listens only tells
// it, and any other one ends it, with the status of the signal, after what cleans up.
func TestSignals(t *testing.T) {
	if name := os.Getenv(interruptCase); name != "" {
		interrupts[name].run(&Program{signals: &signals{}})
		os.Exit(0)
	}
	for name, tc := range interrupts {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSignals$")
		cmd.Env = append(os.Environ(), interruptCase+"="+name)
		out, _ := cmd.Output() // the status says how it ends
		if status := cmd.ProcessState.ExitCode(); string(out) != tc.want || status != tc.status {
			t.Errorf("%s: writes %q and ends with status %d, want %q and %d", name, out, status,
				tc.want, tc.status)
		}
	}
}

// TestCollectLess holds that the settings of the user take precedence, and that restore takes the
// change back.
func TestCollectLess(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	settings := func() string {
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return fmt.Sprint(percent, " ", debug.SetMemoryLimit(-1))
	}
	before := settings()
	for _, tc := range []struct{ set, want string }{
		{"", fmt.Sprint(300, " ", HeapLimit)}, {"GOGC=100", before}, {"GOMEMLIMIT=1GiB", before},
	} {
		t.Setenv("GOGC", "")
		t.Setenv("GOMEMLIMIT", "")
		if name, value, isSet := strings.Cut(tc.set, "="); isSet {
			t.Setenv(name, value)
		}
		restore := CollectLess()
		if got := settings(); got != tc.want {
			t.Errorf("%q: the settings are %s, want %s", tc.set, got, tc.want)
		}
		if restore(); settings() != before {
			t.Errorf("%q: the settings stay %s, and were %s", tc.set, settings(), before)
		}
	}
}
