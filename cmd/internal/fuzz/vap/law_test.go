package vap_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainweld/trainweld/cmd/internal/vap"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/policy"
)

// TestAdmitted holds the law of the generated objects: what the expressions admit, check accepts.
// The requests create and update TrainJobs. They have directives, nulls and odd labels, and are
// stored as the API server stores them.
func TestAdmitted(t *testing.T) {
	first := testenv.Seed(t)
	counts := map[string]int{}
	for i := range testenv.Cases(t, 400) {
		r := rand.New(rand.NewPCG(first+i, 2))
		text := fuzz.PolicyFile(r)
		p, found := policy.Parse("trainweld.yaml", []byte(text))
		if found != nil {
			t.Fatalf("%s\n%v", text, found)
		}
		expressions, err := vap.Compile(policy.AdmissionPolicies(p, "trainjobs").Policies...)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		for n := range 50 {
			request, verb := fuzz.PolicyRequest(r), "create"
			var before map[string]any
			if n%2 == 1 {
				before, _ = admission.Stored(nil, request, "team-a")
				request, verb = fuzz.PolicyUpdate(r, before), "update"
			}
			stored, ok := admission.Stored(nil, request, "team-a")
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
			user := fuzz.PolicyUsers[r.IntN(len(fuzz.PolicyUsers))]
			verdict := expressions.Validate(t.Context(), stored, before, user)
			if verdict.Skipped {
				counts["update of neither patches nor labels"]++
				if !equality.Semantic.DeepEqual(patchesAndLabels(stored),
					patchesAndLabels(before)) {
					t.Errorf("seed %d: an update is not judged\n%s", first+i, data)
				}
				continue
			}
			found := p.Check(job, job.Spec.RuntimePatches)
			found = append(
				found, render.Conflicts(render.Input{TrainJob: job}, render.Options{}).Of(
					codes.Overlap)...)
			refuses := found.Where(func(f finding.Finding) bool {
				return p.Severity(f) == finding.Error
			}) != nil
			isBeyond, hasDirective := false, false
			for _, one := range verdict.Rejected {
				isBeyond = isBeyond || policy.IsBeyondCheck(one.Expression)
				hasDirective = hasDirective || strings.Contains(one.Message, "allows no directive")
				if strings.Contains(one.Message, "no such") {
					t.Errorf("%s\n%s\n%v", text, data, one)
				}
			}
			isOfFields := strings.Contains(text, "paths: ") || !strings.Contains(text, "TW300")
			if (isOfFields && strings.Contains(string(data), `"$`)) != hasDirective {
				t.Errorf("a directive: %t\n%s\n%s", hasDirective, text, data)
			}
			admits := len(verdict.Rejected) == 0
			counts[fmt.Sprintf("%s admitted %t, refused by check %t, beyond it %t", verb, admits,
				refuses, isBeyond)]++
			if admits && refuses || !admits && !refuses && !isBeyond {
				t.Errorf("seed %d: admitted %t, and check: %v\n%v\n%s\n%s", first+i, admits, found,
					verdict.Rejected, text, data)
			}
		}
	}
	t.Log(counts)
	for _, verb := range []string{"create", "update"} {
		for _, want := range []string{
			"admitted true, refused by check false, beyond it false",
			"admitted false, refused by check true, beyond it false",
			"admitted false, refused by check true, beyond it true",
			"admitted false, refused by check false, beyond it true",
		} {
			if counts[verb+" "+want] == 0 {
				t.Errorf("no case is %s %s", verb, want)
			}
		}
	}
}

// patchesAndLabels returns the patches and the labels of an object.
func patchesAndLabels(object map[string]any) (all struct {
	Labels  map[string]any
	Patches []any
}) {
	all.Labels, _, _ = unstructured.NestedMap(object, "metadata", "labels")
	all.Patches, _, _ = unstructured.NestedSlice(object, "spec", "runtimePatches")
	return all
}
