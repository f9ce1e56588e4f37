package render_test

import (
	"maps"
	"strings"
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

func TestVolumeClaims(t *testing.T) {
	js := jobSet(t, `
  volumeClaimPolicies:
  - templates:
    - metadata: {name: cache, labels: {a: b, jobset.sigs.k8s.io/jobset-name: x}, annotations: {c: d}, finalizers: [e]}
      spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Ti}}}
  - retentionPolicy: {whenDeleted: Retain}
    templates:
    - metadata: {name: models}
      spec: {storageClassName: fast}
  replicatedJobs:
  - name: data
    template: {spec: {template: {spec: {initContainers: [{name: i, volumeMounts: [{name: models, mountPath: /m}]}]}}}}
  - name: node
    template:
      spec:
        template:
          spec:
            containers:
            - {name: node, volumeMounts: [{name: tmp, mountPath: /tmp}, {name: models, mountPath: /m}, {name: cache, mountPath: /c}]}
            volumes: [{name: tmp, emptyDir: {}}]
  - name: eval
    template: {spec: {template: {spec: {containers: [{name: node}]}}}}
`)
	out := jobs(t, js, render.JobsOptions{OwnerReferences: true})
	cache, models := out.Claims[0], out.Claims[1]
	if cache.Name != "cache-llm" || cache.Namespace != "team" || models.Name != "models-llm" {
		t.Errorf("claims %s/%s and %s", cache.Namespace, cache.Name, models.Name)
	}
	if want := map[string]string{"a": "b", jobset.JobSetNameKey: "llm"}; !maps.Equal(
		cache.Labels, want) {
		t.Errorf("labels %v, want %v: the controller's win", cache.Labels, want)
	}
	if cache.Annotations["c"] != "d" || cache.Finalizers != nil {
		t.Errorf("annotations %v, finalizers %v: only labels and annotations are taken over",
			cache.Annotations, cache.Finalizers)
	}
	if len(cache.OwnerReferences) != 1 || models.OwnerReferences != nil {
		t.Error("the JobSet must own the claims that are deleted with it, and not the retained ones")
	}
	for i, want := range []string{"models=models-llm", "tmp= cache=cache-llm models=models-llm",
		""} {
		var got []string
		for _, volume := range out.Jobs[i].Job.Spec.Template.Spec.Volumes {
			claim := ""
			if volume.PersistentVolumeClaim != nil {
				claim = volume.PersistentVolumeClaim.ClaimName
			}
			got = append(got, volume.Name+"="+claim)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("volumes of %s: %v, want %q: the claims that a container mounts, after its "+
				"own volumes",
				out.Jobs[i].Job.Name, got, want)
		}
	}
}

func TestService(t *testing.T) {
	for _, c := range []struct {
		name, network, reason string
		wantName              string
		wantNotReady          bool
	}{
		{name: "default", reason: "the Service has the JobSet's name", wantName: "llm",
			wantNotReady: true},
		{name: "subdomain", network: "{subdomain: net}", reason: "or the subdomain's name",
			wantName: "net", wantNotReady: true},
		{name: "ready only", network: "{publishNotReadyAddresses: false}",
			reason: "only a false turns it off", wantName: "llm"},
		{name: "off", network: "{enableDNSHostnames: false, subdomain: net}",
			reason: "without hostnames there is none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := oneNode
			if c.network != "" {
				text += "  network: " + c.network
			}
			out := jobs(t, jobSet(t, text), render.JobsOptions{})
			if got := out.Jobs[0].Job.Spec.Template.Spec.Subdomain; got != c.wantName {
				t.Errorf("subdomain of the Pods %q, want %q: %s", got, c.wantName, c.reason)
			}
			if c.wantName == "" {
				if out.Service != nil {
					t.Errorf("Service %s: %s", out.Service.Name, c.reason)
				}
				return
			}
			s := out.Service
			if s.Name != c.wantName || s.Namespace != "team" ||
				s.Spec.PublishNotReadyAddresses != c.wantNotReady ||
				s.Spec.ClusterIP != "None" ||
				!maps.Equal(s.Spec.Selector, map[string]string{jobset.JobSetNameKey: "llm"}) {
				t.Errorf("Service %+v: %s", s, c.reason)
			}
		})
	}
}
