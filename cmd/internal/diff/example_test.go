package diff_test

import (
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/render"
)

// The runtime gets another image, and the TrainJob a variable: both changes are told with who makes
// them.
func ExampleCompare() {
	job := &trainer.TrainJob{}
	job.Name, job.Namespace = "llm", "team-a"
	before, err := render.JobSet(inputOf(job, "registry.example.com/train:1"), render.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	job = job.DeepCopy()
	job.Spec.Trainer = &trainer.Trainer{Env: []corev1.EnvVar{{Name: "LR", Value: "0.1"}}}
	after, err := render.JobSet(inputOf(job, "registry.example.com/train:2"), render.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	changes, err := diff.Compare(before.JobSet, after.JobSet, diff.Options{Mask: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	changes.Attribute(diff.OwnersOf(before.History), diff.OwnersOf(after.History))
	for _, c := range changes {
		fmt.Printf("%s %s\n  %v -> %v, by %s\n", c.Kind, c.Path, c.Old, c.New, c.After[0].Owner)
	}
	// Output:
	// added .spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="node"].env[name="LR"]
	//   <nil> -> map[name:LR value:***], by trainjob
	// changed .spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="node"].image
	//   registry.example.com/train:1 -> registry.example.com/train:2, by runtime
}

func inputOf(job *trainer.TrainJob, image string) render.Input {
	node := jobset.ReplicatedJob{Name: "node"}
	node.Template.Labels = map[string]string{
		"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
	node.Template.Spec.Template.Spec.Containers = []corev1.Container{{Name: "node", Image: image}}
	runtime := &trainer.TrainingRuntimeSpec{}
	runtime.Template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{node}
	render.DefaultTrainJob(job, nil)
	render.DefaultRuntime(runtime, nil)
	return render.Input{TrainJob: job, Runtime: runtime}
}
