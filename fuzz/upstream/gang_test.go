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
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/release"
)

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
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	pair := readTemplate("testdata/gangs.yaml").(upstream.Object)
	made, invalid := 0, map[string]int{}
	for range n {
		job := fuzz.Expand(r, pair["job"]).(upstream.Object)
		runtime := fuzz.Expand(r, pair["runtime"]).(upstream.Object)
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
