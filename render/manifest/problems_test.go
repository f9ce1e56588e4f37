package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/manifest"
)

func TestProblems(t *testing.T) {
	type problem struct {
		Name, In string
		Want     []string
		Reason   string
	}
	for _, tc := range append(casefile.Table[problem](t, "testdata/problems.yaml"), problem{
		"invalid UTF-8", job + "spec:\n  suspend: é\xff\n", []string{"4:13 error TW100"},
		"columns count characters", // and YAML cannot hold it
	}) {
		t.Run(tc.Name, func(t *testing.T) {
			documents, findings := manifest.Decode("in", []byte(tc.In))
			if diff := cmp.Diff(tc.Want, brief(findings)); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%v", tc.Reason, diff, findings)
			}
			for _, f := range findings {
				if f.Severity == finding.Error && f.Remedy.Text == "" {
					t.Errorf("%v: no help", f)
				}
			}
			for _, d := range documents {
				if d.Broken && (d.Object != nil || findings.Err() == nil) ||
					!d.Broken && d.Object == nil && d.APIVersion != "v1" {
					t.Errorf("%s: Broken is %t, Object %T", d.ID, d.Broken, d.Object)
				}
			}
		})
	}
}

func TestEmptyListsSurvive(t *testing.T) {
	for _, in := range []string{
		job + "spec: {trainer: {command: [], args: null}}\n",
		`{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","spec":{"trainer":{"command":[]}}}`,
		job + "spec: {trainer: {command: []}}\nmetadata: {labels: {y: a}}\n", // by way of the nodes
	} {
		documents, _ := manifest.Decode("in", []byte(in))
		tr := documents[0].Object.(*trainer.TrainJob).Spec.Trainer
		if tr.Command == nil || len(tr.Command) != 0 || tr.Args != nil {
			t.Errorf("%s: got command %#v, args %#v; an empty command clears the runtime's, none "+
				"keeps it", in, tr.Command, tr.Args)
		}
	}
}

// TestProblems_NothingQuoted holds that a message repeats no value of a file that may hold a
// password.
func TestProblems_NothingQuoted(t *testing.T) {
	for _, in := range []string{
		"password: *hunter2\n",
		"password: !!float hunter2\n",
		"password: \"hunter2\n",
		"? {hunter2: hunter2}\n: hunter2\n",
		"apiVersion: v1\nkind: Secret\n? {hunter2: hunter2}\n: hunter2\n",
		"apiVersion: v1\nkind: Secret\nstringData: {password: !!int hunter2}\n",
		"{\"password\": hunter2\n",
		"{\"password\": \"hunter2\"} hunter2\n",
		"hunter2\n",
		"- hunter2\n- token: hunter2\n",
		"token: |\n hunter2\n  hunter2\nhunter2\n",
		job + "spec: {trainer: {env: {TOKEN: hunter2}}}\n",
		job + "spec: {trainer: {env: [TOKEN=hunter2, !!int hunter2, *hunter2]}}\n",
		job + "spec: {trainer: {env: [{name: A, value: {a: hunter2}}, {name: B, value: !!float " +
			"hunter2}]}}\n",
	} {
		_, findings := manifest.Decode("in", []byte(in))
		_, patches := manifest.DecodePatches("in", []byte(in))
		all := append(findings, patches...)
		if len(all) == 0 && !strings.Contains(in, "Secret") {
			t.Errorf("Decode(%q) finds nothing", in)
		}
		for _, f := range all {
			if strings.Contains(f.Error(), "hunter2") {
				t.Errorf("Decode(%q) = %v, which repeats a value", in, f)
			}
		}
	}
}
