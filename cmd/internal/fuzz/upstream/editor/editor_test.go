// Package editor compares the schemas for editors with check on random objects. If the schema rejects a file, check reports an error.
// If check reports an error that a schema can find, the schema rejects the file.
package editor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/cmd/internal/editor"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/fuzz"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
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
	var lines []string
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		if e, ok := e.ErrorKind.(*kind.Enum); ok && e.Got == "" {
			return // an empty string is none of the words of a field, and may stand there
		}
		if len(e.Causes) == 0 {
			lines = append(lines, fmt.Sprintf("/%s: %v", strings.Join(e.InstanceLocation, "/"), e.ErrorKind))
		}
		for _, cause := range e.Causes {
			visit(cause)
		}
	}
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		visit(invalid)
	}
	return lines
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

// isOfSchema reports whether a schema can find the problem of a finding. The schema leaves managedFields open.
func isOfSchema(f finding.Finding) bool {
	if f.Path.HasPrefix(fieldpath.Fields("metadata")) {
		return false
	}
	switch f.Code {
	case codes.WrongType, codes.MissingField, codes.BadManager, codes.UnknownRuntime, codes.UnknownField, codes.Unpatchable, codes.UnknownJob, codes.UnknownContainer, codes.EnvOnMain:
		return true
	}
	return false
}

// TestAgreement compares the schemas of TrainJobs and runtimes with check.
func TestAgreement(t *testing.T) {
	n := testenv.NumberOr(t, "TRAINWELD_CASES", 60)
	reached := reached{codes: map[finding.Code]int{}}
	t.Run("releases", func(t *testing.T) {
		for _, r := range release.Known() {
			t.Run(r.Name, func(t *testing.T) {
				t.Parallel()
				agree(t, &r, uint64(n), &reached)
			})
		}
	})
	for _, code := range []finding.Code{codes.UnknownField, codes.WrongType, codes.MissingField, codes.UnknownContainer, codes.EnvOnMain} {
		if reached.codes[code] == 0 && n >= 60 {
			t.Errorf("no object has a finding %s", code)
		}
	}
	if reached.accepted < int(n)/2 {
		t.Errorf("the schemas accept %d objects of %d seeds", reached.accepted, n)
	}
}

// reached counts the features that the objects cover.
type reached struct {
	mu       sync.Mutex
	codes    map[finding.Code]int
	accepted int
}

// agree compares the verdicts on the documents of n seeds.
func agree(t *testing.T, r *release.Release, n uint64, reached *reached) {
	runtimes := map[string]*jsonschema.Schema{}
	for _, kind := range []string{trainer.TrainingRuntimeKind, trainer.ClusterTrainingRuntimeKind} {
		runtimes[kind] = validator(t, kind, r, editor.Names{})
	}
	for seed := range n {
		d := fuzz.Released(seed*37, r, fuzz.DocumentOptions{Changes: int(seed % 3)})
		dropNulls(d.Runtime)
		dropNulls(d.TrainJob)
		runtime, found := admission.AdmitRuntime(t.Context(), r, d.Runtime, "default")
		var ofJob finding.List
		if runtime != nil {
			ofJob = admission.Check(t.Context(), admission.Input{Release: r, TrainJob: d.TrainJob, Runtime: runtime, OnConflict: render.Last})
		}
		kind, _ := d.Runtime["kind"].(string)
		compare(t, seed, d.Runtime, runtimes[kind], slices.Concat(found, ofJob, decoded(t, r, d.Runtime)), reached)
		if runtime != nil && found.Err() == nil {
			compare(t, seed, d.TrainJob, validator(t, trainer.TrainJobKind, r, namesOf(t, d.Runtime)), append(ofJob, decoded(t, r, d.TrainJob)...), reached)
		}
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

// compare compares the verdicts on an object.
func compare(t *testing.T, seed uint64, object map[string]any, schema *jsonschema.Schema, found finding.List, reached *reached) {
	t.Helper()
	kind, _ := object["kind"].(string)
	problems := problems(schema.Validate(plain(t, object)))
	var ofSchema finding.List
	reached.mu.Lock()
	defer reached.mu.Unlock()
	for _, f := range found {
		if f.Severity >= finding.Error && f.Object.Kind == kind && isOfSchema(f) {
			ofSchema = append(ofSchema, f)
			reached.codes[f.Code]++
		}
	}
	switch {
	case len(problems) > 0 && found.Err() == nil:
		t.Errorf("seed %d, %s: check has no error, and the schema has\n%s", seed, kind, strings.Join(problems, "\n"))
	case len(problems) == 0 && ofSchema != nil:
		t.Errorf("seed %d, %s: the schema accepts it, and check has %v", seed, kind, ofSchema)
	case len(problems) == 0:
		reached.accepted++
	}
}
