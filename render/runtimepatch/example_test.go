package runtimepatch_test

import (
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render/runtimepatch"
)

// template is a runtime's template with one job and a node selector.
func template() *trainer.JobSetTemplateSpec {
	job := jobset.ReplicatedJob{Name: "node"}
	job.Template.Spec.Template.Spec = corev1.PodSpec{
		NodeSelector: map[string]string{"pool": "general"},
		Containers:   []corev1.Container{{Name: "node"}},
	}
	return &trainer.JobSetTemplateSpec{
		Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{job}}}
}

// patch is a manager's patch that says nothing yet.
func patch(manager string) trainer.RuntimePatch {
	return trainer.RuntimePatch{
		Manager: manager, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
			Template: &trainer.JobSetTemplatePatch{
				Metadata: &metav1.ObjectMeta{Labels: map[string]string{}}},
		}}
}

// nodeSelector is a manager's patch of the node selector of the job node.
func nodeSelector(manager string, selector map[string]string) trainer.RuntimePatch {
	p := patch(manager)
	p.TrainingRuntimeSpec.Template.Spec = &trainer.JobSetSpecPatch{
		ReplicatedJobs: []trainer.ReplicatedJobPatch{{
			Name: "node",
			Template: &trainer.JobTemplatePatch{
				Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{
					Spec: &trainer.PodSpecPatch{NodeSelector: selector},
				}}},
		}}}
	return p
}

func ExampleApply() {
	result, err := runtimepatch.Apply(template(), []trainer.RuntimePatch{
		nodeSelector("sdk.example.com/user", map[string]string{"pool": "reserved", "zone": "a"}),
		nodeSelector("queue.example.com/admission", map[string]string{"pool": "spot"}),
	}, runtimepatch.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector)
	// Output:
	// map[pool:spot zone:a]
}

func ExampleUpsert() {
	patches := []trainer.RuntimePatch{
		nodeSelector("sdk.example.com/user", map[string]string{"pool": "reserved", "zone": "a"}),
		nodeSelector("queue.example.com/admission", map[string]string{"pool": "spot"}),
	}
	// The user no longer asks for a zone.
	patches = runtimepatch.Upsert(
		patches, nodeSelector("sdk.example.com/user", map[string]string{"pool": "reserved"}))
	for _, p := range patches {
		fmt.Println(p.Manager,
			p.TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector)
	}
	// Output:
	// sdk.example.com/user map[pool:reserved]
	// queue.example.com/admission map[pool:spot]
}

// A queue adds its patch when it admits a TrainJob, and keeps the fields that the user sets.
func ExampleMinimal() {
	patches := []trainer.RuntimePatch{
		nodeSelector("sdk.example.com/user", map[string]string{"pool": "reserved"})}
	for _, pool := range []string{"reserved", "spot"} {
		plan, err := runtimepatch.Minimal(template(), patches,
			nodeSelector("queue.example.com/admission",
				map[string]string{"pool": pool, "zone": "a"}))
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(plan.TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector)
	}
	// Output:
	// map[zone:a]
	// .spec.replicatedJobs[name="node"].template.spec.template.spec.nodeSelector["pool"]: managers set different values: sdk.example.com/user sets "reserved", queue.example.com/admission sets "spot"
}

// A client of another release keeps the fields that its Go types lack.
func ExampleMinimalIn() {
	job := map[string]any{"spec": map[string]any{"futureField": 1.0}}
	patch := nodeSelector("queue.example.com/admission", map[string]string{"pool": "spot"})
	patched, err := runtimepatch.MinimalIn(template(), job, patch)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(patched)
	removed, err := runtimepatch.RemoveIn(patched, patch.Manager)
	fmt.Println(removed, err)
	// Output:
	// map[spec:map[futureField:1 runtimePatches:[map[manager:queue.example.com/admission trainingRuntimeSpec:map[template:map[spec:map[replicatedJobs:[map[name:node template:map[spec:map[template:map[spec:map[nodeSelector:map[pool:spot]]]]]]]]]]]]]]
	// map[spec:map[futureField:1]] <nil>
}

func Example_history() {
	result, err := runtimepatch.Apply(template(), []trainer.RuntimePatch{
		nodeSelector("sdk.example.com/user", map[string]string{"pool": "reserved"}),
		nodeSelector("queue.example.com/admission", map[string]string{"pool": "spot", "zone": "a"}),
	}, runtimepatch.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for path, claims := range result.History.All() {
		if name, _ := path[len(path)-2].Field(); name != "nodeSelector" {
			continue
		}
		fmt.Println(path)
		for _, c := range claims {
			fmt.Printf("  %s: %v\n", c.Owner, c.Value)
		}
	}
	// Output:
	// .spec.replicatedJobs[name="node"].template.spec.template.spec.nodeSelector["pool"]
	//   runtime: general
	//   manager/sdk.example.com/user: reserved
	//   manager/queue.example.com/admission: spot
	// .spec.replicatedJobs[name="node"].template.spec.template.spec.nodeSelector["zone"]
	//   manager/queue.example.com/admission: a
}

func ExampleManagedFields() {
	sdk, queue := patch("sdk.example.com/user"), patch("queue.example.com/admission")
	sdk.TrainingRuntimeSpec.Template.Metadata.Labels = map[string]string{
		"tier": "research", "team": "vision"}
	queue.TrainingRuntimeSpec.Template.Metadata.Labels = map[string]string{"tier": "batch"}
	result, err := runtimepatch.Apply(&trainer.JobSetTemplateSpec{},
		[]trainer.RuntimePatch{sdk, queue}, runtimepatch.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, entry := range runtimepatch.ManagedFields(result.History) {
		fmt.Println(entry.Manager, entry.Operation, entry.FieldsV1.GetRawString())
	}
	// Output:
	// runtime Apply {}
	// sdk.example.com/user Apply {"f:metadata":{"f:labels":{"f:team":{}}}}
	// queue.example.com/admission Apply {"f:metadata":{"f:labels":{"f:tier":{}}}}
}
