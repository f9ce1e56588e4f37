package admission_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
)

// Each row is a change to a valid TrainJob or its runtime, and the errors that it leads to.
func TestObjectRules(t *testing.T) {
	const (
		pod     = "\t\t\t\t\t\t\t\tcontainers:"
		sources = "\t\t\t\t\t\t\t\tvolumes: [{name: v, emptyDir: {}, hostPath: {path: /v}}]\n"
	)
	for _, c := range []struct {
		name         string
		job, runtime [2]string // old and new text
		also         [2]string // in the runtime as well
		want, reason string
	}{
		{name: "empty status", job: [2]string{"spec:", "status: {}\nspec:"},
			reason: "the API server ignores the status of a request"},
		{name: "incomplete condition",
			job:    [2]string{"spec:", "status: {conditions: [{type: Complete}]}\nspec:"},
			reason: "as an empty one"},
		{name: "generation", job: [2]string{"name: llm", "name: llm, generation: -1"},
			reason: "the API server sets it"},
		{name: "version", job: [2]string{"name: llm", "name: llm, resourceVersion: '7'"},
			want: "TW503", reason: "an object to be created has none"},
		{name: "version 0", job: [2]string{"name: llm", "name: llm, resourceVersion: '0'"},
			reason: "it means none"},
		{name: "version of a runtime",
			runtime: [2]string{"{name: torch}", "{name: torch, resourceVersion: '7'}"},
			want:    "TW503 TW519", reason: "as of a TrainJob"},
		{name: "gang of none", job: [2]string{"spec:\n", "spec:\n\ttrainer: {numNodes: 0}\n"},
			runtime: [2]string{"\ttemplate:", "\tpodGroupPolicy: {coscheduling: {}}\n\ttemplate:"},
			want:    "TW501", reason: "a PodGroup has a member"},
		{name: "gang of Volcano of none",
			job:     [2]string{"spec:\n", "spec:\n\ttrainer: {numNodes: 0}\n"},
			runtime: [2]string{"\ttemplate:\n", "\tpodGroupPolicy: {volcano: {}}\n\ttemplate:\n"},
			reason:  "Volcano takes a gang without members"},
		{name: "tier below 0",
			runtime: [2]string{
				"\ttemplate:\n",
				"\tpodGroupPolicy: {volcano: {networkTopology: {highestTierAllowed: " +
					"-1}}}\n\ttemplate:\n"}, want: "TW501",
			reason: "Volcano's definition has a minimum"},
		{name: "tier 0",
			runtime: [2]string{
				"\ttemplate:\n",
				"\tpodGroupPolicy: {volcano: {networkTopology: {highestTierAllowed: " +
					"0}}}\n\ttemplate:\n"}, reason: "the minimum"},
		{name: "queue",
			runtime: [2]string{
				"\ttemplate:\n",
				"\tpodGroupPolicy: {volcano: {}}\n\ttemplate:\n\t\tmetadata: {annotations: " +
					"{scheduling.volcano.sh/queue-name: q.1-a}}\n"}, reason: "a name of a queue"},
		{name: "queue with a capital",
			runtime: [2]string{
				"\ttemplate:\n",
				"\tpodGroupPolicy: {volcano: {}}\n\ttemplate:\n\t\tmetadata: {annotations: " +
					"{scheduling.volcano.sh/queue-name: Q_1}}\n"}, want: "TW501",
			reason: "Volcano's definition has a pattern"},
		{name: "queue with a slash",
			runtime: [2]string{
				"\ttemplate:\n",
				"\tpodGroupPolicy: {volcano: {}}\n\ttemplate:\n\t\tmetadata: {annotations: " +
					"{scheduling.volcano.sh/queue-name: root/a}}\n"}, want: "TW501",
			reason: "as with a capital"},
		{name: "long queue",
			runtime: [2]string{
				"\ttemplate:\n",
				"\tpodGroupPolicy: {volcano: {}}\n\ttemplate:\n\t\tmetadata: {annotations: " +
					"{scheduling.volcano.sh/queue-name: " +
					"qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq}}\n"}, reason: "the longest name"},
		{name: "too long queue",
			runtime: [2]string{
				"\ttemplate:\n",
				"\tpodGroupPolicy: {volcano: {}}\n\ttemplate:\n\t\tmetadata: {annotations: " +
					"{scheduling.volcano.sh/queue-name: " +
					"qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq}}\n"}, want: "TW501", reason: "Volcano's definition has a length"},
		{name: "priority",
			runtime: [2]string{
				"\t\t\t\t\t\t\t\tcontainers:",
				"\t\t\t\t\t\t\t\tpriority: 5\n\t\t\t\t\t\t\t\tcontainers:"}, want: "TW615",
			reason: "no class gives it"},
		{name: "priority, suspended", job: [2]string{"spec:\n", "spec:\n\tsuspend: true\n"},
			runtime: [2]string{
				"\t\t\t\t\t\t\t\tcontainers:",
				"\t\t\t\t\t\t\t\tpriority: 5\n\t\t\t\t\t\t\t\tcontainers:"}, want: "TW615",
			reason: "the Pods come when the job resumes, and nobody can change the field before"},
		{name: "endless deadline, suspended",
			job: [2]string{
				"spec:\n", "spec:\n\tsuspend: true\n\tactiveDeadlineSeconds: 9223372037\n"},
			want: "TW423", reason: "the deadline is immutable"},
		{name: "priority, managed elsewhere",
			job: [2]string{"spec:\n", "spec:\n\tmanagedBy: kueue.x-k8s.io/multikueue\n"},
			runtime: [2]string{
				"\t\t\t\t\t\t\t\tcontainers:",
				"\t\t\t\t\t\t\t\tpriority: 5\n\t\t\t\t\t\t\t\tcontainers:"},
			reason: "this cluster's controllers create nothing"},
		{name: "two sources", runtime: [2]string{pod, sources + pod}, want: "TW207",
			reason: "the Job is refused"},
		{name: "two sources, managed elsewhere",
			job:     [2]string{"spec:\n", "spec:\n\tmanagedBy: kueue.x-k8s.io/multikueue\n"},
			runtime: [2]string{pod, sources + pod}, reason: "this cluster makes no Job"},
		{name: "two sources, JobSet managed elsewhere",
			runtime: [2]string{
				"\t\t\treplicatedJobs:", "\t\t\tmanagedBy: example.com/x\n\t\t\treplicatedJobs:"},
			also: [2]string{pod, sources + pod}, reason: "as of the TrainJob"},
		{name: "flux without nodes", runtime: [2]string{"torch: {}", "flux: {}"}, want: "TW447",
			reason: "the controller crashes"},
		{name: "flux without nodes, managed elsewhere",
			job:     [2]string{"spec:\n", "spec:\n\tmanagedBy: kueue.x-k8s.io/multikueue\n"},
			runtime: [2]string{"torch: {}", "flux: {}"},
			reason:  "this cluster's controller passes it over"},
		{name: "empty topology",
			runtime: [2]string{
				"\ttemplate:\n",
				"\ttemplate:\n\t\tmetadata: {annotations: " +
					"{alpha.jobset.sigs.k8s.io/exclusive-topology: ''}}\n"}, want: "TW610",
			reason: "the Pods get it as a topologyKey"},
		{name: "empty topology of a job",
			runtime: [2]string{"trainjob-ancestor-step: trainer}",
				"trainjob-ancestor-step: trainer}, annotations: " +
					"{alpha.jobset.sigs.k8s.io/exclusive-topology: ''}"}, want: "TW610",
			reason: "as of the JobSet"},
		{name: "deadline",
			job:    [2]string{"spec:\n", "spec:\n\tactiveDeadlineSeconds: 9223372036\n"},
			reason: "the longest duration"},
		{name: "endless deadline",
			job:  [2]string{"spec:\n", "spec:\n\tactiveDeadlineSeconds: 9223372037\n"},
			want: "TW423", reason: "the duration overflows, and the TrainJob fails at once"},
	} {
		job, runtime := jobYAML(""), torchRuntime
		if c.job[0] != "" {
			job = strings.Replace(job, c.job[0], c.job[1], 1)
		}
		if c.runtime[0] != "" {
			runtime = strings.Replace(strings.Replace(runtime, c.runtime[0], c.runtime[1], 1),
				c.also[0], c.also[1], 1)
		}
		r, found := admission.AdmitRuntime(t.Context(), nil, object(t, runtime), "default")
		found = append(
			found, admission.Check(
				t.Context(), admission.Input{TrainJob: object(t, job), Runtime: r})...)
		if got := strings.Join(codesOf(found), " "); got != c.want {
			t.Errorf("%s: %q, want %q: %s\n%v", c.name, got, c.want, c.reason, found)
		}
	}
}

