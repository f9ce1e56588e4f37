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
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/admission"
)

// Each row is a change to a valid TrainJob or its runtime, and the errors that it leads to.
func TestObjectRules(t *testing.T) {
	for _, c := range casefile.Table[struct {
		Name         string
		Job, Runtime [2]string // old and new text
		Also         [2]string // in the runtime as well
		Want, Reason string
	}](t, "testdata/rules.yaml") {
		job, runtime := jobYAML(""), torchRuntime
		if c.Job[0] != "" {
			job = strings.Replace(job, c.Job[0], c.Job[1], 1)
		}
		if c.Runtime[0] != "" {
			runtime = strings.Replace(strings.Replace(runtime, c.Runtime[0], c.Runtime[1], 1),
				c.Also[0], c.Also[1], 1)
		}
		r, found := admission.AdmitRuntime(t.Context(), nil, object(t, runtime), "default")
		found = append(
			found, admission.Check(
				t.Context(), admission.Input{TrainJob: object(t, job), Runtime: r})...)
		if got := strings.Join(codesOf(found), " "); got != c.Want {
			t.Errorf("%s: %q, want %q: %s\n%v", c.Name, got, c.Want, c.Reason, found)
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
