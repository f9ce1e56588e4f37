package trainingoperator_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/trainingjob"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/admission"
)

// TestGenerated converts generated jobs. A rejection must name the field. The Pods of all other
// jobs must equal the operator's, and the cluster must accept the result.
func TestGenerated(t *testing.T) {
	first, count := uint64(0), testenv.NumberOr(t, "TRAINWELD_JOBS", 400)
	if one, ok := testenv.Number(t, "TRAINWELD_JOB"); ok {
		first, count = one, 1
	}
	migrated, failed := map[string]int{}, 0
	for number := first; number < first+count && failed < 3; number++ {
		job := newJob(number)
		kind, problem := generated(t, job)
		if problem != "" {
			failed++
			text, _ := yaml.Marshal(job)
			t.Errorf("TRAINWELD_JOB=%d, a %s\n%s\n%s", number, kind, problem, text)
		} else if kind != "" {
			migrated[kind]++
		}
	}
	for _, kind := range trainingjob.Kinds() {
		if count >= 400 && migrated[kind] < 20 {
			t.Errorf("only %d jobs of kind %s were migrated and compared", migrated[kind], kind)
		}
	}
}

// generated compares one job, and returns its kind where it was migrated.
func generated(t *testing.T, job apiruntime.Object) (kind, problem string) {
	before := job.DeepCopyObject()
	result, findings := trainingjob.Convert(job, trainingjob.Options{})
	kind = findingKind(findings, job)
	if unchanged, err := yaml.Marshal(job); err != nil || string(unchanged) != mustYAML(t, before) {
		return kind, "Convert changed its input"
	}
	if err := findings.Err(); err != nil {
		if result != nil {
			return kind, "there is a result beside errors"
		}
		for _, f := range findings {
			if f.Severity == finding.Error && (f.Remedy.Text == "" || len(f.Path) == 0) {
				return kind, "a finding without a field or without help: " + f.Error()
			}
		}
		return "", ""
	}
	if problem := accepted(t, result); problem != "" {
		return kind, problem
	}
	diff, err := compare(job, result)
	if err != nil {
		return kind, err.Error()
	}
	return kind, diff
}

func mustYAML(t *testing.T, object any) string {
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func findingKind(findings finding.List, job apiruntime.Object) string {
	if i := slices.IndexFunc(findings, func(f finding.Finding) bool {
		return f.Object.Kind != ""
	}); i >= 0 {
		return findings[i].Object.Kind
	}
	_, kind, _ := strings.Cut(strings.TrimPrefix(typeName(job), "*"), ".")
	return kind
}

// accepted says why the cluster would reject the result.
func accepted(t *testing.T, result *trainingjob.Result) string {
	ctx := context.Background()
	runtime, err := admission.Encode(result.Runtime)
	if err != nil {
		t.Fatal(err)
	}
	job, err := admission.Encode(result.TrainJob)
	if err != nil {
		t.Fatal(err)
	}
	admitted, findings := admission.AdmitRuntime(ctx, nil, runtime, "default")
	findings = append(
		findings, admission.Check(ctx, admission.Input{TrainJob: job, Runtime: admitted})...)
	if err := findings.Err(); err != nil {
		return "check: " + err.Error()
	}
	return ""
}
