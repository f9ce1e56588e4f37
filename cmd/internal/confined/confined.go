// Package confined runs fuzz targets in processes that can neither open a socket nor start a program. Only tests import it.
//
//	func FuzzRead(f *testing.F) {
//		confined.Fuzz(f)
//		f.Fuzz(read)
//	}
//
//	func TestFuzzRead_Confined(t *testing.T) { confined.Runs(t, "FuzzRead") }
package confined

import (
	"flag"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/process"
)

// probe is the variable that makes a confined fuzz target open a socket.
const probe = "TRAINWELD_PROBE"

// Fuzz takes the network, the files and the programs away from a worker of go test -fuzz. Call it before f.Fuzz. Code that then
// opens a socket or starts a program ends the worker, and so fails the target. The other tests of the package, which share a process
// with the seeds in go test, keep their rights.
func Fuzz(f *testing.F) {
	f.Helper()
	worker := flag.Lookup("test.fuzzworker")
	if worker == nil || worker.Value.String() != "true" {
		return
	}
	if err := process.Trap(); err != nil {
		f.Fatal(err)
	}
	if os.Getenv(probe) != "" {
		_, _ = net.Listen("tcp", "127.0.0.1:0")
	}
}

// Runs fuzzes ten seeds of a target of this test binary. A socket that the target opens must end it.
func Runs(t *testing.T, target string) {
	t.Helper()
	fuzz := func(variables ...string) (string, error) {
		cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.fuzz=^"+target+"$", "-test.fuzztime=10x", "-test.parallel=1", "-test.fuzzcachedir="+t.TempDir())
		cmd.Env = append(os.Environ(), variables...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := fuzz(); err != nil {
		t.Errorf("%s in a process without rights: %v\n%s", target, err, out)
	}
	if runtime.GOOS != "linux" {
		return // no kernel takes rights away: SECURITY.md
	}
	out, err := fuzz(probe + "=1")
	if err == nil || !strings.Contains(out, "terminated without fuzzing") {
		t.Errorf("%s with a target that opens a socket: %v, want that the socket ends it\n%s", target, err, out)
	}
}
