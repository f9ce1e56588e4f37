package runtimepatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// A testCase has a runtime, and managers that patch the Pod of one replicated job one after the
// other. It wants the Pod, the owners of the touched fields, and the managers that disagree. Paths
// start in the Pod's spec.
type testCase struct {
	name, reason string
	runtime      string
	patches      []says
	// want is the Pod's spec without the name and image of the container node. Empty means "as
	// runtime".
	want string
	// owners are the fields that managers touched, with their claims; the last claim is in force.
	owners []string
	// conflicts are "kind field: manager=value …".
	conflicts []string
	// findings are what check.Patches and runtimepatch.Warnings report: "code field".
	findings []string
}

// says is one manager's patch of the Pod's spec.
type says struct{ manager, patch string }

const (
	sdk   = "sdk.example/user"
	queue = "queue.example/admission"
	team  = "team.example/platform"
)

func (s testCase) template(t *testing.T) *trainer.JobSetTemplateSpec {
	t.Helper()
	template := &trainer.JobSetTemplateSpec{}
	template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}}
	decode(t, s.runtime, &template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec)
	return template
}

func (s testCase) wanted(t *testing.T) string {
	t.Helper()
	text := s.want
	if text == "" {
		text = s.runtime
	}
	var pod corev1.PodSpec
	decode(t, text, &pod)
	return encode(pod)
}

func (s testCase) list(t *testing.T) []trainer.RuntimePatch {
	t.Helper()
	var patches []trainer.RuntimePatch
	for _, p := range s.patches {
		pod := &trainer.PodSpecPatch{}
		decode(t, p.patch, pod)
		patches = append(patches, trainer.RuntimePatch{
			Manager: p.manager,
			TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
				Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
					ReplicatedJobs: []trainer.ReplicatedJobPatch{{
						Name: "node",
						Template: &trainer.JobTemplatePatch{
							Spec: &trainer.JobSpecPatch{
								Template: &trainer.PodTemplatePatch{Spec: pod}}},
					}},
				}}},
		})
	}
	return patches
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

func encode(v any) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

const podPath = `.spec.replicatedJobs[name="node"].template.spec.template.spec`

// short is a path within the Pod's spec.
func short(path fieldpath.Path) string {
	text := path.String()
	for _, prefix := range []string{podPath, ".spec.template" + podPath} {
		text = strings.TrimPrefix(text, prefix)
	}
	if i := strings.Index(text, podPath); i >= 0 {
		text = text[i+len(podPath):]
	}
	return text
}

func claimsText(path fieldpath.Path, claims []merge.Claim) string {
	var parts []string
	for _, c := range claims {
		who := strings.TrimPrefix(string(c.Owner), "manager/")
		who, _, _ = strings.Cut(who, ".")
		parts = append(parts, who+"="+finding.FormatValue(path, c.Value, false))
	}
	return strings.Join(parts, " ")
}

// owners lists the fields within the Pod that a manager touched.
func owners(r *runtimepatch.Result) []string {
	var lines []string
	for path, claims := range r.History.All() {
		byManager := slices.ContainsFunc(claims, func(c merge.Claim) bool {
			return c.Owner != runtimepatch.RuntimeLayer
		})
		if text := short(path); byManager && text != path.String() {
			lines = append(lines, text+": "+claimsText(path, claims))
		}
	}
	return lines
}

func conflicts(r *runtimepatch.Result) []string {
	var lines []string
	for _, c := range conflict.Find(r.History) {
		parts := make([]string, len(c.Claims))
		for i := range c.Claims {
			parts[i] = claimsText(c.Fields[i], c.Claims[i:i+1])
		}
		lines = append(
			lines, fmt.Sprintf("%s %s: %s", c.Kind, short(c.Path), strings.Join(parts, " ")))
	}
	return lines
}
