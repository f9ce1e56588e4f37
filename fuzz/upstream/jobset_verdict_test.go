package upstream_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
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
		jobSetBreaks[r.IntN(len(jobSetBreaks))](m, js)
	case 2:
		jobSetBreaks[r.IntN(len(jobSetBreaks))](m, js)
		jobSetBreaks[r.IntN(len(jobSetBreaks))](m, js)
	}
	return asJSON(t, js)
}

// jobSetBreaks aim at the rules of JobSet's webhook.
var jobSetBreaks = []func(m mutator, js upstream.Object){
	func(m mutator, js upstream.Object) {
		set(js, pick(m, strings.Repeat("n", 50), "1a", "a.b", "Upper"), "metadata", "name")
	},
	func(m mutator, js upstream.Object) {
		set(js, pick(m, "sub", "1a", "a.b", "", strings.Repeat("s", 64)), "spec", "network",
			"subdomain")
	},
	func(m mutator, js upstream.Object) {
		set(js, pick(m, "kueue", "a.example.com/x", "jobset.sigs.k8s.io/jobset-controller",
			strings.Repeat("m", 60)+".a/x"), "spec", "managedBy")
	},
	func(m mutator, js upstream.Object) {
		inJob(m, js, func(job upstream.Object) {
			set(job, pick[any](m, int64(0), int64(3), int64(1000), int64(2_000_000_000)),
				"replicas")
		})
	},
	func(m mutator, js upstream.Object) {
		inJob(m, js, func(job upstream.Object) {
			set(job, pick[any](m, int64(0), int64(3), int64(100_000), int64(2_000_000_000)),
				"template", "spec", pick(m, "parallelism", "completions"))
		})
	},
	func(m mutator, js upstream.Object) {
		inJob(m, js, func(job upstream.Object) {
			set(job, pick(m, "g", "", "1g", "G", strings.Repeat("g", 64)),
				pick(m, "groupName", "name"))
		})
	},
	func(m mutator, js upstream.Object) {
		inJob(m, js, func(job upstream.Object) {
			name := pick(m, "ghost", "a", "")
			inJob(m, js, func(other upstream.Object) { name, _ = other["name"].(string) })
			set(job, []any{
				upstream.Object{"name": name, "status": pick(m, "Complete", "Ready", "Other")}},
				"dependsOn")
		})
	},
	func(m mutator, js upstream.Object) {
		set(js, []any{pick(m, "ghost", "a", "")}, "spec", "successPolicy", "targetReplicatedJobs")
		set(js, pick(m, "All", "Any", "x"), "spec", "successPolicy", "operator")
	},
	func(m mutator, js upstream.Object) {
		rule := func() any {
			rule := upstream.Object{
				"action": pick(m, "FailJobSet", "RestartJobSet", "RestartJob",
					"RestartJobSetAndIgnoreMaxRestarts", "x")}
			if m.IntN(2) == 0 {
				rule["name"] = pick(m, "r", "r", "1r", "", strings.Repeat("r", 129))
			}
			if m.IntN(2) == 0 {
				rule["targetReplicatedJobs"] = []any{pick(m, "ghost", "a")}
			}
			if m.IntN(2) == 0 {
				rule["onJobFailureReasons"] = []any{
					pick(m, "BackoffLimitExceeded", "DeadlineExceeded", "Unknown")}
			}
			return rule
		}
		set(js, []any{rule(), rule()}, "spec", "failurePolicy", "rules")
		set(js, pick[any](m, nil, "Recreate", "BlockingRecreate", "InPlaceRestart"), "spec",
			"failurePolicy", "restartStrategy")
	},
	func(m mutator, js upstream.Object) {
		coordinator := upstream.Object{"replicatedJob": "ghost", "jobIndex": int64(m.IntN(4) - 1),
			"podIndex": int64(m.IntN(4) - 1)}
		inJob(m, js, func(job upstream.Object) { coordinator["replicatedJob"] = job["name"] })
		set(js, coordinator, "spec", "coordinator")
	},
	func(m mutator, js upstream.Object) {
		claim := func() any {
			metadata := upstream.Object{
				"name": pick(m, "a", "b", "Bad", "", strings.Repeat("c", 250))}
			if m.IntN(4) == 0 {
				metadata["namespace"] = pick(m, "x", "")
			}
			return upstream.Object{"metadata": metadata, "spec": upstream.Object{}}
		}
		set(js, []any{upstream.Object{"templates": []any{claim(), claim()}}}, "spec",
			"volumeClaimPolicies")
		inJob(m, js, func(job upstream.Object) {
			set(job, []any{emptyDir(pick(m, "a", "b"))}, "template", "spec", "template", "spec",
				"volumes")
		})
		inJob(m, js, func(job upstream.Object) {
			for _, container := range list(job, "template", "spec", "template", "spec",
				"containers") {
				set(container,
					[]any{upstream.Object{"name": pick(m, "a", "b", "c"), "mountPath": "/x"}},
					"volumeMounts")
			}
		})
	},
	func(m mutator, js upstream.Object) {
		set(js, pick(m, "InOrder", "AnyOrder", "x"), "spec", "startupPolicy", "startupPolicyOrder")
	},
	func(m mutator, js upstream.Object) {
		inJob(m, js, func(job upstream.Object) {
			set(job, pick(m, "Indexed", "NonIndexed"), "template", "spec", "completionMode")
		})
	},
}

// inJob visits one of the JobSet's replicated jobs.
func inJob(m mutator, js upstream.Object, visit func(upstream.Object)) {
	if jobs := list(js, "spec", "replicatedJobs"); len(jobs) > 0 {
		if job, ok := jobs[m.IntN(len(jobs))].(upstream.Object); ok {
			visit(job)
		}
	}
}
