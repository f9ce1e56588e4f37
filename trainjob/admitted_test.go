package trainjob_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/trainjob"
)

// TestAdmitted: what New makes is admitted, as far as that does not hang on the runtime. Of generated
// patches, whose values only a runtime gives sense, it looks at the rest of the TrainJob.
func TestAdmitted(t *testing.T) {
	made := 0
	patches := fieldpath.Fields("spec", "runtimePatches")
	admitted := func(name string, options []trainjob.Option, generated bool) {
		job, findings := trainjob.New("torch-distributed", options...)
		if findings.Err() != nil {
			return
		}
		made++
		fields, err := admission.Encode(job)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, f := range admission.Check(context.Background(), admission.Input{TrainJob: fields}) {
			if f.Severity == finding.Error && !(generated && f.Path.HasPrefix(patches)) {
				t.Errorf("%s: %v", name, f)
			}
		}
	}
	for name, c := range sdk {
		admitted(name, append(c.options, trainjob.Name("nightly")), false)
	}
	if made != len(sdk) {
		t.Errorf("%d of %d cases are TrainJobs", made, len(sdk))
	}
	for seed := range uint64(100) {
		admitted(fmt.Sprintf("seed %d", seed), generated(seed), true)
	}
	if made < len(sdk)+30 {
		t.Errorf("only %d of 100 generated cases are TrainJobs", made-len(sdk))
	}
}
