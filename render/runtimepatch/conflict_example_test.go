package runtimepatch_test

import (
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// A controller or a webhook that holds a TrainJob and its runtime asks whether the managers agree.
func Example() {
	review := func(runtime *trainer.ClusterTrainingRuntime, job *trainer.TrainJob) error {
		template := &runtime.Spec.Template
		patches := job.Spec.RuntimePatches
		if err := check.Patches(template, patches).Err(); err != nil {
			return err // what the cluster would reject, or could never run
		}
		result, err := runtimepatch.Apply(template, patches, runtimepatch.Options{})
		if err != nil {
			return err
		}
		if err := conflict.Find(result.History).Err(); err != nil {
			return err // every field, every manager, every value
		}
		return nil
	}

	runtime := &trainer.ClusterTrainingRuntime{}
	runtime.Spec.Template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}}
	job := &trainer.TrainJob{}
	job.Spec.RuntimePatches = []trainer.RuntimePatch{
		pool("sdk.example.com/user", "reserved"),
		pool("queue.example.com/admission", "spot"),
	}
	fmt.Println(review(runtime, job))
	// Output:
	// .spec.replicatedJobs[name="node"].template.spec.template.spec.nodeSelector["pool"]: managers set different values: sdk.example.com/user sets "reserved", queue.example.com/admission sets "spot"
}

func pool(manager, name string) trainer.RuntimePatch {
	return trainer.RuntimePatch{
		Manager: manager,
		TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
			Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
				ReplicatedJobs: []trainer.ReplicatedJobPatch{{
					Name: "node",
					Template: &trainer.JobTemplatePatch{
						Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{
							Spec: &trainer.PodSpecPatch{
								NodeSelector: map[string]string{"pool": name}},
						}}},
				}},
			}}},
	}
}
