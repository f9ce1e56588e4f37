package fuzz_test

import (
	"bytes"
	"testing"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
)

// TestDocuments_EveryField: the generated documents set every field of the Go types. A field that
// they never set is in leftOut, with a reason.
func TestDocuments_EveryField(t *testing.T) {
	if testenv.Race {
		t.Skip("counts generated inputs; nothing here runs concurrently")
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

// TestDocuments_Accepted watches that most documents without a change are accepted, and that
// changes are of use.
func TestDocuments_Accepted(t *testing.T) {
	if testenv.Race {
		t.Skip("counts generated inputs; nothing here runs concurrently")
	}
	t.Parallel()
	const n = 60
	for changes, bounds := range [][2]int{{48, n}, {10, 45}, {2, 30}} {
		accepted := 0
		for i := range uint64(n) {
			d := fuzz.Document(i*37, fuzz.DocumentOptions{Changes: changes})
			runtime, found := admission.AdmitRuntime(t.Context(), nil, d.Runtime, "default")
			in := admission.Input{TrainJob: d.TrainJob, Runtime: runtime, OnConflict: render.Last}
			if found = append(found, admission.Check(t.Context(), in)...); found.Err() == nil {
				accepted++
			}
		}
		t.Logf("%d changes: %d of %d accepted", changes, accepted, n)
		if accepted < bounds[0] || accepted > bounds[1] {
			t.Errorf("%d changes: %d of %d accepted, want %d to %d", changes, accepted, n,
				bounds[0], bounds[1])
		}
	}
}

// TestUpdate_OneField: the documents before and after differ by what Changes says, mostly, and the
// former are accepted.
func TestUpdate_OneField(t *testing.T) {
	t.Parallel()
	const n = 40
	accepted, same := 0, 0
	for seed := range uint64(n) {
		before, after := fuzz.Update(
			seed, []string{"trainJob:spec", "runtime:spec.template.spec"}[seed%2])
		if len(after.Changes) != 1 {
			t.Errorf("seed %d: changes %q, want one", seed, after.Changes)
		}
		if bytes.Equal(before.YAML(), after.YAML()) {
			same++
		}
		runtime, found := admission.AdmitRuntime(t.Context(), nil, before.Runtime, "default")
		if append(found,
			admission.Check(
				t.Context(), admission.Input{TrainJob: before.TrainJob, Runtime: runtime,
					OnConflict: render.Last})...).Err() == nil {
			accepted++
		}
	}
	t.Logf("%d of %d are accepted before, and %d do not change", accepted, n, same)
	if accepted < n/2 || same > n/4 {
		t.Errorf("%d of %d are accepted before, and %d do not change", accepted, n, same)
	}
}