// JobSet's webhook writes the JobSet as its Go types encode it. An absent list, map or pointer
// without omitempty becomes null. The definition rejects a null unless it allows or defaults it.
// The test removes each such field.
func TestNullsOfGoTypes(t *testing.T) {
	var rejected, accepted []string
	visited := map[reflect.Type]int{}
	var walk func(typ reflect.Type, path string, wrap func(any) any)
	walk = func(typ reflect.Type, path string, wrap func(any) any) {
		for typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		switch {
		case typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8:
			walk(typ.Elem(), path+"[]", func(v any) any { return wrap([]any{v}) })
			return
		case typ.Kind() != reflect.Struct || visited[typ] > 0 ||
			strings.HasSuffix(typ.PkgPath(), "/resource"):
			return
		}
		visited[typ]++
		defer func() { visited[typ]-- }()
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-" || !f.IsExported():
			case name == "" || strings.Contains(options, "inline"):
				walk(f.Type, path, wrap)
			default:
				at := path + "." + name
				switch f.Type.Kind() {
				case reflect.Slice, reflect.Map, reflect.Pointer:
					if !strings.Contains(options, "omit") {
						if nullRejected(t.Context(), t, wrap(map[string]any{}), at) {
							rejected = append(rejected, at)
						} else {
							accepted = append(accepted, at)
						}
					}
				}
				walk(f.Type, at, func(v any) any { return wrap(map[string]any{name: v}) })
			}
		}
	}
	walk(reflect.TypeFor[jobset.JobSetSpec](), ".spec", func(v any) any { return v })
	slices.Sort(rejected)
	for _, path := range accepted {
		if !strings.HasSuffix(path, ".grpc.service") { // which the definition defaults
			t.Errorf("%s: null is accepted", path)
		}
	}
	const job = ".spec.replicatedJobs[].template.spec"
	const pod = job + ".template.spec"
	want := []string{
		job + ".podFailurePolicy.rules",
		job + ".podFailurePolicy.rules[].onExitCodes.values",
		job + ".successPolicy.rules",
		pod + ".affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
		pod + ".containers",
		pod + ".volumes[].cephfs.monitors",
		pod + ".volumes[].ephemeral.volumeClaimTemplate.spec.dataSource.apiGroup",
		pod + ".volumes[].ephemeral.volumeClaimTemplate.spec.dataSourceRef.apiGroup",
		pod + ".volumes[].projected.sources",
		pod + ".volumes[].rbd.monitors",
		pod + ".volumes[].scaleIO.secretRef",
		".spec.volumeClaimPolicies[].templates[].spec.dataSource.apiGroup",
		".spec.volumeClaimPolicies[].templates[].spec.dataSourceRef.apiGroup",
	}
	if diff := cmp.Diff(want, rejected); diff != "" {
		t.Errorf("fields whose null is refused (-want +got):\n%s", diff)
	}
}

