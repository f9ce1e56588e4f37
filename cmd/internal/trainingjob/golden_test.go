package trainingjob_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/trainingjob"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/manifest"
)

var update = flag.Bool("update", false, "rewrite what the cases of testdata compare with")

// TestGolden converts the cases of testdata. Each is an archive: a reason, the job (job.yaml),
// options and an existing runtime (runtime.yaml). It also has the results: the findings and the
// objects. The cluster accepts every result.
func TestGolden(t *testing.T) {
	archives := casefile.Read(t, "testdata/*.txtar")
	if len(archives) < 30 {
		t.Fatalf("%d cases", len(archives))
	}
	for _, archive := range archives {
		t.Run(archive.Name(), func(t *testing.T) { golden(t, archive) })
	}
}

func golden(t *testing.T, archive casefile.Archive) {
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		t.Error("the case does not say its reason")
	}
	text := map[string][]byte{}
	for _, f := range archive.Files {
		text[f.Name] = f.Data
	}
	var opts trainingjob.Options
	if err := yaml.UnmarshalStrict(text["options"], &opts); err != nil {
		t.Fatal(err)
	}
	var head struct{ Kind string }
	if err := yaml.Unmarshal(text["job.yaml"], &head); err != nil {
		t.Fatal(err)
	}
	job := trainingjob.New(head.Kind)
	if err := yaml.UnmarshalStrict(text["job.yaml"], job); err != nil {
		t.Fatal(err)
	}
	result, findings := trainingjob.Convert(job, opts)
	if (result == nil) != (findings.Err() != nil) {
		t.Errorf("both a result and errors, or neither: %v", findings.Err())
	}
	got := map[string]string{"findings": findingsText(findings), "want.yaml": ""}
	if result != nil {
		var b bytes.Buffer
		if err := manifest.Encode(&b, manifest.YAML, result.Objects()...); err != nil {
			t.Fatal(err)
		}
		got["want.yaml"] = b.String()
		accepted(t, result)
	}
	for _, name := range []string{"findings", "want.yaml"} {
		if *update {
			text[name] = []byte(got[name])
		} else if diff := cmp.Diff(string(text[name]), got[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if *update {
		rewrite(t, archive, text)
	}
}

func findingsText(findings finding.List) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s %s\n", f.Severity, f.Error())
	}
	return b.String()
}

func rewrite(t *testing.T, archive casefile.Archive, text map[string][]byte) {
	out := &txtar.Archive{Comment: archive.Comment}
	for _, name := range []string{"options", "job.yaml", "findings", "want.yaml"} {
		if text[name] != nil {
			out.Files = append(out.Files, txtar.File{Name: name, Data: text[name]})
		}
	}
	if err := os.WriteFile(archive.File, txtar.Format(out), 0o666); err != nil {
		t.Fatal(err)
	}
}

// accepted asks admission about what was made.
func accepted(t *testing.T, result *trainingjob.Result) {
	t.Helper()
	ctx := context.Background()
	runtimeFields, err := admission.Encode(result.Runtime)
	if err != nil {
		t.Fatal(err)
	}
	jobFields, err := admission.Encode(result.TrainJob)
	if err != nil {
		t.Fatal(err)
	}
	admitted, findings := admission.AdmitRuntime(ctx, nil, runtimeFields, "default")
	findings = append(
		findings, admission.Check(
			ctx, admission.Input{TrainJob: jobFields, Runtime: admitted,
				PriorityClasses: []string{"high"}})...)
	if err := findings.Err(); err != nil {
		t.Errorf("the cluster would reject it: %v", err)
	}
}
