package policy

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

func parsed(t *testing.T, text string) *Policy {
	t.Helper()
	p, found := Parse("trainweld.yaml", []byte(text))
	if found != nil {
		t.Fatal(found)
	}
	return p
}

func job(namespace, name, runtime string, labels map[string]string) *trainer.TrainJob {
	return &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec:       trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: runtime}},
	}
}

func TestApplies(t *testing.T) {
	x := map[string]string{"app": "x", "tier": "gold"}
	for _, tc := range []struct {
		of   string
		job  *trainer.TrainJob
		want bool
	}{
		{"{}", job("a", "b", "c", nil), true},
		{"{namespaces: [team-*]}", job("team-a", "b", "c", nil), true},
		{"{namespaces: [team-*]}", job("a-team-a", "b", "c", nil), false},
		{"{namespaces: [x, 'team-?']}", job("team-a", "b", "c", nil), true},
		{"{names: [llm-*]}", job("a", "llm-1", "c", nil), true},
		{"{names: [llm]}", job("a", "llm-1", "c", nil), false},
		{"{runtimes: [torch-*, mpi]}", job("a", "b", "mpi", nil), true},
		{"{runtimes: [torch-*, mpi]}", job("a", "b", "jax", nil), false},
		{"{labels: app=x}", job("a", "b", "c", x), true},
		{"{labels: 'app in (y, z)'}", job("a", "b", "c", x), false},
		{"{labels: 'app=x,tier!=gold'}", job("a", "b", "c", x), false},
		{"{labels: '!app'}", job("a", "b", "c", nil), true},
		{"{namespaces: [team-a], names: [b], runtimes: [c], labels: app}",
			job("team-a", "b", "c", x), true},
		{"{namespaces: [team-a], names: [b], runtimes: [d], labels: app}",
			job("team-a", "b", "c", x), false},
	} {
		p := parsed(t, "patches: [{file: a.yaml, for: "+tc.of+"}]\n")
		if got := p.Patches()[0].Applies(tc.job); got != tc.want {
			t.Errorf("%s: Applies(%s/%s of %s with %v) = %t, want %t", tc.of, tc.job.Namespace,
				tc.job.Name, tc.job.Spec.RuntimeRef.Name, tc.job.Labels, got, tc.want)
		}
	}
}

const managers = `managers:
  - name: a.example.com/a
    required: true
    for: {namespaces: [team-*]}
    paths: ['.spec.replicatedJobs[*].template.spec.template.spec.nodeSelector', '.metadata.labels["team"]', 'spec.replicatedJobs[node].template.spec.template.spec.containers[*].env']
  - name: b.example.com/b
`

// patches returns the patches of managers, each with the fields of a JobSet template.
func patches(t *testing.T, texts ...string) []trainer.RuntimePatch {
	t.Helper()
	var all []trainer.RuntimePatch
	for i := 0; i < len(texts); i += 2 {
		p := trainer.RuntimePatch{Manager: texts[i]}
		if texts[i+1] != "" {
			p.TrainingRuntimeSpec = &trainer.TrainingRuntimeSpecPatch{
				Template: &trainer.JobSetTemplatePatch{}}
			if err := yaml.UnmarshalStrict([]byte(texts[i+1]),
				p.TrainingRuntimeSpec.Template); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, p)
	}
	return all
}

func inPod(job, spec string) string {
	return fmt.Sprintf(
		"spec: {replicatedJobs: [{name: %s, template: {spec: {template: {spec: %s}}}}]}", job, spec)
}

