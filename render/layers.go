package render

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// Layers are what a TrainJob of an earlier API lays over its runtime, as patches that stand in no file. They lead what
// is said about these patches back to the fields of the TrainJob. The type *legacy.Overrides has these methods.
type Layers interface {
	// Patches are the layers as patches, in order. PatchesOf leaves out those of jobs that the template lacks.
	Patches() []trainer.RuntimePatch
	PatchesOf(jobs []jobset.ReplicatedJob) []trainer.RuntimePatch
	// Check returns what is wrong with the layers, whatever the runtime.
	Check() finding.List
	// Beside reports patches of managers beside the layers; own says that they are the TrainJob's.
	Beside(own bool) finding.Finding
	// Claim and Finding are a claim and a finding on one of the patches, as one on the TrainJob.
	Claim(engine.Claim) engine.Claim
	Finding(finding.Finding) finding.Finding
	// Reach is where in the template a field of the TrainJob acts; nil if it is none of the layers'.
	Reach(path fieldpath.Path) []fieldpath.Path
}

// refuseBeside reports patches of managers beside layers, and whether there are any.
func (r *renderer) refuseBeside(patches []trainer.RuntimePatch) bool {
	if len(patches) == 0 {
		return false
	}
	f := r.in.Layers.Beside(len(r.in.TrainJob.Spec.RuntimePatches) > 0)
	f.Object = r.trainJob()
	r.report(f)
	return true
}

// checkLayers reports what is wrong with the layers as such.
func (r *renderer) checkLayers() {
	if r.in.Layers == nil {
		return
	}
	for _, f := range r.in.Layers.Check() {
		f.Object = r.trainJob()
		r.report(f)
	}
}
