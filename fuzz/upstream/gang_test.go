package upstream_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/release"
)

// gangs draws TrainJobs with a gang, whose fields are within the limits of a PodGroup, at them and
// beyond.
type gangs struct{ *rand.Rand }

func draw[T any](g gangs, values ...T) T { return values[g.IntN(len(values))] }

func (g gangs) name() string {
	long := strings.Repeat("a", 252)
	return draw(g, "q", "Q_1", "a.b", "a..b", "-a", "a-", "A", "a b", "ü", "1", long, long+"b",
		long+"bc", strings.Repeat("a.", 126)+"a", strings.Repeat("a.", 127)+"a")
}

func (g gangs) quantity() any {
	return draw[any](g, int64(1), "1", "100m", "0.5", "1e3", "1Ki", "0", "9223372036854775807",
		"1000000000000000000000", "0.0000000001")
}

func (g gangs) resources() upstream.Object {
	o := upstream.Object{"requests": upstream.Object{"cpu": g.quantity(), "memory": g.quantity()}}
	if g.IntN(2) == 0 {
		q := draw[any](g, int64(1), int64(8))
		o["requests"].(upstream.Object)["example.com/gpu"], o["limits"] = q,
			upstream.Object{"example.com/gpu": q}
	}
	return o
}

func (g gangs) pair() (job, runtime upstream.Object) {
	policy := upstream.Object{}
	if g.IntN(3) > 0 {
		volcano := upstream.Object{}
		if g.IntN(2) == 0 {
			set(volcano, draw[any](g, nil, "hard", "soft"), "networkTopology", "mode")
			set(volcano, draw[any](g, nil, int64(-1), int64(0), int64(2), int64(-1<<31),
				int64(1)<<40), "networkTopology", "highestTierAllowed")
		}
		policy["volcano"] = volcano
	} else {
		policy["coscheduling"] = upstream.Object{}
		set(policy, draw[any](g, nil, int64(-1), int64(0), int64(60), int64(1<<31-1)),
			"coscheduling", "scheduleTimeoutSeconds")
	}
	pod := func(container string) upstream.Object {
		spec := upstream.Object{
			"containers": []any{
				upstream.Object{"name": container, "image": "example.com/a",
					"resources": g.resources()}}}
		if g.IntN(3) == 0 {
			spec["priorityClassName"] = g.name()
		}
		return upstream.Object{"spec": spec}
	}
	replicated := func(name, step string) upstream.Object {
		template := upstream.Object{"spec": upstream.Object{"template": pod(name)}}
		if step != "" {
			set(template, step, "metadata", "labels", "trainer.kubeflow.org/trainjob-ancestor-step")
		}
		return upstream.Object{"name": name, "template": template}
	}
	jobs := []any{replicated("node", "trainer")}
	if g.IntN(3) == 0 {
		jobs = append(jobs, replicated("other", ""))
	}
	runtime = upstream.Object{
		"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime",
		"metadata": upstream.Object{"name": "r"},
		"spec": upstream.Object{
			"mlPolicy":       upstream.Object{"numNodes": draw[any](g, int64(1), int64(3))},
			"podGroupPolicy": policy,
			"template":       upstream.Object{"spec": upstream.Object{"replicatedJobs": jobs}},
		},
	}
	if g.IntN(2) == 0 {
		set(runtime, g.name(), "spec", "template", "metadata", "annotations",
			"scheduling.volcano.sh/queue-name")
	}
	job = upstream.Object{
		"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
		"metadata": upstream.Object{"name": "j", "namespace": serverNamespace},
		"spec": upstream.Object{"runtimeRef": upstream.Object{"name": "r"},
			"suspend": g.IntN(2) == 0},
	}
	if g.IntN(2) == 0 {
		set(job, draw[any](g, int64(-1), int64(0), int64(1), int64(2), int64(1<<31-1)), "spec",
			"trainer", "numNodes")
	}
	if g.IntN(3) == 0 {
		set(job, g.resources(), "spec", "trainer", "resourcesPerNode")
	}
	return job, runtime
}

// podGroupValidator returns the API server's validation of the PodGroups of an API group.
func podGroupValidator(t *testing.T, group string) validation.SchemaValidator {
	t.Helper()
	text, err := release.PodGroup(group)
	if err != nil {
		t.Fatal(err)
	}
	crd, internal := &apiextensionsv1.CustomResourceDefinition{}, &apiextensions.JSONSchemaProps{}
	if err := json.Unmarshal(text, crd); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema, internal, nil); err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		t.Fatal(err)
	}
	return validator
}

// TestGangs compares the rejected fields of PodGroups. One side validates the PodGroups that the
// Trainer's code makes by their definitions. The other side is package admission. TRAINWELD_GANGS
// sets the number of pairs.
func TestGangs(t *testing.T) {
	server := newAPIServer(t)
	groups := map[string]validation.SchemaValidator{}
	for _, group := range []string{"scheduling.volcano.sh", "scheduling.x-k8s.io"} {
		groups[group] = podGroupValidator(t, group)
	}
	n, ok := testenv.Number(t, "TRAINWELD_GANGS")
	if !ok {
		n = 500
		if testing.Short() {
			n = 100
		}
	}
	g := gangs{rand.New(rand.NewPCG(testenv.Seed(t), 0))}
	made, invalid := 0, map[string]int{}
	for range n {
		job, runtime := g.pair()
		server.hold()
		stored, rejected := server.apply(runtime, nil)
		if rejected != nil {
			continue
		}
		server.hold(stored)
		if _, rejected := server.apply(job, nil); rejected != nil {
			continue
		}
		outcome, err := server.Render(job, runtime)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, object := range outcome.Objects {
			if object["kind"] != "PodGroup" {
				continue
			}
			made++
			group, _, _ := strings.Cut(object["apiVersion"].(string), "/")
			for _, e := range validation.ValidateCustomResource(nil, asJSON(t, object),
				groups[group]) {
				want = append(want, "."+e.Field)
				invalid[group+" "+e.Field]++
			}
		}
		ctx := context.Background()
		held, found := admission.AdmitRuntime(ctx, server.Release, asJSON(t, runtime),
			serverNamespace)
		if found.Err() != nil {
			continue // a stricter error, which the verdicts judge
		}
		var got []string
		for _, f := range admission.Check(
			ctx, admission.Input{Release: server.Release, TrainJob: asJSON(t, job), Runtime: held,
				Namespace: serverNamespace}) {
			if f.Object.Kind == "PodGroup" && f.Severity == finding.Error {
				got = append(got, f.Path.String())
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if want, got = slices.Compact(want), slices.Compact(got); !slices.Equal(want, got) {
			text, _ := json.MarshalIndent([]upstream.Object{runtime, job}, "", "  ")
			t.Errorf("rejected fields of the PodGroup: %q, want %q of\n%s\nupstream: %s", got, want,
				text, strconv.Quote(outcome.Failed))
		}
	}
	t.Logf("%d PodGroups of %d pairs, rejected fields: %v", made, n, invalid)
	if made < int(n)/2 || len(invalid) < 5 && n >= 500 {
		t.Errorf("%d PodGroups of %d pairs, rejected fields: %v: the generator makes too few", made,
			n, invalid)
	}
}
