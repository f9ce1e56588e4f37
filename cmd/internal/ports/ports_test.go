package ports_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/ports"
)

// TestSpell: a policy's port says TCP if the runtime spells out the protocol of a port of that
// number. This also holds for another protocol, because the policy's port takes its place.
func TestSpell(t *testing.T) {
	tests := map[string]struct {
		runtime []corev1.ContainerPort
		want    corev1.Protocol
	}{
		"no port":         {nil, ""},
		"another number":  {[]corev1.ContainerPort{{ContainerPort: 80, Protocol: "TCP"}}, ""},
		"not spelled out": {[]corev1.ContainerPort{{ContainerPort: 29500}}, ""},
		"TCP": {[]corev1.ContainerPort{{ContainerPort: 29500, Protocol: "TCP"}},
			"TCP"},
		"UDP": {[]corev1.ContainerPort{{ContainerPort: 29500, Protocol: "UDP"}},
			"TCP"},
		"UDP, then one without": {
			[]corev1.ContainerPort{{ContainerPort: 29500, Protocol: "UDP"},
				{ContainerPort: 29500, Name: "b"}}, "TCP"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			jobs := func(of []corev1.ContainerPort) []jobset.ReplicatedJob {
				job := jobset.ReplicatedJob{Name: "node"}
				job.Template.Spec.Template.Spec.Containers = []corev1.Container{
					{Name: "node", Ports: of}}
				return []jobset.ReplicatedJob{job}
			}
			spec := &trainer.TrainingRuntimeSpec{}
			spec.Template.Spec.ReplicatedJobs = jobs(tt.runtime)
			js := &jobset.JobSet{
				Spec: jobset.JobSetSpec{
					ReplicatedJobs: jobs([]corev1.ContainerPort{{ContainerPort: 29500}})}}
			ports.Spell(js, spec)
			if got := js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].Ports[0].Protocol; got != tt.want {
				t.Errorf("protocol %q, want %q", got, tt.want)
			}
		})
	}
}
