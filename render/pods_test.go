package render_test

import (
	"iter"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render"
)

// pods collects the stream and wants no error.
func pods(t testing.TB, js *jobset.JobSet, opts render.PodsOptions) []*corev1.Pod {
	t.Helper()
	var all []*corev1.Pod
	for pod, err := range render.Pods(js, opts) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pod)
	}
	return all
}

// podNames returns the prefixes of the Pods' names, without the name of the JobSet.
func podNames(all []*corev1.Pod) string {
	names := make([]string, len(all))
	for i, pod := range all {
		names[i] = strings.TrimPrefix(pod.GenerateName, "llm-")
	}
	return strings.Join(names, " ")
}

func TestPodsSelection(t *testing.T) {
	js := jobSet(t, `
  replicatedJobs:
  - {name: data, template: {spec: {template: {spec: {}}}}}
  - {name: node, replicas: 2, template: {spec: {parallelism: 2, completions: 4, template: {spec: {}}}}}
  - {name: idle, template: {spec: {parallelism: 0, completions: 0, template: {spec: {}}}}}
  - {name: loop, dependsOn: [{name: loop, status: Ready}], template: {spec: {template: {spec: {}}}}}
  - {name: queue, template: {spec: {completionMode: NonIndexed, parallelism: 3, template: {spec: {}}}}}
  suspend: true
`)
	for _, c := range []struct {
		opts         render.PodsOptions
		want, reason string
	}{
		{render.PodsOptions{},
			"data-0-0- node-0-0- node-0-1- node-1-0- node-1-1- queue-0- queue-0- queue-0-",
			"each Job starts with its parallel Pods, as if the JobSet were resumed; a Job that " +
				"never starts has none"},
		{render.PodsOptions{AllIndexes: true},
			"data-0-0- node-0-0- node-0-1- node-0-2- node-0-3- node-1-0- node-1-1- node-1-2- " +
				"node-1-3- queue-0- queue-0- queue-0-",
			"further Pods start when these are done; without completions, no further ones start"},
		{render.PodsOptions{Job: "node"}, "node-0-0- node-0-1- node-1-0- node-1-1-",
			"a replicated job is all its Jobs"},
		{render.PodsOptions{Job: "llm-node-1"}, "node-1-0- node-1-1-", "a Job is itself"},
		{render.PodsOptions{Indexes: &render.IndexRange{First: 1, Last: 1}},
			"node-0-1- node-1-1- queue-0-", "one index of each Job"},
		{render.PodsOptions{Indexes: &render.IndexRange{First: 1, Last: 9}, AllIndexes: true,
			Job: "llm-node-0"}, "node-0-1- node-0-2- node-0-3-", "a range ends with the Job"},
		{render.PodsOptions{Indexes: &render.IndexRange{First: 7, Last: 9}}, "",
			"an index that no Job has selects nothing"},
	} {
		if got := podNames(pods(t, js, c.opts)); got != c.want {
			t.Errorf("%+v: %s\nwant %s\n%s", c.opts, got, c.want, c.reason)
		}
	}
	for _, c := range []struct {
		js   *jobset.JobSet
		opts render.PodsOptions
		want string
	}{
		{nil, render.PodsOptions{}, "no JobSet"},
		{&jobset.JobSet{}, render.PodsOptions{}, "metadata.name"},
		{js, render.PodsOptions{Job: "llm-node-2"}, `"data", "node", "idle", "loop", "queue"`},
		{js, render.PodsOptions{Indexes: &render.IndexRange{First: 2, Last: 1}}, "2..1"},
		{js, render.PodsOptions{Indexes: &render.IndexRange{First: -1, Last: 1}}, "-1..1"},
	} {
		var errs []error
		for pod, err := range render.Pods(c.js, c.opts) {
			if pod != nil {
				t.Errorf("%+v: a Pod together with the error", c.opts)
			}
			errs = append(errs, err)
		}
		if len(errs) != 1 || errs[0] == nil || !strings.Contains(errs[0].Error(), c.want) {
			t.Errorf("%+v: %v, want one error with %s", c.opts, errs, c.want)
		}
	}
}

func TestPodsOptions_Select(t *testing.T) {
	for text, want := range map[string]render.PodsOptions{
		"":             {},
		"node":         {Job: "node"},
		"node/3":       {Job: "node", Indexes: &render.IndexRange{First: 3, Last: 3}},
		"llm-w-0/0..7": {Job: "llm-w-0", Indexes: &render.IndexRange{First: 0, Last: 7}},
		"/1":           {Indexes: &render.IndexRange{First: 1, Last: 1}},
		"node/all":     {Job: "node", AllIndexes: true},
		"/all":         {AllIndexes: true},
	} {
		got := render.PodsOptions{Job: "before", AllIndexes: true}
		if err := got.Select(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"node/", "node/x", "node/3..1", "a/b/0", "/-1"} {
		if err := new(render.PodsOptions).Select(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

// TestPods_OfNoJob asks for the Pods of Jobs of which the Job controller makes none.
func TestPods_OfNoJob(t *testing.T) {
	for field, want := range map[string]int{
		"managedBy: example.com/jobs":             0,
		"managedBy: kubernetes.io/job-controller": 2,
		"activeDeadlineSeconds: 0":                0,
		"activeDeadlineSeconds: 9223372036":       2,
		"activeDeadlineSeconds: 9223372037":       0,
		"activeDeadlineSeconds: 18446744074":      2,
	} {
		js := jobSet(t, strings.Replace(oneNode, "parallelism", field+"\n        parallelism", 1))
		if got := len(pods(t, js, render.PodsOptions{})); got != want {
			t.Errorf("with %s Pods yields %d, want %d", field, got, want)
		}
	}
}

func TestPodsStopsWhenAsked(t *testing.T) {
	js := jobSet(t, oneNode)
	huge := int32(2_000_000_000)
	js.Spec.ReplicatedJobs[0].Replicas = huge
	js.Spec.ReplicatedJobs[0].Template.Spec.Parallelism = &huge
	js.Spec.ReplicatedJobs[0].Template.Spec.Completions = &huge
	next, stop := iter.Pull2(render.Pods(js, render.PodsOptions{}))
	for range 3 {
		if pod, err, ok := next(); !ok || err != nil || pod == nil {
			t.Fatalf("%v, %v", err, ok)
		}
	}
	stop()
}
