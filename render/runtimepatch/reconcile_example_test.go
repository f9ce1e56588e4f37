package runtimepatch_test

import (
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// A controller lays its own patch over a TrainJob on every reconciliation. It never takes over a
// field that another manager set to something else.
func Example_reconcile() {
	// reconcile gives the TrainJob the wanted fields, and reports whether there is something to
	// write.
	reconcile := func(template *trainer.JobSetTemplateSpec, job *trainer.TrainJob,
		want trainer.RuntimePatch) (bool, error) {
		plan, err := runtimepatch.Minimal(template, job.Spec.RuntimePatches, want)
		if err != nil {
			return false, err
		}
		patches := runtimepatch.Remove(job.Spec.RuntimePatches, want.Manager)
		if plan.TrainingRuntimeSpec != nil {
			patches = runtimepatch.Upsert(job.Spec.RuntimePatches, plan)
		}
		if equality.Semantic.DeepEqual(patches, job.Spec.RuntimePatches) {
			return false, nil
		}
		if err := check.Patches(template, patches).Err(); err != nil {
			return false, err
		}
		job.Spec.RuntimePatches = patches
		return true, nil
	}

	template := &trainer.JobSetTemplateSpec{}
	template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}}
	job := &trainer.TrainJob{}
	for _, patch := range []trainer.RuntimePatch{
		pool("queue.example.com/admission", "spot"),
		pool("queue.example.com/admission", "spot"),
		pool("queue.example.com/admission", "reserved"),
		pool("sdk.example.com/user", "spot"),
	} {
		fmt.Println(reconcile(template, job, patch))
	}
	fmt.Println(len(job.Spec.RuntimePatches))
	// Output:
	// true <nil>
	// false <nil>
	// true <nil>
	// false .spec.replicatedJobs[name="node"].template.spec.template.spec.nodeSelector["pool"]: managers set different values: queue.example.com/admission sets "reserved", sdk.example.com/user sets "spot"
	// 1
}
