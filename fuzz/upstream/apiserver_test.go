package upstream_test

import (
	"flag"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

var version = flag.String("release", "",
	"the `version` of the release of the Trainer to compare with; empty for the latest one")

// started is the earlier release that the tests compare with, if there is one.
var started struct {
	once sync.Once
	*upstream.Upstream
	err error
	dir string
}

// TestMain lets the heap grow: much of the time went into collecting the garbage of small cases.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	code := m.Run()
	if started.Upstream != nil {
		_ = started.Stop()
	}
	_ = os.RemoveAll(started.dir)
	os.Exit(code)
}

// modules are the directories of the latest release's modules.
var modules = sync.OnceValues(func() (oracle.Modules, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubeflow/trainer/v2",
		"sigs.k8s.io/jobset").Output()
	dirs := append(strings.Fields(string(out)), "", "")
	return oracle.Modules{Trainer: dirs[0], JobSet: dirs[1]}, err
})

// linkedRelease returns the release whose code this program links, or nil for an unknown one. make
// upstream links a later one.
func linkedRelease() *release.Release {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}",
		"github.com/kubeflow/trainer/v2").Output()
	if err != nil {
		return nil
	}
	r, _ := release.Parse(strings.TrimSpace(string(out)))
	return r
}

// released returns the release that the flag names.
func released(t *testing.T) *upstream.Upstream {
	t.Helper()
	started.once.Do(func() {
		linked := linkedRelease()
		if *version == "" || linked != nil && strings.TrimPrefix(*version, "v") == linked.Version ||
			linked != nil && *version == linked.Name {
			var of oracle.Modules
			if of, started.err = modules(); started.err == nil {
				started.Upstream, started.err = upstream.Latest(of)
			}
			if started.err == nil && *version != "" {
				started.Release, started.API = linked, manifest.NewAPI(linked, nil)
			}
			return
		}
		if started.dir, started.err = os.MkdirTemp("", "oracle"); started.err == nil {
			started.Upstream, started.err = upstream.Start(*version, "../..", started.dir)
		}
	})
	if started.err != nil {
		t.Fatal(started.err)
	}
	return started.Upstream
}

// again is the end of a command that runs a test again.
func again() string {
	if *version == "" {
		return ""
	}
	return " -release " + *version
}

// latest returns the latest release, whatever the flag says.
func latest(t *testing.T) *oracle.Oracle {
	t.Helper()
	of, err := modules()
	if err != nil {
		t.Fatal(err)
	}
	o, err := upstream.New(of)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// apiServer is the API server of a release. Failures of the oracle itself end the test.
type apiServer struct {
	t *testing.T
	*upstream.Upstream
}

func newAPIServer(t *testing.T) *apiServer { return &apiServer{t, released(t)} }

// latest reports whether the server belongs to the latest release.
func (s *apiServer) latest() bool { return s.Release.Version == release.Latest().Version }

func (s *apiServer) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// hold makes the server hold objects as it stored them, and nothing else.
func (s *apiServer) hold(objects ...upstream.Object) {
	s.t.Helper()
	s.must(s.Hold(slices.DeleteFunc(objects, func(o upstream.Object) bool { return o == nil })...))
}

// apply creates an object, or updates old. It returns the stored object, or the reasons of a
// rejection.
func (s *apiServer) apply(object, old upstream.Object) (stored upstream.Object, rejected []string) {
	s.t.Helper()
	stored, rejected, err := s.Apply(object, old)
	s.must(err)
	return stored, rejected
}

// rejectsForm reports whether the server rejects a new object for its form, before any webhook.
func (s *apiServer) rejectsForm(object upstream.Object) bool {
	s.t.Helper()
	if kind, _ := object["kind"].(string); kind != "TrainJob" &&
		!strings.HasSuffix(kind, "TrainingRuntime") {
		return true
	}
	rejected, err := s.Form(object)
	s.must(err)
	return rejected
}

// serverNamespace is where requests go for objects that name no namespace.
const serverNamespace = oracle.Namespace

// asJSON is the object as an API server decodes it, sharing no memory with the argument.
func asJSON(t *testing.T, object upstream.Object) upstream.Object {
	t.Helper()
	out, err := oracle.Copy(object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
