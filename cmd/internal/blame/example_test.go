package blame_test

import (
	"fmt"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// A runtime, a TrainJob that sets the image, and who set each line of what becomes of them.
func ExampleNew() {
	runtime := &trainer.TrainingRuntimeSpec{}
	node := jobset.ReplicatedJob{Name: "node"}
	node.Template.Labels = map[string]string{
		"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
	node.Template.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "node", Image: "torch:2.9"}}
	runtime.Template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{node}
	job := &trainer.TrainJob{}
	job.Namespace, job.Name = "team-a", "llm"
	image := "mine:1"
	job.Spec.Trainer = &trainer.Trainer{Image: &image}
	render.DefaultTrainJob(job, nil)
	render.DefaultRuntime(runtime, nil)

	out, err := render.JobSet(render.Input{TrainJob: job, Runtime: runtime}, render.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	object, err := blame.New(out.JobSet, runtimepatch.JobSetTemplate(), out.History.All(),
		blame.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range object.Lines() {
		if line.Layer == runtimepatch.TrainJobLayer {
			fmt.Println(strings.TrimSpace(line.Text))
		}
	}
	found, err := object.Find("spec.replicatedJobs.template.spec.template.spec.containers.image")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, claim := range found[0].Claims {
		fmt.Println(claim.Owner, claim.Value, claim.At)
	}
	// Output:
	// metadata:
	// name: llm
	// namespace: team-a
	// - image: mine:1
	// suspend: false
	// runtime torch:2.9 .spec.template.spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="node"].image
	// trainjob mine:1 .spec.trainer.image
}
