package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/render/policy"
)

// FuzzPolicy wants an answer to every policy file, and a position and a remedy for every mistake.
func FuzzPolicy(f *testing.F) {
	files, err := filepath.Glob("../../../testdata/*/trainweld.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("seeds %q: %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		"", "{}", "[1]", "version: 1\nmanagers: []\n", "managers: [{name: a}]\nrequired: [b]\n",
		"severities: {TW107: off, TW1: error}\n", "patches: [{file: ../p.yaml}]\n",
		"managers:\n- name: a.example.com/x\n  fields: [spec.replicatedJobs, " +
			"metadata.labels]\ncompose: {spec: union}\n", "version: 99999999999999999999\n",
		"a: &a [*a]\n",
	} {
		f.Add([]byte(text))
	}
	job := &trainer.TrainJob{}
	job.Spec.RuntimePatches = []trainer.RuntimePatch{{Manager: "a"}, {Manager: "b"}}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, found := policy.Parse("trainweld.yaml", data)
		for _, f := range found {
			if f.Position.File == "" || f.Remedy.Text == "" || f.Message == "" {
				t.Errorf("Parse(%q) finds %v without a place, a message or a remedy", data, f)
			}
			if strings.Contains(f.Message+f.Remedy.Text, "\n") {
				t.Errorf("Parse(%q) finds %q on several lines", data, f.Message)
			}
		}
		p.Check(job, nil)
		policy.IsManifest(data)
	})
}
