package render_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/schema"
	"github.com/trainweld/trainweld/schema/manifest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestPolicyGoldens renders the folders of testdata/policies: input.yaml says in its first lines what it
// shows, want.yaml is what comes out, and findings.txt what is said about it.
func TestPolicyGoldens(t *testing.T) {
	options := map[string]render.Options{
		"stored":         {As: render.Stored},
		"trainjobstatus": {FeatureGates: render.FeatureGates{TrainJobStatus: true}},
	}
	for _, dir := range caseFolders(t, "../testdata/policies", "input.yaml") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			input := filepath.Join(dir, "input.yaml")
			if text, err := os.ReadFile(input); err != nil || !bytes.HasPrefix(text, []byte("# ")) {
				t.Errorf("%s does not say what it shows (%v)", input, err)
			}
			out, err := render.JobSet(readInput(t, input), options[filepath.Base(dir)])
			if err != nil {
				t.Fatal(err)
			}
			objects := []any{out.JobSet}
			for _, companion := range out.Companions {
				objects = append(objects, companion)
			}
			var got bytes.Buffer
			if err := manifest.Encode(&got, manifest.YAML, objects...); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join(dir, "want.yaml"), got.Bytes())
			var findings schema.Findings
			for _, f := range out.Findings {
				if f.Severity > schema.Note && f.Code != schema.CodeShadowed { // that one has tests of its own
					findings = append(findings, f)
				}
			}
			golden(t, filepath.Join(dir, "findings.txt"), []byte(findings.Error()))
		})
	}
}

// golden compares with a file, which is absent where there is nothing to hold.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if len(got) > 0 && got[len(got)-1] != '\n' {
		got = append(got, '\n')
	}
	if *update {
		var err error
		if len(got) > 0 {
			err = os.WriteFile(file, got, 0o644)
		} else if err = os.Remove(file); os.IsNotExist(err) {
			err = nil
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}
