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

// Of the second object, only the fields that differ are new. Items of lists stand next to their
// counterparts.
func ExampleLines() {
	old, new := &corev1.Pod{}, &corev1.Pod{}
	old.Spec.InitContainers = []corev1.Container{{Name: "fetch", Image: "fetch:1"},
		{Name: "unpack"}}
	new.Spec.InitContainers = []corev1.Container{{Name: "warn"}, {Name: "fetch", Image: "fetch:2"},
		{Name: "unpack"}}
	lines, err := diff.Lines(old, new, diff.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range lines {
		fmt.Printf("%c%s\n",
			map[diff.Op]rune{diff.Same: '=', diff.OldOnly: '-', diff.NewOnly: '+'}[l.Op], l.Text)
	}
	// Output:
	// =spec:
	// =  initContainers:
	// +  - name: warn
	// =  - name: fetch
	// -    image: fetch:1
	// +    image: fetch:2
	// =  - name: unpack
}
