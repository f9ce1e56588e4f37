package vap_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/trainweld/trainweld/cmd/internal/vap"
	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/policy"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// paths are fields that a policy allows, from a whole branch to one key.
var paths = []string{
	".metadata.labels", ".metadata.annotations[team]", ".spec.replicatedJobs[*].template.metadata",
	".spec.replicatedJobs[*].template.spec.template.spec",
	".spec.replicatedJobs[*].template.spec.template.spec.nodeSelector",
	".spec.replicatedJobs[*].template.spec.template.spec.tolerations",
	".spec.replicatedJobs[node].template.spec.template.spec.containers[*].env",
	".spec.replicatedJobs[node].template.spec.template.metadata.labels[app]",
	".spec.replicatedJobs[*].template.spec.template.spec.volumes[*].emptyDir",
	".spec.replicatedJobs[*].template.spec.template.spec.containers[node]",
	".spec.replicatedJobs[*].template.spec.template.metadata.finalizers[f.example/1]",
	".spec.replicatedJobs[*].template.metadata.finalizers[*]",
}

// draw returns a policy for some of the managers of the random patches, and one more.
func draw(r *rand.Rand) string {
	names := []string{"example.com/required"}
	for _, name := range []string{"a.example/queue", "b.example/sdk", "c.example/platform",
		"d.example/webhook", "e.example/late"} {
		if r.IntN(3) > 0 {
			names = append(names, name)
		}
	}
	if r.IntN(4) > 0 {
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	var b strings.Builder
	b.WriteString("managers:\n")
	for _, name := range names {
		fmt.Fprintf(&b, "- name: %s\n", name)
		if name == "example.com/required" {
			b.WriteString("  required: true\n")
			if r.IntN(2) == 0 {
				b.WriteString(
					"  for: {namespaces: ['team-?', eu*], labels: 'tier in (a,b),!test'}\n")
			}
		}
		if r.IntN(2) == 0 {
			allowed, _ := json.Marshal(pick(r, paths))
			fmt.Fprintf(&b, "  paths: %s\n", allowed)
		}
		if r.IntN(3) > 0 {
			b.WriteString("  users: [ann]\n  serviceAccounts: [kueue-system/kueue]\n")
		}
	}
	return b.String()
}

func pick(r *rand.Rand, list []string) []string {
	some := slices.Clone(list)
	r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return some[:1+r.IntN(4)]
}

// TestJudge_Agrees compares the expressions of a policy with the policy. They reject violations,
// changes by a user to another manager's patch, and values on which managers disagree. They reject
// no other TrainJob.
func TestJudge_Agrees(t *testing.T) {
	first := testenv.Seed(t)
	seen := map[string]int{}
	for i := range testenv.Cases(t, 100) {
		r := rand.New(rand.NewPCG(first+i, 1))
		text := draw(r)
		p, found := policy.Parse("trainweld.yaml", []byte(text))
		if found != nil {
			t.Fatalf("%s\n%v", text, found)
		}
		generated := policy.AdmissionPolicies(p, "trainjobs")
		expressions, err := vap.Compile(generated.Policies...)
		if err != nil || len(generated.Left) != 2 || generated.Lowered != nil {
			t.Fatalf("%s\n%v %+q", text, err, generated)
		}
		for j := range uint64(50) {
			seed := first + 100*i + j
			c := fuzz.Merge(seed, fuzz.Options{Checked: true, Most: 4})
			before := fuzz.Merge(seed/2, fuzz.Options{Checked: true, Most: 4})
			stored(c.Patches)
			stored(before.Patches)
			result, err := runtimepatch.Apply(nil, c.Patches, runtimepatch.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if hasNull(encoded(t, c.Patches)) {
				continue // of a required field, which the definition rejects
			}
			job := &trainer.TrainJob{
				ObjectMeta: metav1.ObjectMeta{
					Name: "llm", Namespace: []string{"team-a", "team-ab", "eu1"}[r.IntN(3)],
					Labels: []map[string]string{{"tier": "a"}, {"tier": "b", "test": ""},
						nil}[r.IntN(3)]}}
			job.Spec.RuntimeRef.Name, job.Spec.RuntimePatches = "rt", before.Patches
			old := tree(t, job)
			job.Spec.RuntimePatches = c.Patches
			if j%2 == 0 {
				old = nil
			}
			user := []string{"ann", "bob", "system:serviceaccount:kueue-system:kueue"}[r.IntN(3)]
			verdict := expressions.Validate(t.Context(), tree(t, job), old, user)
			if verdict.Skipped {
				if old == nil || !reflect.DeepEqual(old, tree(t, job)) {
					t.Errorf("seed %d: a change of patches is not judged", seed)
				}
				continue
			}
			rejected := verdict.Rejected
			got, want := map[string]bool{}, map[string]bool{}
			for _, r := range rejected {
				for message := range strings.SplitSeq(r.Message, "; ") {
					got[kind(message)] = true
				}
			}
			for _, f := range p.Check(job, c.Patches) {
				want[string(f.Code)] = true
			}
			for _, one := range conflict.Find(result.History) {
				if code := one.Finding(fieldpath.Object{}).Code; code == codes.Overlap {
					want[string(code)] = true
				}
			}
			for _, manager := range p.Managers() {
				if user == "bob" && hasUsers(text, manager) &&
					!reflect.DeepEqual(entry(tree(t, job), manager), entry(old, manager)) {
					want["users"] = true
				}
			}
			for k := range want {
				seen[k]++
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				patches, _ := json.Marshal(c.Patches)
				t.Errorf("seed %d, user %s: refused for %v, want %v\n%v\n%s\n%.3000s", seed, user,
					got, want, rejected, text, patches)
			}
		}
	}
	for _, kind := range []string{"TW230", "TW231", "TW232", "TW233", "TW300", "users"} {
		if seen[kind] == 0 {
			t.Errorf("no case is refused for %s", kind)
		}
	}
}

// TestJudge_Cost judges sixteen patches, each of ten jobs with ten containers: half of the API
// server's limit must do.
func TestJudge_Cost(t *testing.T) {
	expressions, job := large(t, 10)
	verdict := expressions.Validate(t.Context(), job, nil, "ann")
	rejected, cost := verdict.Rejected, verdict.Cost
	if t.Log(cost); rejected != nil || cost.Call > celconfig.PerCallLimit/2 ||
		cost.Request > celconfig.RuntimeCELCostBudget/2 {
		t.Errorf("Validate() = %v at %+v, want half of %d and of %d", rejected, cost,
			celconfig.PerCallLimit, celconfig.RuntimeCELCostBudget)
	}
}

// BenchmarkValidate validates a TrainJob with sixteen patches, of one job and of ten jobs with ten
// containers each.
func BenchmarkValidate(b *testing.B) {
	for _, n := range []int{1, 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			expressions, job := large(b, n)
			for b.Loop() {
				expressions.Validate(b.Context(), job, nil, "ann")
			}
		})
	}
}

