package release_test

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/render/release"
)

// TestDefinitions wants the releases that have a field, in the words of a message.
func TestDefinitions(t *testing.T) {
	var d release.Definitions
	for _, tc := range []struct{ kind, path, want string }{
		{"TrainJob", "spec.podSpecOverrides.containers.env", "Trainer 2.0"},
		{"TrainJob", "spec.labels", "Trainer 2.0 and 2.1"},
		{"TrainJob", "spec.runtimePatches", "Trainer 2.2 and later"},
		{"TrainJob", "spec.trainer", "Trainer 2.0 and later"},
		{"TrainJob", "spec.runtimePatches.trainingRuntimeSpec.template.spec.replicatedJobs.template.spec.template.spec.terminationGracePeriodSeconds", "Trainer 2.3 and later"},
		{"TrainJob", "spec.trainer.resourceClaimsPerNode", "Trainer 2.4"},
		{"ClusterTrainingRuntime", "spec.mlPolicy.torch.numProcPerNode", "Trainer 2.0 and 2.1"},
		{"JobSet", "spec.volumeClaimPolicies", "Trainer 2.2 and later"},
		{"TrainJob", "spec.trainers", ""},
		{"Pod", "spec", ""},
	} {
		if got := release.Span(d.Having(tc.kind, strings.Split(tc.path, ".")...)); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.kind, tc.path, got, tc.want)
		}
	}
	if got := release.Span(release.Known()[:3]); got != "Trainer 2.0 to 2.2" {
		t.Errorf("the first three releases are %q", got)
	}
	root, err := d.Fields(&release.Known()[0], "TrainJob")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := d.Fields(&release.Known()[0], "TrainJob"); again != root {
		t.Error("the definition is read again")
	}
	if !root.Find("spec", "trainer", "numProcPerNode").IntOrString ||
		root.Find("metadata", "name") != nil || !root.Find("metadata").Open {
		t.Error("the fields of a TrainJob of Trainer 2.0 are others")
	}
	if _, err := d.Fields(nil, "Pod"); err == nil {
		t.Error("there are fields of a Pod")
	}
}
