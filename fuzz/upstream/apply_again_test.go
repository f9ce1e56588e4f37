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
	"github.com/trainweld/trainweld/fuzz"
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
	respelled := readTemplate("testdata/respelled.yaml").(upstream.Object)
	for seed := range uint64(*jobSets / 2) {
		job := fuzz.Expand(rand.New(rand.NewPCG(seed, 29)), respelled["job"]).(upstream.Object)
		stored, rejected, err := server.Apply(job, nil)
		if err != nil {
			t.Fatal(err)
		}
		if rejected != nil {
			verdicts["not created"]++
			continue
		}
		found := admission.Check(
			t.Context(), admission.Input{TrainJob: asJSON(t, job)}).Of(codes.Respelled)
		compare := func(write string, rejected []string, ours bool) {
			t.Helper()
			// a number that is no integer breaks the type, and hides the rule
			theirs := len(rejected) > 0
			verdicts[fmt.Sprintf("%s: upstream refuses %t, here %t", write, theirs, ours)]++
			if theirs != ours {
				text, _ := yaml.Marshal(job)
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

func respelledObject(t *testing.T, text string) upstream.Object {
	t.Helper()
	var object upstream.Object
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return asJSON(t, object)
}
