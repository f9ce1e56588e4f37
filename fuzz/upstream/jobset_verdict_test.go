package upstream_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/render/admission"
)

// TestJobSetVerdicts compares verdicts on new JobSets, generated and mutated. One verdict comes
// from the JobSet module's definition and webhooks, the other from package admission. Later
// rejections, of Jobs and Pods, do not count.
func TestJobSetVerdicts(t *testing.T) {
	server := newAPIServer(t)
	verdicts := map[string]int{}
	for seed := range uint64(*jobSets) {
		js := mutatedJobSet(t, seed)
		if !server.latest() && seed%8 > 0 { // most of the fields that the release lacks go
			pruned, err := server.Prune(js)
			server.must(err)
			js = pruned
		}
		_, rejected := server.apply(js, nil)
		var errs finding.List
		for _, f := range admission.AdmitJobSet(t.Context(), server.Release, js, serverNamespace) {
			// Codes below TW540 are rejections by the API server and the webhooks. Codes of TW4 are
			// about later steps.
			early := f.Code < "TW400" || f.Code >= "TW500" && f.Code < "TW540"
			if f.Severity == finding.Error && f.Object.Kind == "JobSet" && early {
				errs = append(errs, f)
			}
		}
		verdicts[fmt.Sprintf("upstream refuses %v, here %v", len(rejected) > 0, len(errs) > 0)]++
		if (len(rejected) > 0) != (len(errs) > 0) {
			data, err := yaml.Marshal(js)
			if err != nil {
				t.Fatal(err)
			}
			t.Fatalf("seed %d: upstream %q\nfound %v\n%s", seed, rejected, errs, data)
		}
	}
	t.Log(verdicts)
	if taken := verdicts["upstream refuses false, here false"]; taken < *jobSets/5 {
		t.Errorf("only %d of %d JobSets are taken: the generator makes too much that nobody takes",
			taken, *jobSets)
	}
}

// mutatedJobSet is a generated JobSet, with a change to three of four.
func mutatedJobSet(t *testing.T, seed uint64) upstream.Object {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 12))
	fields, err := admission.Encode(generateJobSet(t, r))
	if err != nil {
		t.Fatal(err)
	}
	js := asJSON(t, fields)
	js["apiVersion"], js["kind"] = "jobset.x-k8s.io/v1alpha2", "JobSet"
	for _, policy := range list(js, "spec", "volumeClaimPolicies") {
		if p, ok := policy.(upstream.Object); ok && p["templates"] == nil && r.IntN(8) > 0 {
			// the definition's rule takes none without templates
			set(js, nil, "spec", "volumeClaimPolicies")
		}
	}
	m := mutator{r}
	switch r.IntN(4) {
	case 0:
		m.mutate(js)
	case 1:
		m.editJobSet(js)
	case 2:
		m.editJobSet(js)
		m.editJobSet(js)
	}
	return asJSON(t, js)
}
