package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// allocations runs the program as a process of its own and prints how many bytes it allocated, in place
// of its output.
func allocations() {
	p := host.Program{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard, Files: host.Files{}}
	status := runLine(&p, os.Args[1:])
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	fmt.Println(stats.TotalAlloc)
	os.Exit(status)
}

// TestOnlyCheckLoadsDefinitions wants no command but check to unpack and compile the custom resource
// definitions: that allocates tens of megabytes, which shows.
func TestOnlyCheckLoadsDefinitions(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector allocates memory of its own")
	}
	allocates := func(args ...string) uint64 {
		t.Helper()
		out, err := exec.Command("trainweld-allocations", args...).Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		n, err := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%q allocates %.1f MiB", args, float64(n)/(1<<20))
		return n
	}
	inputs := []string{testdata + "/shared/job.yaml", "-r", testdata + "/shared/runtime.yaml"}
	check := allocates(append([]string{"check"}, inputs...)...)
	for _, args := range [][]string{
		append([]string{"render"}, inputs...),
		append([]string{"render", "--to=pods", "--as=stored"}, inputs...),
		{"version"}, {"check", "--help"},
	} {
		const times = 3
		if n := allocates(args...); n*times > check {
			t.Errorf("%q allocates %d bytes, check %d: does it load the definitions?", args, n, check)
		}
	}
}