// JobSet's webhook sends no patch for a JobSet that it does not change, and so writes no nulls.
func TestNullsOfUnchangedJobSet(t *testing.T) {
	spec := "\tsuccessPolicy: {operator: All}\n\tstartupPolicy: {startupPolicyOrder: " +
		"AnyOrder}\n\tnetwork: {enableDNSHostnames: true, publishNotReadyAddresses: true}\n"
	text := jobSetYAML(spec, "\t\t\t\tcompletionMode: Indexed\n",
		"\t\t\t\t\t\trestartPolicy: Never\n\t\t\t\t\t\tvolumes: [{name: v, projected: {}}]\n", "")
	if found := admission.AdmitJobSet(t.Context(), nil, object(t, text), ""); found.Err() != nil {
		t.Error(found.Err())
	}
	text = strings.Replace(text, "restartPolicy: Never\n", "\n", 1)
	if found := admission.AdmitJobSet(t.Context(), nil, object(t, text), ""); found.Err() == nil {
		t.Error("no error for a null in a JobSet that the webhook changes")
	}
}

// nullRejected reports whether a JobSet whose spec is spec is rejected for the field at the path.
func nullRejected(ctx context.Context, t *testing.T, spec any, path string) bool {
	t.Helper()
	var fields map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(
		[]byte(`{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"js"}}`), &fields); err != nil {
		t.Fatal(err)
	}
	fields["spec"] = spec
	plain := strings.ReplaceAll(path, "[]", "")
	return slices.ContainsFunc(admission.AdmitJobSet(ctx, nil, fields, ""),
		func(f finding.Finding) bool {
			var names []string
			for _, step := range f.Path {
				if name, ok := step.Field(); ok {
					names = append(names, name)
				}
			}
			return f.Severity == finding.Error && f.Object.Kind == "JobSet" &&
				"."+strings.Join(names, ".") == plain
		})
}

