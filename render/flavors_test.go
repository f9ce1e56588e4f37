package render_test

import (
	"fmt"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/render"
)

func twoFlavors() []render.ResourceFlavor {
	flavors := make([]render.ResourceFlavor, 2)
	for i, name := range []string{"spot", "reserved"} {
		flavors[i].Name, flavors[i].Spec.NodeLabels = name, map[string]string{"pool": name}
	}
	flavors[0].Spec.NodeTaints = []corev1.Taint{{Key: "spot", Effect: corev1.TaintEffectNoSchedule}}
	return flavors
}

// The Pods of an admission have the labels of its flavor.
func ExampleAdmit() {
	in := render.Input{TrainJob: &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: "llm"}},
		Runtime: queuedRuntime()}
	sets, err := render.PodSets(in, render.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = render.Assign(in.TrainJob, sets, map[string]string{"node": "spot"}, twoFlavors())
	fmt.Println(err)
	workload, err := render.Assign(in.TrainJob, sets, map[string]string{"node": "reserved"},
		twoFlavors())
	if err == nil {
		in, err = render.Admit(in, sets, workload, twoFlavors())
	}
	out, _ := render.JobSet(in, render.Options{})
	fmt.Println(out.JobSet.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector, err)
	// Output:
	// TW467: TrainJob llm: .spec: Kueue does not admit the TrainJob: flavor "spot" does not fit Pod set "node": the Pods do not tolerate taint spot:NoSchedule; assign other flavors, or fix the objects that are named
	// map[pool:reserved] <nil>
}

func TestAdmit_Errors(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*render.Workload)
		want   string
	}{
		{"nothing", func(*render.Workload) {}, ""},
		{"no admission", func(w *render.Workload) {
			w.Status.Admission = nil
		}, "its Workload has no admission"},
		{"another job", func(w *render.Workload) {
			w.OwnerReferences[0].Name = "vlm"
		}, "Workload team/trainjob-llm-1 belongs to another object"},
		{"an unknown set", func(w *render.Workload) {
			w.Status.Admission.PodSetAssignments[0].Name = "nodes"
		}, `its Workload assigns Pod set "nodes", and the TrainJob has "node"`},
		{"a further set", func(w *render.Workload) {
			w.Status.Admission.PodSetAssignments = append(w.Status.Admission.PodSetAssignments,
				render.PodSetAssignment{})
		}, "its Workload assigns 2 Pod sets, and the TrainJob has 1"},
		{"an unknown flavor", func(w *render.Workload) {
			w.Status.Admission.PodSetAssignments[0].Flavors["cpu"] = "fast"
		}, `Pod set "node": no ResourceFlavor "fast"`},
		{"two flavors", func(w *render.Workload) {
			w.Status.Admission.PodSetAssignments[0].Flavors["memory"] = "reserved"
		}, `Pod set "node": flavor "reserved": node label pool is "spot" and "reserved": Kueue takes either value`},
		{"a check", func(w *render.Workload) {
			w.Status.AdmissionChecks = []render.AdmissionCheck{
				{Name: "prov",
					PodSetUpdates: []render.PodSetUpdate{
						{Name: "node", Labels: map[string]string{"kueue.x-k8s.io/podset": "x"}}}}}
		}, `Pod set "node": admission check "prov": label kueue.x-k8s.io/podset is "node" and "x"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &render.Workload{
				ObjectMeta: metav1.ObjectMeta{Name: "trainjob-llm-1", Namespace: "team",
					OwnerReferences: []metav1.OwnerReference{{Kind: "TrainJob", Name: "llm"}}}}
			w.Status.Admission = &render.Admission{
				PodSetAssignments: []render.PodSetAssignment{
					{Name: "node", Flavors: map[string]string{"cpu": "spot"}}}}
			test.change(w)
			job := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: "llm", Namespace: "team"}}
			_, err := render.Admit(render.Input{TrainJob: job}, []render.PodSet{{Name: "node"}}, w,
				twoFlavors())
			if got := fmt.Sprint(err); (err == nil) != (test.want == "") ||
				!strings.Contains(got, "does not admit the TrainJob: "+test.want+";") &&
					err != nil {
				t.Errorf("Admit() = %v, want %s", err, test.want)
			}
		})
	}
}
