package render_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render"
)

func TestExclusivePlacement(t *testing.T) {
	const topology, strategy = jobset.ExclusiveKey, jobset.NodeSelectorStrategyKey
	for _, c := range []struct {
		name, reason    string
		onSet, onJob    map[string]string
		onPod           map[string]string
		want            map[string]string // of the two annotations
		wantNodeSelects bool
	}{
		{
			name: "none", reason: "nobody asked",
		}, {
			name: "set", reason: "the JobSet's annotation holds for every Job",
			onSet: map[string]string{topology: "rack"}, want: map[string]string{topology: "rack"},
		}, {
			name: "job", reason: "the replicated job's annotation holds for its Jobs",
			onJob: map[string]string{topology: "zone"}, want: map[string]string{topology: "zone"},
		}, {
			name: "both", reason: "the replicated job has the last word",
			onSet: map[string]string{topology: "rack"}, onJob: map[string]string{topology: "zone"},
			want: map[string]string{topology: "zone"},
		}, {
			name: "set by node selector", reason: "the strategy comes with the topology",
			onSet: map[string]string{topology: "rack", strategy: "true"},
			want:  map[string]string{topology: "rack", strategy: "true"}, wantNodeSelects: true,
		}, {
			name: "job by node selector", reason: "on the replicated job as well",
			onJob: map[string]string{topology: "rack", strategy: ""},
			want:  map[string]string{topology: "rack", strategy: ""}, wantNodeSelects: true,
		}, {
			name:   "topology from the job, strategy from the set",
			reason: "the JobSet's strategy stays under the job's topology",
			onSet:  map[string]string{topology: "rack", strategy: "true"},
			onJob:  map[string]string{topology: "zone"},
			want:   map[string]string{topology: "zone", strategy: "true"}, wantNodeSelects: true,
		}, {
			name:   "strategy alone on the set",
			reason: "a strategy without a topology is not passed on",
			onSet:  map[string]string{strategy: "true"},
		}, {
			name: "split over both",
			reason: "a strategy counts only with a topology of its own level, but the Job " +
				"template's own annotation stays",
			onSet: map[string]string{topology: "rack"}, onJob: map[string]string{strategy: "true"},
			want: map[string]string{topology: "rack", strategy: "true"}, wantNodeSelects: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			js := jobSet(t, oneNode)
			js.Annotations = c.onSet
			js.Spec.ReplicatedJobs[0].Template.Annotations = c.onJob
			pod := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
			pod.NodeSelector = map[string]string{"disk": "ssd"}
			pod.Tolerations = []corev1.Toleration{{Key: "spot"}}
			job := jobs(t, js, render.JobsOptions{}).Jobs[0].Job
			got := maps.Clone(job.Annotations)
			maps.DeleteFunc(got, func(key, _ string) bool {
				return key != topology && key != strategy
			})
			if len(c.want)+len(got) > 0 && !maps.Equal(c.want, got) {
				t.Errorf("annotations %v, want %v: %s", got, c.want, c.reason)
			}
			wantSelector := map[string]string{"disk": "ssd"}
			wantTolerations := []corev1.Toleration{{Key: "spot"}}
			if c.wantNodeSelects {
				wantSelector["alpha.jobset.sigs.k8s.io/namespaced-job"] = "team_llm-node-0"
				wantTolerations = append(wantTolerations, corev1.Toleration{
					Key: "alpha.jobset.sigs.k8s.io/no-schedule", Operator: "Exists",
					Effect: "NoSchedule",
				})
			}
			if diff := cmp.Diff(wantSelector, job.Spec.Template.Spec.NodeSelector); diff != "" {
				t.Errorf("%s; node selector (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(wantTolerations, job.Spec.Template.Spec.Tolerations); diff != "" {
				t.Errorf("%s; tolerations (-want +got):\n%s", c.reason, diff)
			}
			if len(pod.NodeSelector) != 1 || len(pod.Tolerations) != 1 {
				t.Error("the input was changed")
			}
		})
	}
}
