package upstream_test

import (
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
	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
)

var jobSets = flag.Int("jobsets", 500,
	"how many generated JobSets to compare with JobSet's own controller and webhooks")

// TestJobSetChildren compares this project's results for generated JobSets with the results of
// JobSet's code. It compares the defaults of the CRD and the mutating webhook. It compares the
// Jobs, Service and claims that the reconciler creates. It also compares the changes of the Pod
// webhook.
func TestJobSetChildren(t *testing.T) {
	server := newAPIServer(t)
	jobs, pods := 0, 0
	for seed := range uint64(*jobSets) {
		js := generateJobSet(t, rand.New(rand.NewPCG(seed, 12)))
		object, err := server.Prune(jobSetObject(t, js))
		server.must(err)
		js = &jobset.JobSet{}
		server.must(oracle.Convert(object, js))
		children, err := server.Children(object)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, jobSetYAML(js))
		}
		stored := &jobset.JobSet{}
		server.must(oracle.Convert(children.JobSet, stored))
		stored.TypeMeta = js.TypeMeta
		if diff := cmp.Diff(stored, render.DefaultJobSetOf(server.Release, js)); diff != "" {
			t.Fatalf("seed %d: defaults (-upstream +ours):\n%s\n%s", seed, diff, jobSetYAML(js))
		}
		want := map[string]any{}
		for _, o := range children.Created {
			want[o["kind"].(string)+" "+nameOf(o)] = server.child(o)
		}
		out, err := render.Jobs(
			stored, render.JobsOptions{Release: server.Release, OwnerReferences: true})
		if out == nil { // an error that is a finding leaves the output
			t.Fatalf("seed %d: %v", seed, err)
		}
		if by := stored.Spec.ManagedBy; by != nil && *by != jobset.JobSetControllerName {
			// This project shows what another controller would make, and says so.
			warned := slices.ContainsFunc(out.Findings, func(f finding.Finding) bool {
				return f.Code == codes.ManagedElsewhere
			})
			if len(want) > 0 || !warned {
				t.Fatalf("seed %d: of a JobSet that %s manages upstream makes %d objects, and a "+
					"finding says so: %v", seed, *by, len(want), warned)
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
		if diff := cmp.Diff(want, objectsAsJSON(t, got)); diff != "" {
			t.Fatalf("seed %d: children (-upstream +ours):\n%s\n%s", seed, diff, jobSetYAML(stored))
		}
		jobs += len(out.Jobs)
		pods += server.comparePods(t, seed, stored, out)
	}
	t.Logf("%d JobSets, %d Jobs, %d Pods", *jobSets, jobs, pods)
}

func jobSetYAML(js *jobset.JobSet) string {
	data, _ := yaml.Marshal(js)
	return string(data)
}

// child is a created object in today's types, since earlier ones encode an empty timestamp.
func (s *apiServer) child(o upstream.Object) upstream.Object {
	s.t.Helper()
	var typed any
	switch o["kind"] {
	case "Job":
		typed = &batchv1.Job{}
	case "Service":
		typed = &corev1.Service{}
	case "PersistentVolumeClaim":
		typed = &corev1.PersistentVolumeClaim{}
	default:
		s.t.Fatalf("a JobSet has no child of kind %v", o["kind"])
	}
	s.must(oracle.Convert(o, typed))
	var out upstream.Object
	s.must(oracle.Convert(typed, &out))
	delete(out, "kind")
	delete(out, "apiVersion")
	return out
}

// jobSetObject is a generated JobSet as it is sent.
func jobSetObject(t *testing.T, js *jobset.JobSet) (o upstream.Object) {
	t.Helper()
	if err := oracle.Convert(js, &o); err != nil {
		t.Fatal(err)
	}
	o["apiVersion"], o["kind"] = jobset.GroupVersion.String(), "JobSet"
	return o
}

// objectsAsJSON returns the JSON of objects without their kinds and API versions.
func objectsAsJSON(t *testing.T, objects map[string]client.Object) map[string]any {
	t.Helper()
	out := map[string]any{}
	for key, o := range objects {
		var value upstream.Object
		if err := oracle.Convert(o, &value); err != nil {
			t.Fatal(err)
		}
		delete(value, "kind")
		delete(value, "apiVersion")
		out[key] = value
	}
	return out
}

// comparePods removes the webhook's changes from the first Pods of each Job, and lets the webhook
// make them again. It returns how many it compared.
func (s *apiServer) comparePods(t *testing.T, seed uint64, js *jobset.JobSet,
	out *render.JobsOutput) (compared int) {
	t.Helper()
	templates := map[string]corev1.PodSpec{}
	for _, child := range slices.Concat(out.Jobs, out.Later) {
		templates[child.Job.Name] = child.Job.Spec.Template.Spec
	}
	options := render.PodsOptions{JobsOptions: render.JobsOptions{Release: s.Release, Stored: true},
		Indexes: &render.IndexRange{First: 0, Last: 1}}
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
		var asObject upstream.Object
		s.must(oracle.Convert(bare, &asObject))
		mutated, err := s.Pod(asObject)
		s.must(err)
		admitted := &corev1.Pod{}
		s.must(oracle.Convert(mutated, admitted))
		admitted.Spec.Priority = pod.Spec.Priority
		if diff := cmp.Diff(admitted, pod); diff != "" {
			t.Fatalf("seed %d: Pod %s (-upstream +ours):\n%s\n%s", seed, pod.GenerateName, diff,
				jobSetYAML(js))
		}
		compared++
	}
	return compared
}
