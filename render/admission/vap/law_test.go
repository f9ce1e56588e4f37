package vap_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/admission/vap"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/policy"
)

// oneOf draws one of some values.
func oneOf[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

const pod = ".spec.replicatedJobs[*].template.spec.template"

// formsOfPaths are all the forms in which a path names a field, a key, an item or an element.
var formsOfPaths = []string{
	pod + ".spec.nodeSelector", pod + ".spec.nodeSelector[*]", pod + ".spec.nodeSelector[pool]", pod + `.spec.nodeSelector["a"]`,
	pod + ".metadata.labels[*]", pod + ".metadata.annotations", ".metadata.labels[a]", ".metadata.annotations[*]",
	".spec.replicatedJobs[node].template.metadata.labels", ".spec.replicatedJobs[*].template.metadata.annotations[*]",
	pod + ".spec.serviceAccountName", pod + ".spec.tolerations", pod + ".spec.containers[node]", pod + ".spec.containers[*].env",
	pod + ".spec.volumes[*].csi.volumeAttributes[*]", pod + ".spec.volumes[a]", pod + ".metadata.finalizers[*]", "nodeSelector[*]", pod + ".spec",
}

// drawForms returns a policy with paths of all forms, and selectors.
func drawForms(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("managers:\n")
	for _, i := range r.Perm(3) {
		fmt.Fprintf(&b, "- name: example.com/m%d\n", i)
		if r.IntN(4) == 0 {
			fmt.Fprintf(&b, "  required: true\n  for: {labels: %q, names: ['l*']}\n", oneOf(r, "n>5", "n<7,tier", "tier!=a", "!tier", "n>999999999999999998", "tier in (a,)", "n"))
		}
		if r.IntN(5) > 0 {
			allowed, _ := json.Marshal(pick(r, formsOfPaths))
			fmt.Fprintf(&b, "  paths: %s\n", allowed)
		}
	}
	if r.IntN(5) == 0 {
		b.WriteString("severities: {TW300: warning}\n")
	}
	return b.String()
}

// drawMap returns a map of words, with directives, nulls or neither.
func drawMap(r *rand.Rand) any {
	if r.IntN(12) == 0 {
		return nil
	}
	m := map[string]any{}
	for range r.IntN(3) {
		m[oneOf(r, "a", "pool", "app")] = oneOf[any](r, "x", "y", "x", nil)
	}
	if r.IntN(5) == 0 {
		m[oneOf(r, "$patch", "$patch", "$retainKeys", "$setElementOrder/a", "$deleteFromPrimitiveList/a", "$x")] = oneOf[any](r, "delete", "replace", "merge", "x", nil)
	}
	return m
}

// drawJob returns a TrainJob as a request has it.
func drawJob(r *rand.Rand) map[string]any {
	metadata := func() any {
		m := map[string]any{}
		for _, name := range []string{"labels", "annotations"} {
			if r.IntN(3) == 0 {
				m[name] = drawMap(r)
			}
		}
		if r.IntN(8) == 0 {
			m["finalizers"] = oneOf[any](r, nil, []any{}, []any{"a.example/b"})
		}
		return oneOf[any](r, m, m, m, nil)
	}
	var patches []any
	for _, i := range r.Perm(4)[:r.IntN(4)] {
		spec := map[string]any{}
		if r.IntN(2) == 0 {
			spec["nodeSelector"] = drawMap(r)
		}
		for name, values := range map[string][]any{
			"serviceAccountName": {"a", "b", nil}, "tolerations": {[]any{map[string]any{"key": "a"}}, []any{}, nil},
			"containers": {[]any{map[string]any{"name": "node", "env": []any{map[string]any{"name": "A", "value": "b"}}}}, []any{map[string]any{"name": "other"}}, nil},
			"volumes":    {[]any{map[string]any{"name": "a", "csi": map[string]any{"driver": "d", "volumeAttributes": drawMap(r)}}}, nil},
		} {
			if r.IntN(4) == 0 {
				spec[name] = oneOf(r, values...)
			}
		}
		job := map[string]any{"name": oneOf(r, "node", "node", "other"), "template": map[string]any{
			"metadata": metadata(), "spec": map[string]any{"template": map[string]any{"metadata": metadata(), "spec": spec}},
		}}
		patches = append(patches, map[string]any{"manager": fmt.Sprintf("example.com/m%d", i), "trainingRuntimeSpec": map[string]any{
			"template": map[string]any{"metadata": metadata(), "spec": map[string]any{"replicatedJobs": []any{job}}},
		}})
	}
	labels := map[string]any{}
	if r.IntN(2) == 0 {
		labels["n"] = oneOf[any](r, "6", "5", "007", "1000000000000000000", "9223372036854775807", "9223372036854775808", "00000000000000000000000000000006", "x6", "", nil)
	}
	if r.IntN(2) == 0 {
		labels["tier"] = oneOf[any](r, "a", "b", "", nil)
	}
	return map[string]any{
		"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
		"metadata": map[string]any{"name": oneOf(r, "llm", "x"), "namespace": "team-a", "labels": oneOf[any](r, labels, labels, labels, nil)},
		"spec":     map[string]any{"runtimeRef": map[string]any{"name": "rt"}, "runtimePatches": patches},
	}
}

// TestAdmitted holds the law of the generated objects: what the expressions admit, check accepts. The requests have directives, nulls
// and odd labels, and are stored as the API server stores them.
func TestAdmitted(t *testing.T) {
	first := testenv.Seed(t)
	counts := map[string]int{}
	for i := range testenv.Cases(t, 400) {
		r := rand.New(rand.NewPCG(first+i, 2))
		text := drawForms(r)
		p, found := policy.Parse("trainweld.yaml", []byte(text))
		if found != nil {
			t.Fatalf("%s\n%v", text, found)
		}
		expressions, err := vap.Compile(policy.AdmissionPolicies(p, "trainjobs").Policies...)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		for range 50 {
			stored, ok := admission.Stored(nil, drawJob(r), "team-a")
			if !ok {
				t.Fatal("the TrainJob cannot be decoded")
			}
			data, err := json.Marshal(stored)
			if err != nil {
				t.Fatal(err)
			}
			job := &trainer.TrainJob{}
			if err := json.Unmarshal(data, job); err != nil {
				counts["not decoded"]++ // a null in a map, which the definition rejects
				continue
			}
			if hasNull(stored) {
				counts["null that stays"]++
				continue
			}
			verdict := expressions.Validate(t.Context(), stored, nil, "ann")
			found := p.Check(job, job.Spec.RuntimePatches)
			found = append(found, render.Conflicts(render.Input{TrainJob: job}, render.Options{}).Of(codes.Overlap)...)
			refuses := found.Where(func(f finding.Finding) bool { return p.Severity(f) == finding.Error }) != nil
			hasDirective := false
			for _, one := range verdict.Rejected {
				if hasDirective = hasDirective || policy.IsBeyondCheck(one.Expression); strings.Contains(one.Message, "no such") {
					t.Errorf("%s\n%s\n%v", text, data, one)
				}
			}
			if strings.Contains(string(data), `"$`) != hasDirective && !strings.Contains(text, "TW300") {
				t.Errorf("a directive: %t\n%s\n%s", hasDirective, text, data)
			}
			admits := len(verdict.Rejected) == 0
			counts[fmt.Sprintf("admitted %t, refused by check %t, directive %t", admits, refuses, hasDirective)]++
			if admits && refuses || !admits && !refuses && !hasDirective {
				t.Errorf("seed %d: admitted %t, and check: %v\n%v\n%s\n%s", first+i, admits, found, verdict.Rejected, text, data)
			}
		}
	}
	t.Log(counts)
	for _, want := range []string{
		"admitted true, refused by check false, directive false", "admitted false, refused by check true, directive false", "admitted false, refused by check true, directive true",
	} {
		if counts[want] == 0 {
			t.Errorf("no case is %s", want)
		}
	}
}
