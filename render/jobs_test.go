package render_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render"
)

// jobSet reads a JobSet whose head is always the same. The tests give the text below spec.
// Tests about metadata give the whole text from metadata on.
func jobSet(t testing.TB, text string) *jobset.JobSet {
	t.Helper()
	if !strings.HasPrefix(text, "metadata:") {
		text = "metadata: {name: llm, namespace: team}\nspec:\n" + text
	}
	js := &jobset.JobSet{}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "\t", "  ")), js); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return js
}

const oneNode = `
  replicatedJobs:
  - name: node
    template:
      spec:
        parallelism: 2
        completions: 2
        template:
          spec:
            containers: [{name: node, image: trainer:1}]
`

// jobs renders and wants no error.
func jobs(t testing.TB, js *jobset.JobSet, opts render.JobsOptions) *render.JobsOutput {
	t.Helper()
	out, err := render.Jobs(js, opts)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestJobsWait(t *testing.T) {
	const three = `
  replicatedJobs:
  - {name: data, template: {spec: {template: {spec: {}}}}}
  - {name: model, template: {spec: {template: {spec: {}}}}}
  - {name: node, replicas: 2, template: {spec: {template: {spec: {}}}}}
`
	complete, ready := jobset.DependencyComplete, jobset.DependencyReady
	for _, c := range []struct {
		name, reason string
		dependsOn    map[int][]jobset.DependsOn
		inOrder      bool
		suspend      bool
		want, later  string // the Jobs and, in brackets, what they wait for
		wantErr      bool
	}{
		{
			name: "any order", reason: "nothing waits by default",
			want: "data-0 model-0 node-0 node-1",
		}, {
			name:   "complete and ready",
			reason: "dependsOn is told as it is written; every Job is there",
			dependsOn: map[int][]jobset.DependsOn{
				2: {{Name: "data", Status: complete}, {Name: "model", Status: ready}}},
			want: "data-0 model-0 node-0[data Complete, model Ready] node-1[data Complete, " +
				"model Ready]",
		}, {
			name: "in order", reason: "each replicated job starts when the one before it is ready",
			inOrder: true,
			want:    "data-0 model-0[data Ready] node-0[model Ready] node-1[model Ready]",
		}, {
			name: "suspended", reason: "a suspended JobSet creates no Job that depends on others",
			suspend:   true,
			dependsOn: map[int][]jobset.DependsOn{1: {{Name: "data", Status: complete}}},
			want:      "data-0 node-0 node-1", later: "model-0[data Complete]",
		}, {
			name:    "suspended in order",
			reason:  "a suspended JobSet creates all Jobs at once where they start in order",
			suspend: true, inOrder: true,
			want: "data-0 model-0[data Ready] node-0[model Ready] node-1[model Ready]",
		}, {
			name: "itself",
			reason: "JobSet lets a job depend on itself, and it never comes; nor does what " +
				"depends on it",
			dependsOn: map[int][]jobset.DependsOn{1: {{Name: "model", Status: ready}},
				2: {{Name: "model", Status: complete}}},
			want:    "data-0",
			later:   "model-0[model Ready] node-0[model Complete] node-1[model Complete]",
			wantErr: true,
		}, {
			name: "unknown", reason: "a missing job never gets ready",
			dependsOn: map[int][]jobset.DependsOn{2: {{Name: "ghost", Status: ready}}},
			want:      "data-0 model-0", later: "node-0[ghost Ready] node-1[ghost Ready]",
			wantErr: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			js := jobSet(t, three)
			for i, dependsOn := range c.dependsOn {
				js.Spec.ReplicatedJobs[i].DependsOn = dependsOn
			}
			if c.inOrder {
				js.Spec.StartupPolicy = &jobset.StartupPolicy{StartupPolicyOrder: jobset.InOrder}
			}
			js.Spec.Suspend = &c.suspend
			out, err := render.Jobs(js, render.JobsOptions{})
			if (err != nil) != c.wantErr {
				t.Errorf("error %v: %s", err, c.reason)
			}
			if got := waits(out.Jobs); got != c.want {
				t.Errorf("Jobs  %s\nwant  %s\n%s", got, c.want, c.reason)
			}
			if got := waits(out.Later); got != c.later {
				t.Errorf("later %s\nwant  %s\n%s", got, c.later, c.reason)
			}
			for _, child := range slices.Concat(out.Jobs, out.Later) {
				if *child.Job.Spec.Suspend != c.suspend {
					t.Errorf("%s: suspend %v", child.Job.Name, *child.Job.Spec.Suspend)
				}
			}
		})
	}
}

func waits(children []render.ChildJob) string {
	var out []string
	for _, child := range children {
		text := strings.TrimPrefix(child.Job.Name, "llm-")
		var on []string
		for _, wait := range child.WaitsFor {
			on = append(on, wait.Name+" "+string(wait.Status))
		}
		if on != nil {
			text += "[" + strings.Join(on, ", ") + "]"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestJobSetUID(t *testing.T) {
	js := jobSet(t, oneNode)
	withUID := js.DeepCopy()
	withUID.UID = "its own"
	for _, c := range []struct {
		js     *jobset.JobSet
		option types.UID
		want   string
		reason string
	}{
		{js, "", "", "an unknown id is omitted"},
		{js, "given", "given", "the option fills it in"},
		{withUID, "", "its own", "a JobSet from a cluster has one"},
		{withUID, "given", "given", "the option has the last word"},
	} {
		out := jobs(t, c.js, render.JobsOptions{JobSetUID: c.option, OwnerReferences: true})
		job := out.Jobs[0].Job
		label, written := job.Spec.Template.Labels[jobset.JobSetUIDKey]
		if label != c.want || written != (c.want != "") ||
			string(job.OwnerReferences[0].UID) != c.want ||
			string(out.Service.OwnerReferences[0].UID) != c.want {
			t.Errorf("label %q, owner %v, want %q: %s", label, job.OwnerReferences, c.want,
				c.reason)
		}
		if jobs(t, c.js,
			render.JobsOptions{JobSetUID: c.option}).Jobs[0].Job.OwnerReferences != nil {
			t.Error("owner references nobody asked for")
		}
	}
}