// Each row gives a TrainJob or a runtime a number of nodes. The cluster has no bound for it. A Job
// without Pods completes at once, and a Job with a negative count is rejected. The runtime's own
// number is raised to 1.
func TestNumNodes(t *testing.T) {
	const numNodes = ".spec.trainer.numNodes"
	for _, c := range []struct {
		policy, job string
		want        []string
		reason      string
	}{
		{"numNodes: 1, torch: {}", "0", []string{"warning TW423 " + numNodes},
			"the address of the master is a consequence"},
		{"numNodes: 1, torch: {}", "-1", []string{"error TW606 " + numNodes},
			"parallelism and completions have one cause"},
		{"numNodes: 1, torch: {}", "1", nil, "one node is enough"},
		{"numNodes: 1", "0", []string{"warning TW423 " + numNodes}, "as with torch"},
		{"numNodes: 1", "-1", []string{"error TW606 " + numNodes}, "as with torch"},
		{"jax: {}", "0", []string{"warning TW423 " + numNodes},
			"the address of the coordinator is a consequence"},
		{"jax: {}", "-1", []string{"error TW606 " + numNodes}, "as with torch"},
		{"xgboost: {}", "0", []string{"warning TW423 " + numNodes},
			"the address of the tracker is a consequence"},
		{"xgboost: {}", "-1", []string{"error TW606 " + numNodes}, "as with torch"},
		{"mpi: {}", "0", []string{"warning TW423 " + numNodes},
			"the empty hostfile is a consequence"},
		{"mpi: {}", "-1", []string{"error TW606 " + numNodes},
			"the empty hostfile is a consequence"},
		{"flux: {}", "0", []string{"warning TW423 " + numNodes}, "as with torch"},
		{"flux: {}", "-1", []string{"error TW606 " + numNodes}, "as with torch"},
		{"torch: {}}\n\tpodGroupPolicy: {coscheduling: {}", "0",
			[]string{"error TW501 " + numNodes}, "the PodGroup is rejected first"},
		{"torch: {}}\n\tpodGroupPolicy: {coscheduling: {}", "-1",
			[]string{"error TW501 " + numNodes}, "the PodGroup is rejected first"},
		{"torch: {}}\n\tpodGroupPolicy: {volcano: {}", "-1", []string{"error TW501 " + numNodes},
			"the PodGroup is rejected first"},
		{"numNodes: 0, torch: {}", "", nil, "the controller counts at least one"},
		{"numNodes: -1, torch: {}", "", nil, "the controller counts at least one"},
		{"numNodes: -1", "", nil, "the controller counts at least one"},
		{"numNodes: 0, mpi: {}", "", nil, "the controller counts at least one"},
	} {
		job := jobYAML("\ttrainer: {}\n")
		if c.job != "" {
			job = jobYAML("\ttrainer: {numNodes: " + c.job + "}\n")
		}
		runtime, found := admission.AdmitRuntime(t.Context(), nil,
			object(t, strings.Replace(torchRuntime, "numNodes: 2, torch: {}", c.policy, 1)),
			"default")
		found = append(
			found, admission.Check(
				t.Context(), admission.Input{TrainJob: object(t, job), Runtime: runtime})...)
		var got []string
		for _, f := range found {
			path := f.Path
			if len(f.Claims) > 0 {
				path = f.Claims[len(f.Claims)-1].At
			}
			if f.Severity > finding.Note {
				got = append(
					got, strings.Join([]string{f.Severity.String(), string(f.Code), path.String()},
						" "))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("numNodes %q with %s: %s (-want +got)\n%s", c.job, c.policy, c.reason, diff)
		}
	}
}