// large returns a policy of sixteen managers and a TrainJob. Each manager sets fields of n jobs
// with n containers.
func large(t testing.TB, n int) (*vap.Expressions, map[string]any) {
	t.Helper()
	var text strings.Builder
	text.WriteString("managers:\n")
	var patches []any
	for m := range 16 {
		name := fmt.Sprintf("example.com/m%d", m)
		fmt.Fprintf(&text,
			"- name: %s\n  paths: ['%s', "+
				"'.spec.replicatedJobs[*].template.spec.template.metadata.labels', "+
				"'.spec.replicatedJobs[*].template.spec.template.spec.containers[*].env']\n  "+
				"users: [ann]\n", name, strings.Join(paths[:6], "', '"))
		var jobs []any
		for j := range n {
			var containers []any
			for c := range n {
				containers = append(
					containers, map[string]any{
						"name": fmt.Sprint("c", c),
						"env":  []any{map[string]any{"name": fmt.Sprint("E", m), "value": "v"}}})
			}
			pod := map[string]any{
				"metadata": map[string]any{"labels": map[string]any{fmt.Sprint("l", m): "v"}},
				"spec": map[string]any{
					"nodeSelector": map[string]any{"pool": "a", fmt.Sprint("n", m): "v"},
					"containers":   containers,
					"tolerations":  []any{map[string]any{"key": "k", "operator": "Exists"}}},
			}
			jobs = append(
				jobs, map[string]any{
					"name":     fmt.Sprint("j", j),
					"template": map[string]any{"spec": map[string]any{"template": pod}}})
		}
		patches = append(
			patches, map[string]any{
				"manager": name,
				"trainingRuntimeSpec": map[string]any{
					"template": map[string]any{"spec": map[string]any{"replicatedJobs": jobs}}}})
	}
	p, found := policy.Parse("trainweld.yaml", []byte(text.String()))
	if found != nil {
		t.Fatal(found)
	}
	expressions, err := vap.Compile(policy.AdmissionPolicies(p, "trainjobs").Policies...)
	if err != nil {
		t.Fatal(err)
	}
	return expressions,
		map[string]any{"metadata": map[string]any{"name": "llm", "namespace": "team-a"},
			"spec": map[string]any{"runtimeRef": map[string]any{"name": "rt"},
				"runtimePatches": patches}}
}

