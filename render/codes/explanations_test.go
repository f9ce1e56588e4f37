package codes_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// TestExplanations has an input with both causes for each row of the table: the code that the row
// omits is found without the row.
func TestExplanations(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "explanations.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]string{}
	for _, f := range txtar.Parse(text).Files {
		inputs[f.Name] = string(f.Data)
	}
	for row := range codes.Explanations() {
		code, by, isWithin := codes.Explanation(row)
		name := string(code) + " by " + string(by)
		if isWithin && code == codes.BadValue {
			name += ", within"
		}
		if by == codes.NoMerge {
			continue // of the verb merge, which has a session for it
		}
		input, ok := inputs[name]
		if !ok {
			t.Errorf("no input for %s", name)
			continue
		}
		runtime, job, _ := strings.Cut(input, "---\n")
		if !strings.Contains(runtime, "kind:") {
			runtime = inputs["runtime"]
		}
		want := 0
		if code == by { // two stages find one mistake
			want = 1
		}
		check := func(what string, want int) {
			found := judged(t, runtime, job)
			if n := len(found.Of(code)); found.Of(by) == nil || n != want {
				t.Errorf("%s: %d of %s%s, want %d: %v", name, n, code, what, want, found)
			}
		}
		check("", want)
		codes.WithoutExplanation(row, func() { check(" without the row", want+1) })
	}
}

// judged returns the findings of decoding and admission on a TrainJob.
func judged(t *testing.T, runtime, job string) finding.List {
	t.Helper()
	var of *release.Release
	for word, version := range map[string]string{
		"podTemplateOverrides": "2.1", "resources: {limits": "2.3", "claims:": "2.4"} {
		if strings.Contains(runtime+job, word) {
			of, _ = release.Parse(version)
		}
	}
	read := func(file, text string) *manifest.Document {
		documents, found, _ := manifest.NewAPI(of, nil).Decode(file, []byte(text), nil)
		if len(documents) != 1 {
			t.Fatalf("%s: %v\n%s", file, found, text)
		}
		return documents[0]
	}
	fields := func(d *manifest.Document) map[string]any {
		fields, err := d.ReadFields()
		if err != nil {
			t.Fatal(err)
		}
		return fields
	}
	admitted, rejected := admission.AdmitRuntime(t.Context(), of,
		fields(read("runtime.yaml", runtime)), "")
	d := read("job.yaml", job)
	found := admission.Check(
		t.Context(), admission.Input{Release: of, TrainJob: fields(d), Runtime: admitted})
	for i := range found {
		at := found[i].Path
		if n := slices.Index(
			at, fieldpath.Field("replicatedJobs")); found[i].Code == codes.UnknownJob {
			at = at[:n+2] // the item, as workspace.Locator has it
		}
		if claims := found[i].Claims; len(claims) > 0 {
			at = claims[len(claims)-1].At
		}
		if found[i].Object.Kind == d.ID.Kind {
			found[i].Position = d.Position(at)
		}
	}
	if f := admitted.Unlabeled(); f != nil {
		rejected = append(rejected, *f)
	}
	known, report := codes.NewReport(rejected, nil), d.Report()
	report.Add(found...)
	return slices.Concat(rejected, d.Findings, report.List().Where(func(f finding.Finding) bool {
		return !known.Explains(f)
	}))
}