func TestCheck(t *testing.T) {
	const a, b = "a.example.com/a", "b.example.com/b"
	for _, tc := range []struct {
		name      string
		policy    string
		namespace string
		patches   []trainer.RuntimePatch
		want      []string
	}{
		{name: "in order", patches: patches(t, a, "", b, "")},
		{name: "no patches, nothing required", patches: nil},
		{name: "a required manager is missing", namespace: "team-a", patches: patches(t, b, ""),
			want: []string{"TW233 .spec.runtimePatches"}},
		{name: "many required managers are missing",
			policy: "managers:\n" + entries(200, "- {name: m.io/a%d, required: true}\n"),
			want:   slices.Repeat([]string{"TW233 .spec.runtimePatches"}, mostMissing+1)},
		{name: "a required manager is present", namespace: "team-a", patches: patches(t, a, "")},
		{name: "an unknown manager", patches: patches(t, a, "", "c.example.com/c", ""),
			want: []string{"TW230 .spec.runtimePatches[1].manager"}},
		{name: "the other order", patches: patches(t, b, "", a, ""),
			want: []string{"TW231 .spec.runtimePatches[1].manager"}},
		{name: "no managers in the policy", policy: "severities: {TW541: off}\n",
			patches: patches(t, "c.example.com/c", "")},
		{name: "allowed fields",
			patches: patches(t, a, inPod("x", "{nodeSelector: {pool: a, zone: b}}"), a,
				"metadata: {labels: {team: a}}")},
		{name: "an item that a pattern names",
			patches: patches(
				t, a, inPod("node", "{containers: [{name: any, env: [{name: A, value: b}]}]}"))},
		{
			name: "another item",
			patches: patches(
				t, a, inPod("other", "{containers: [{name: any, env: [{name: A, value: b}]}]}")),
			want: []string{
				`TW232 .spec.replicatedJobs[name="other"].template.spec.template.spec.containers[name="any"].env[name="A"].value`},
		},
		{
			name: "another field and another key",
			patches: patches(t, a, "metadata: {labels: {team: a, app: x}}", a,
				inPod("x", "{serviceAccountName: s, nodeSelector: {pool: a}}")),
			want: []string{
				`TW232 .metadata.labels["app"]`,
				`TW232 .spec.replicatedJobs[name="x"].template.spec.template.spec.serviceAccountName`},
		},
		{
			name:    "a list that merges as a whole",
			patches: patches(t, a, inPod("x", "{tolerations: [{key: a}]}")),
			want: []string{
				`TW232 .spec.replicatedJobs[name="x"].template.spec.template.spec.tolerations`},
		},
		{name: "a manager without paths",
			patches: patches(t, b, inPod("x", "{serviceAccountName: s}"))},
		{
			name: "an item that is its name",
			patches: patches(
				t, a, inPod("x",
					"{schedulingGates: [{name: g}, {name: h}], nodeSelector: {a: b}}")),
			want: []string{
				`TW232 .spec.replicatedJobs[name="x"].template.spec.template.spec.schedulingGates[name="g"]`,
				`TW232 .spec.replicatedJobs[name="x"].template.spec.template.spec.schedulingGates[name="h"]`,
			},
		},
		{
			name:    "an item without a field",
			patches: patches(t, a, inPod("x", "{containers: [{name: node}]}")),
			want: []string{
				`TW232 .spec.replicatedJobs[name="x"].template.spec.template.spec.containers[name="node"]`},
		},
		{name: "an item without a field, with an allowed one within",
			patches: patches(t, a, inPod("node", "{containers: [{name: node}]}"))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := managers
			if tc.policy != "" {
				text = tc.policy
			}
			var got []string
			for _, f := range parsed(t, text).Check(job(tc.namespace, "llm", "r", nil),
				tc.patches) {
				got = append(got, fmt.Sprintf("%s %s", f.Code, f.Path))
				if f.Object.Name != "llm" || f.Remedy.Text == "" || f.Message == "" {
					t.Errorf("the finding %v has no object, message or remedy", f)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("Check finds %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCheckField(t *testing.T) {
	const a, b = "a.example.com/a", "b.example.com/b"
	for _, tc := range []struct {
		name, policy, manager, path string
		want                        string
	}{
		{name: "an allowed label", manager: a, path: `.spec.template.metadata.labels["team"]`},
		{name: "another label", manager: a, path: `.spec.template.metadata.labels["app"]`,
			want: "TW232"},
		{name: "within an allowed field", manager: a,
			path: `.spec.template.spec.replicatedJobs[name="x"].template.spec.template.spec.nodeSelector["zone"]`},
		{name: "a path without the template is not the JobSet's", manager: a,
			path: `.metadata.labels["team"]`, want: "TW232"},
		{name: "a field outside of the template", manager: a, path: ".spec.mlPolicy.numNodes",
			want: "TW232"},
		{name: "a manager without paths", manager: b, path: ".spec.mlPolicy.numNodes"},
		{name: "an unknown manager", manager: "c.example.com/c", path: ".spec.mlPolicy.numNodes",
			want: "TW230"},
		{name: "no managers in the policy", policy: "severities: {TW541: off}\n",
			manager: "c.example.com/c", path: ".spec.mlPolicy.numNodes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path, err := fieldpath.ParsePath(tc.path)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if f := parsed(t, cmp.Or(tc.policy, managers)).CheckField(tc.manager, path); f != nil {
				if got = string(f.Code); f.Severity != finding.Error ||
					f.Path.String() != tc.path || f.Remedy.Text == "" || f.Message == "" {
					t.Errorf("the finding is %v, want an error at %s with a message and a remedy",
						f, tc.path)
				}
			}
			if got != tc.want {
				t.Errorf("CheckField finds %q, want %q", got, tc.want)
			}
		})
	}
}
