package admission_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

const idleRuntime = `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec:
	template:
		metadata: {labels: {a: x}}
		spec:
			replicatedJobs:
			- name: node
				template:
					metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
					spec:
						template:
							spec:
								nodeSelector: {a: x}
								tolerations: [{key: a}]
								volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}]
								imagePullSecrets: [{name: a}]
								containers:
								- {name: node, image: x, env: [{name: a, value: x}, {name: b, value: x}]}
								- {name: side, image: x, resources: {limits: {cpu: 1}}}
`

// TestIdle_Law holds that random patches are idle if and only if the result is the same without
// them. Patches that share values, and those of a conflict, are exceptions.
func TestIdle_Law(t *testing.T) {
	runtime := admitted(t, idleRuntime)
	var spec trainer.ClusterTrainingRuntime
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(idleRuntime, "\t", "  ")),
		&spec); err != nil {
		t.Fatal(err)
	}
	template := &spec.Spec.Template
	reported, silent := 0, 0
	cases := testenv.Cases(t, 10_000)
	for seed := range cases {
		r := rand.New(rand.NewPCG(seed, 1))
		managers := 1 + r.IntN(3)
		var patches []trainer.RuntimePatch
		for i := range managers {
			var patch trainer.RuntimePatch
			text := fmt.Sprintf(
				`{"manager":"example.com/m%d","trainingRuntimeSpec":{"template":%s}}`, i,
				drawnPatch(r))
			if err := json.Unmarshal([]byte(text), &patch); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			patches = append(patches, patch)
		}
		result := merged(t, template, patches)
		found := admission.Check(
			t.Context(), admission.Input{TrainJob: object(t, jobYAML("\ttrainer: {}\n")),
				Runtime: runtime, Patches: patches})
		for i := range patches {
			isIdle := equality.Semantic.DeepEqual(
				result, merged(t, template, slices.Delete(slices.Clone(patches), i, i+1)))
			isReported := slices.ContainsFunc(found, func(f finding.Finding) bool {
				_, manager, _ := f.Path[len(f.Path)-1].Item()
				return f.Code == codes.IdlePatch && manager == patches[i].Manager
			})
			inConflict := slices.ContainsFunc(found, func(f finding.Finding) bool {
				return f.Code == codes.Overlap &&
					slices.ContainsFunc(f.Claims, func(c merge.Claim) bool {
						return c.Owner == merge.Manager(patches[i].Manager)
					})
			})
			if isReported {
				reported++
			} else {
				silent++
			}
			if isReported && (!isIdle || inConflict) || isIdle && !isReported && !inConflict &&
				!sharesValue(patches, i) {
				text, _ := json.Marshal(patches)
				t.Fatalf("seed %d: patch %d is reported: %v, and idle: %v\n%s", seed, i, isReported,
					isIdle, text)
			}
		}
	}
	if least := int(cases / 20); reported < least || silent < least {
		t.Errorf("%d patches are reported and %d are not: the test draws too few of one", reported,
			silent)
	}
}

// TestIdle_SkippedJob holds that a patch which the release skips, because the runtime lacks its
// job, is neither empty nor idle.
func TestIdle_SkippedJob(t *testing.T) {
	const labels = `template: {metadata: {labels: {team: ml}}}`
	runtime, v22 := admitted(t, idleRuntime),
		release.Known()[slices.IndexFunc(release.Known(), func(r release.Release) bool {
			return r.Name == "2.2"
		})]
	for _, tc := range []struct {
		jobs string
		want []finding.Code
	}{
		{"[{name: nodes, " + labels + "}]", []finding.Code{codes.UnknownJob}},
		{"[{name: nodes}]", []finding.Code{codes.UnknownJob}},
		{"[{name: nodes, " + labels + "}, {name: node}]", []finding.Code{codes.UnknownJob}},
		{"[{name: nodes, " + labels + "}, {name: node, " + labels + "}]",
			[]finding.Code{codes.UnknownJob}},
		{"[{name: node}]", []finding.Code{codes.IdlePatch}},
	} {
		patch := "\truntimePatches: [{manager: example.com/m, trainingRuntimeSpec: {template: " +
			"{spec: {replicatedJobs: " + tc.jobs + "}}}}]\n"
		found := admission.Check(
			t.Context(), admission.Input{
				Release: &v22, TrainJob: object(t, jobYAML("\ttrainer: {}\n"+patch)),
				Runtime: runtime})
		var got []finding.Code
		for _, f := range found {
			got = append(got, f.Code)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v\n%v", tc.jobs, got, tc.want, found)
		}
	}
}

