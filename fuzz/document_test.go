package fuzz_test

import (
	"testing"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
)

// TestDocuments_EveryField: the generated documents set every field of the Go types. A field that they never set is in
// leftOut, with a reason.
func TestDocuments_EveryField(t *testing.T) {
	if testenv.Race {
		t.Skip("counts what is generated; nothing here runs concurrently")
	}
	t.Parallel()
	leftOut := map[string]string{} // nothing today
	fields := fuzz.Fields()
	set := map[string]int{}
	for seed := range uint64(len(fields)) {
		for _, changes := range []int{0, 1} {
			for _, path := range fuzz.Document(seed, fuzz.DocumentOptions{Changes: changes}).Set() {
				set[path]++
			}
		}
	}
	for _, path := range fields {
		switch reason := leftOut[path]; {
		case set[path] == 0 && reason == "":
			t.Errorf("no document of %d sets %s", 2*len(fields), path)
		case set[path] > 0 && reason != "":
			t.Errorf("%d documents set %s, which leftOut has: %s", set[path], path, reason)
		}
	}
	t.Logf("%d fields in %d documents", len(fields), 2*len(fields))
}

// TestDocuments_Accepted watches that most documents without a change are accepted, and that changes are of use.
func TestDocuments_Accepted(t *testing.T) {
	if testenv.Race || testing.Short() {
		t.Skip("counts what is generated; nothing here runs concurrently")
	}
	t.Parallel()
	const n = 60
	for changes, bounds := range [][2]int{{48, n}, {10, 45}, {2, 30}} {
		accepted := 0
		for i := range uint64(n) {
			d := fuzz.Document(i*37, fuzz.DocumentOptions{Changes: changes})
			runtime, found := admission.AdmitRuntime(t.Context(), d.Runtime, "default")
			in := admission.Input{TrainJob: d.TrainJob, Runtime: runtime, OnConflict: render.Last}
			if found = append(found, admission.Check(t.Context(), in)...); found.Err() == nil {
				accepted++
			}
		}
		t.Logf("%d changes: %d of %d accepted", changes, accepted, n)
		if accepted < bounds[0] || accepted > bounds[1] {
			t.Errorf("%d changes: %d of %d accepted, want %d to %d", changes, accepted, n, bounds[0], bounds[1])
		}
	}
}
