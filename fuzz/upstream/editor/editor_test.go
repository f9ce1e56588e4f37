// Package editor compares the schemas for editors with check: on random objects, a file that the schema rejects has an error in check,
// and a file with one of the errors that a schema can find is rejected by the schema.
package editor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/santhosh-tekuri/jsonschema/v6"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/editor"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/release"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
)

// validator returns the schema of a kind.
func validator(t *testing.T, kind string, r *release.Release, names editor.Names) *jsonschema.Schema {
	t.Helper()
	s, err := editor.Schema(kind, r, names)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", plain(t, s)); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// plain returns a value as the validator reads it.
func plain(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// problems returns the places and the reasons of a rejection, one a line.
func problems(err error) []string {
	var invalid *jsonschema.ValidationError
	if err == nil {
		return nil
	}
	var lines []string
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			lines = append(lines, fmt.Sprintf("/%s: %v", strings.Join(e.InstanceLocation, "/"), e.ErrorKind))
		}
		for _, cause := range e.Causes {
			visit(cause)
		}
	}
	if ok := asInvalid(err, &invalid); ok {
		visit(invalid)
	}
	return lines
}

func asInvalid(err error, into **jsonschema.ValidationError) bool {
	e, ok := err.(*jsonschema.ValidationError)
	*into = e
	return ok
}

// namesOf returns the names of a runtime.
func namesOf(t *testing.T, object map[string]any) editor.Names {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var runtime trainer.TrainingRuntime
	_ = json.Unmarshal(text, &runtime) // as far as it can be read
	named := editor.Runtime{Kind: runtime.Kind, Name: runtime.Name}
	for _, job := range runtime.Spec.Template.Spec.ReplicatedJobs {
		pod := job.Template.Spec.Template.Spec
		named.Jobs = append(named.Jobs, editor.Job{Name: job.Name, Containers: containers(pod.Containers), InitContainers: containers(pod.InitContainers)})
	}
	return editor.Names{Runtimes: []editor.Runtime{named}}
}

func containers(list []corev1.Container) []string {
	var names []string
	for i := range list {
		names = append(names, list[i].Name)
	}
	return names
}

// isOfSchema reports whether a schema can find what a finding reports.
func isOfSchema(f finding.Finding) bool {
	switch f.Code {
	case finding.CodeUnknownField, finding.CodeUnpatchable, finding.CodeUnknownJob, finding.CodeUnknownContainer, finding.CodeEnvOnMain:
		return true
	}
	return false
}

// TestAgreement compares the schemas of TrainJobs and runtimes with check.
func TestAgreement(t *testing.T) {
	n := testenv.NumberOr(t, "TRAINWELD_CASES", 60)
	for _, r := range release.Known() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			rejected, accepted := 0, 0
			for seed := range uint64(n) {
				d := fuzz.Released(seed*37, &r, fuzz.DocumentOptions{Changes: int(seed % 3)})
				dropNulls(d.Runtime)
				dropNulls(d.TrainJob)
				names := namesOf(t, d.Runtime)
				runtime, found := admission.AdmitRuntime(t.Context(), &r, d.Runtime, "default")
				kind, _ := d.Runtime["kind"].(string)
				compare(t, seed, d.Runtime, validator(t, kind, &r, editor.Names{}), append(found, decoded(t, &r, d.Runtime)...))
				if runtime == nil || found.Err() != nil {
					continue
				}
				found = admission.Check(t.Context(), admission.Input{Release: &r, TrainJob: d.TrainJob, Runtime: runtime, OnConflict: render.Last})
				if compare(t, seed, d.TrainJob, validator(t, "TrainJob", &r, names), append(found, decoded(t, &r, d.TrainJob)...)) {
					accepted++
				} else {
					rejected++
				}
			}
			t.Logf("%d TrainJobs accepted, %d rejected", accepted, rejected)
		})
	}
}

// dropNulls removes null fields, as an API server does. A schema rejects them: docs/editor.md says so.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			if field == nil {
				delete(v, name)
			}
			dropNulls(field)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

// decoded returns the findings on the text of an object.
func decoded(t *testing.T, r *release.Release, object map[string]any) finding.List {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	_, found, _ := manifest.NewAPI(r, nil).Decode("object.json", text, nil)
	return found
}

// compare compares the verdicts on an object, and reports whether the schema accepts it.
func compare(t *testing.T, seed uint64, object map[string]any, schema *jsonschema.Schema, found finding.List) bool {
	t.Helper()
	kind, _ := object["kind"].(string)
	problems := problems(schema.Validate(plain(t, object)))
	var errors, ofSchema finding.List
	for _, f := range found {
		if f.Severity >= finding.Error && f.Object.Kind == kind {
			errors = append(errors, f)
			if isOfSchema(f) {
				ofSchema = append(ofSchema, f)
			}
		}
	}
	if len(problems) > 0 && errors == nil {
		t.Errorf("seed %d, %s: check has no error, and the schema has\n%s", seed, kind, strings.Join(problems, "\n"))
	}
	if len(problems) == 0 && ofSchema != nil {
		t.Errorf("seed %d, %s: the schema accepts it, and check has %v", seed, kind, ofSchema)
	}
	return len(problems) == 0
}
