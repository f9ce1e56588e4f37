package upstream_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/admission/serverside"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// TestApplyAgain compares TW706 with what the API server and the webhook say of the next write: the
// same file applied server-side again, or the patch of a queue. The TrainJobs have values in many
// spellings. It fails if none is rejected, or none accepted.
func TestApplyAgain(t *testing.T) {
	server := latest(t)
	definition, err := release.Latest().Definition("TrainJob")
	if err != nil {
		t.Fatal(err)
	}
	applier, err := serverside.New(definition)
	if err != nil {
		t.Fatal(err)
	}
	runtime := respelledObject(
		t, `{apiVersion: trainer.kubeflow.org/v1alpha1, kind: ClusterTrainingRuntime, metadata: {name: plain}, spec: {template: {spec: {replicatedJobs: [{name: node, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: {containers: [{name: node, image: "a:1"}]}}}}}]}}}}`)
	stored, rejected, err := server.Apply(runtime, nil)
	if err != nil || rejected != nil {
		t.Fatal(rejected, err)
	}
	if err := server.Hold(stored); err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]int{}
	for seed := range uint64(*jobSets / 2) {
		text := respelledJob(rand.New(rand.NewPCG(seed, 29)))
		job := respelledObject(t, text)
		stored, rejected, err := server.Apply(job, nil)
		if err != nil {
			t.Fatal(err)
		}
		if rejected != nil {
			verdicts["not created"]++
			continue
		}
		found := admission.Check(
			t.Context(), admission.Input{TrainJob: respelledObject(t, text)}).Of(codes.Respelled)
		compare := func(write string, rejected []string, ours bool) {
			t.Helper()
			// a number that is no integer breaks the type, and hides the rule
			theirs := len(rejected) > 0
			verdicts[fmt.Sprintf("%s: upstream refuses %t, here %t", write, theirs, ours)]++
			if theirs != ours {
				t.Fatalf("seed %d, %s: upstream %q\nfound %v\n%s", seed, write, rejected, found,
					text)
			}
		}
		said := func(o upstream.Object) upstream.Object {
			return upstream.Object{"spec": asJSON(t, o)["spec"]}
		}
		fields, err := applier.Reapply(said(stored), said(job), said(job))
		if err != nil {
			t.Fatal(err)
		}
		again := asJSON(t, stored)
		again["spec"] = fields["spec"]
		if _, rejected, err = server.Apply(again, stored); err != nil {
			t.Fatal(err)
		}
		compare("apply again", rejected, slices.ContainsFunc(found, isOf("server-side apply")))
		if labels, _ := stored["metadata"].(upstream.Object)["labels"].(upstream.Object); labels != nil {
			queued := asJSON(t, stored)
			set(queued, append(list(queued, "spec", "runtimePatches"),
				upstream.Object{"manager": "kueue.x-k8s.io/manager"}), "spec", "runtimePatches")
			if _, rejected, err = server.Apply(queued, stored); err != nil {
				t.Fatal(err)
			}
			compare("a queue's patch", rejected, slices.ContainsFunc(found, isOf("queue's patch")))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(verdicts)) {
		t.Logf("%7d  %s", verdicts[key], key)
	}
	for _, write := range []string{"apply again", "a queue's patch"} {
		for _, refused := range []bool{true, false} {
			if key := fmt.Sprintf("%s: upstream refuses %t, here %t", write, refused,
				refused); verdicts[key] == 0 {
				t.Errorf("no case of %s", key)
			}
		}
	}
}

func isOf(write string) func(f finding.Finding) bool {
	return func(f finding.Finding) bool { return strings.Contains(f.Message, write) }
}

// respelledJob returns a suspended TrainJob with quantities in random spellings.
func respelledJob(r *rand.Rand) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	quantity := func() string {
		return pick("1", `"1"`, "1000m", `"1000m"`, "500m", `"0.5"`, "1.5", "2000m", "1Gi",
			"1024Mi", "1k", `"1000"`, "1e3", `"2"`, "2", "0", `"0"`,
			"+1Gi", "01Gi", `"+1"`, `"01"`, `"1."`, `"1e3"`, `"1e03"`, `"10e2"`, `"01.5"`, `"00"`,
			`".5"`, "010m", "1000u")
	}
	divisor := func() string {
		return pick("", ", divisor: "+quantity(), `, divisor: "1"`, `, divisor: "0"`)
	}
	label, env, resources, patches := "", "", "", ""
	if r.IntN(2) == 0 {
		label = "labels: {kueue.x-k8s.io/queue-name: q},"
	}
	if r.IntN(3) == 0 {
		env = "env: [{name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu, " +
			"containerName: node" + divisor() + "}}}],"
	}
	if r.IntN(3) > 0 {
		resources = fmt.Sprintf("resourcesPerNode: {limits: {cpu: %s, memory: %s}},", quantity(),
			pick("1Gi", "1024Mi", `"1073741824"`, quantity()))
	}
	for i := range r.IntN(3) {
		stamp := pick("", "", `time: "2026-01-02T03:04:05Z",`)
		pod := pick("nodeSelector: {a: b}", "volumes: [{name: v, emptyDir: {sizeLimit: "+quantity()+
			"}}]",
			"containers: [{name: node, env: [{name: CPU, valueFrom: {resourceFieldRef: "+
				"{resource: limits.cpu"+divisor()+"}}}]}]")
		patches += fmt.Sprintf(
			"{manager: a.example.com/m%d, %s trainingRuntimeSpec: {template: {spec: "+
				"{replicatedJobs: [{name: node, template: {spec: {template: {spec: {%s}}}}}]}}}},",
			i, stamp, pod)
	}
	if patches != "" {
		patches = "runtimePatches: [" + patches + "],"
	}
	return fmt.Sprintf(
		"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {%s name: llm, "+
			"namespace: %s}, spec: {runtimeRef: {name: plain}, suspend: true, trainer: {%s %s "+
			"numNodes: 1}, %s}}", label, serverNamespace, env, resources, patches)
}

func respelledObject(t *testing.T, text string) upstream.Object {
	t.Helper()
	var object upstream.Object
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return asJSON(t, object)
}
