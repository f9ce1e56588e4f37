package merge_test

import (
	"testing"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/merge"
)

func TestLayers(t *testing.T) {
	if name, ok := engine.Manager("a.example.com/x").Manager(); name != "a.example.com/x" || !ok {
		t.Errorf("%q, %v", name, ok)
	}
	for _, layer := range []engine.Layer{engine.Base, merge.RuntimeLayer, merge.TrainJobLayer, merge.DefaultLayer, merge.JobSetLayer, merge.JobLayer, merge.PolicyLayer("torch"), merge.SchedulerLayer("volcano")} {
		if name, ok := layer.Manager(); ok {
			t.Errorf("%s is the manager %q", layer, name)
		}
	}
}