// hasUsers reports whether the policy's text names users of a manager.
func hasUsers(text, manager string) bool {
	_, after, _ := strings.Cut(text, "- name: "+manager+"\n")
	entry, _, _ := strings.Cut(after, "- name:")
	return strings.Contains(entry, "users:")
}

// entry returns the patch of a manager in an object, without its time.
func entry(object map[string]any, manager string) any {
	spec, _ := object["spec"].(map[string]any)
	patches, _ := spec["runtimePatches"].([]any)
	for _, p := range patches {
		if p := p.(map[string]any); p["manager"] == manager {
			if of := p["trainingRuntimeSpec"]; of != nil {
				return of
			}
			return map[string]any{} // an empty one says no more
		}
	}
	return nil
}

// stored removes the fields that the definition prunes.
func stored(patches []trainer.RuntimePatch) {
	prune := func(m *metav1.ObjectMeta) {
		if m != nil {
			*m = metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, Labels: m.Labels,
				Annotations: m.Annotations, Finalizers: m.Finalizers}
		}
	}
	for _, p := range patches {
		if p.TrainingRuntimeSpec == nil || p.TrainingRuntimeSpec.Template == nil {
			continue
		}
		t := p.TrainingRuntimeSpec.Template
		prune(t.Metadata)
		if t.Spec == nil {
			continue
		}
		for _, j := range t.Spec.ReplicatedJobs {
			if j.Template == nil {
				continue
			}
			prune(j.Template.Metadata)
			if j.Template.Spec == nil || j.Template.Spec.Template == nil {
				continue
			}
			pod := j.Template.Spec.Template
			prune(pod.Metadata)
			if pod.Spec == nil {
				continue
			}
			for i := range pod.Spec.Volumes {
				if e := pod.Spec.Volumes[i].Ephemeral; e != nil && e.VolumeClaimTemplate != nil {
					prune(&e.VolumeClaimTemplate.ObjectMeta)
				}
			}
		}
	}
}

// kind returns the code for the problem in a message.
func kind(message string) string {
	for part, kind := range map[string]string{
		"lists no manager": "TW230", "must have the order": "TW231", " set .": "TW232",
		"Required value: ": "TW233", "different values": "TW300", "change the patch": "users"} {
		if strings.Contains(message, part) {
			return kind
		}
	}
	return message
}

func tree(t *testing.T, job *trainer.TrainJob) map[string]any {
	t.Helper()
	return encoded(t, job).(map[string]any)
}

func encoded(t *testing.T, value any) (tree any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func hasNull(value any) bool {
	switch of := value.(type) {
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(of)), hasNull)
	case []any:
		return slices.ContainsFunc(of, hasNull)
	}
	return value == nil
}
