package upstream_test

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
)

var jobSets = flag.Int("jobsets", 500, "how many generated JobSets to compare with JobSet's own controller and webhooks")

// TestJobSetChildren compares, for generated JobSets, what this project makes of them with what the
// code of JobSet does: the defaults of its CRD and its mutating webhook, the Jobs, Service and claims
// that its reconciler creates, and what its Pod webhook does to the Pods.
func TestJobSetChildren(t *testing.T) {
	upstream := newJobSetUpstream(t)
	jobs, pods := 0, 0
	for seed := range uint64(*jobSets) {
		js := generateJobSet(t, rand.New(rand.NewPCG(seed, 12)))
		stored := upstream.admitJobSet(t, js)
		if diff := cmp.Diff(stored, render.DefaultJobSet(js)); diff != "" {
			t.Fatalf("seed %d: defaults (-upstream +ours):\n%s\n%s", seed, diff, jobSetYAML(js))
		}
		want := upstream.reconcile(t, seed, stored)
		out, err := render.Jobs(stored, render.JobsOptions{OwnerReferences: true})
		if out == nil { // an error that is a finding leaves the output
			t.Fatalf("seed %d: %v", seed, err)
		}
		if by := stored.Spec.ManagedBy; by != nil && *by != jobset.JobSetControllerName {
			// This project shows what another controller would make, and says so.
			warned := slices.ContainsFunc(out.Findings, func(f finding.Finding) bool { return f.Code == finding.CodeManagedElsewhere })
			if len(want) > 0 || !warned {
				t.Fatalf("seed %d: of a JobSet that %s manages upstream makes %d objects, and a finding says so: %v", seed, *by, len(want), warned)
			}
			continue
		}
		got := map[string]client.Object{}
		for _, child := range out.Jobs {
			got["Job "+child.Job.Name] = child.Job
		}
		if out.Service != nil {
			got["Service "+out.Service.Name] = out.Service
		}
		for _, claim := range out.Claims {
			got["PersistentVolumeClaim "+claim.Name] = claim
		}
		if diff := cmp.Diff(objectsAsJSON(t, want), objectsAsJSON(t, got)); diff != "" {
			t.Fatalf("seed %d: children (-upstream +ours):\n%s\n%s", seed, diff, jobSetYAML(stored))
		}
		jobs += len(out.Jobs)
		pods += upstream.comparePods(t, seed, stored, out)
	}
	t.Logf("%d JobSets, %d Jobs, %d Pods", *jobSets, jobs, pods)
}

func jobSetYAML(js *jobset.JobSet) string {
	data, _ := yaml.Marshal(js)
	return string(data)
}

// objectsAsJSON compares what is sent: types, without those of the objects themselves.
func objectsAsJSON(t *testing.T, objects map[string]client.Object) map[string]any {
	t.Helper()
	out := map[string]any{}
	for key, o := range objects {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var value map[string]any
		if err := json.Unmarshal(data, &value); err != nil {
			t.Fatal(err)
		}
		delete(value, "kind")
		delete(value, "apiVersion")
		out[key] = value
	}
	return out
}

// comparePods takes what the webhook does out of the first Pods of each Job and lets the webhook do
// it again. It returns how many it compared.
func (u *jobSetUpstream) comparePods(t *testing.T, seed uint64, js *jobset.JobSet, out *render.JobsOutput) (compared int) {
	t.Helper()
	templates := map[string]corev1.PodSpec{}
	for _, child := range slices.Concat(out.Jobs, out.Later) {
		templates[child.Job.Name] = child.Job.Spec.Template.Spec
	}
	options := render.PodsOptions{JobsOptions: render.JobsOptions{Stored: true}, Indexes: &render.IndexRange{First: 0, Last: 1}}
	for pod, err := range render.Pods(js, options) {
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		bare := pod.DeepCopy()
		delete(bare.Labels, "jobset.sigs.k8s.io/priority")
		bare.Spec.Affinity = templates[pod.Labels[batchv1.JobNameLabel]].Affinity
		if bare.Spec.Priority == nil && pod.Spec.PriorityClassName == "" {
			zero := int32(0) // what the API server's priority admission writes before
			bare.Spec.Priority = &zero
		}
		raw, err := json.Marshal(bare)
		if err != nil {
			t.Fatal(err)
		}
		admitted := &corev1.Pod{}
		u.admit(t, "/mutate--v1-pod", raw, admitted)
		admitted.Spec.Priority = pod.Spec.Priority
		if diff := cmp.Diff(admitted, pod); diff != "" {
			t.Fatalf("seed %d: Pod %s (-upstream +ours):\n%s\n%s", seed, pod.GenerateName, diff, jobSetYAML(js))
		}
		compared++
	}
	return compared
}