func merged(t *testing.T, template *trainer.JobSetTemplateSpec,
	patches []trainer.RuntimePatch) *trainer.JobSetTemplateSpec {
	t.Helper()
	result, err := runtimepatch.Apply(template, patches, runtimepatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &result.Template
}

// sharesValue reports whether another patch has a leaf of a patch, at the same place.
func sharesValue(patches []trainer.RuntimePatch, i int) bool {
	own := leaves(patches[i])
	for j := range patches {
		for leaf, is := range leaves(patches[j]) {
			if j != i && is && own[leaf] {
				return true
			}
		}
	}
	return false
}

func leaves(patch trainer.RuntimePatch) map[string]bool {
	text, _ := json.Marshal(patch.TrainingRuntimeSpec)
	var value any
	_ = json.Unmarshal(text, &value)
	found := map[string]bool{}
	var walk func(at string, value any)
	walk = func(at string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for name, field := range v {
				if name != "name" {
					walk(at+"."+name, field)
				}
			}
			if len(v) < 2 && (len(v) == 0 || v["name"] != nil) {
				found[at] = true
			}
		case []any:
			for _, item := range v {
				fields, _ := item.(map[string]any)
				at := fmt.Sprint(at, "/", fields["name"], fields["key"])
				found[at] = found[at] || fields["name"] == "c" // which the runtime lacks
				walk(at, item)
			}
		default:
			found[fmt.Sprint(at, "=", v)] = true
		}
	}
	walk("", value)
	return found
}

// drawnPatch draws a patch of the JobSet template in any order. It has values and items that
// idleRuntime has, has otherwise, or lacks.
func drawnPatch(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	items := func(draw func(name string) string, names ...string) string {
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		var list []string
		for _, name := range names[:r.IntN(len(names))+r.IntN(2)] {
			list = append(list, draw(name))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	value := func(name string) string { return fmt.Sprintf(`"%s":"%s"`, name, pick("x", "x", "y")) }
	some := func(fields ...string) string {
		var kept []string
		for _, field := range fields {
			if r.IntN(4) == 0 {
				kept = append(kept, field)
			}
		}
		return "{" + strings.Join(kept, ",") + "}"
	}
	named := func(name string) string { return fmt.Sprintf(`{"name":"%s"}`, name) }
	env := func(name string) string { return fmt.Sprintf(`{"name":"%s",%s}`, name, value("value")) }
	container := func(name string) string {
		fields := some(value("workingDir"), `"env":`+items(env, "a", "b", "c"),
			`"resources":{"limits":{"cpu":`+pick("1", `"1000m"`, "2")+`}}`)
		return strings.Replace(strings.Replace(fields, "{", fmt.Sprintf(`{"name":"%s",`, name), 1),
			",}", "}", 1)
	}
	pod := some(
		`"nodeSelector":`+some(value("a"), value("b")),
		`"tolerations":`+pick(`[{"key":"a"}]`, `[{"key":"b"}]`, `[]`),
		`"volumes":`+items(func(name string) string {
			return fmt.Sprintf(`{"name":"%s",%s}`, name,
				pick(`"emptyDir":{}`, `"emptyDir":{"medium":"Memory"}`))
		}, "a", "b", "c"),
		`"imagePullSecrets":`+items(named, "a", "b"),
		`"containers":`+items(container, "node", "side"),
	)
	jobs := fmt.Sprintf(
		`"spec":{"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"spec":%s}}}}]}`,
		pod)
	return "{" + pick(`"metadata":{"labels":`+some(value("a"), value("b"))+`},`, "") + jobs + "}"
}
