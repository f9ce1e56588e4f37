package manifest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/trainweld/trainweld/manifest"
)

func TestMayHoldRuntime(t *testing.T) {
	const job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  name: a\nspec:\n"
	for _, tc := range []struct {
		name, text string
		want       bool
		reason     string
	}{
		{"a TrainJob", job + "  runtimeRef:\n    name: torch\n", false, "it names no kind"},
		{"a TrainJob with a kind", job + "  runtimeRef:\n    name: torch\n    kind: ClusterTrainingRuntime\n", false, "the kind is that of its reference"},
		{"the kind first", job + "  runtimeRef:\n    kind: TrainingRuntime\n\n    name: torch\n", false, "the kind is that of its reference"},
		{"with line ends of Windows", strings.ReplaceAll(job+"  runtimeRef:\n    kind: TrainingRuntime\n", "\n", "\r\n"), false, "the kind is that of its reference"},
		{"two TrainJobs", job + "  runtimeRef:\n    kind: TrainingRuntime\n---\n" + job, false, "neither is a runtime"},
		{"a script", job + "  trainer:\n    command:\n    - |\n      a \\\n      b\n", false, "nothing is in double quotes"},
		{"a runtime", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\n", true, "it is one"},
		{"a runtime behind a TrainJob", job + "  runtimeRef:\n    kind: TrainingRuntime\n---\nkind: TrainingRuntime\n", true, "the second is one"},
		{"an indented runtime", "  apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainingRuntime\n", true, "documents may be indented"},
		{"a List", "kind: List\napiVersion: v1\nitems:\n- apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainingRuntime\n", true, "its item is one"},
		{"a typed List", "kind: ClusterTrainingRuntimeList\napiVersion: trainer.kubeflow.org/v1alpha1\nitems: [{}]\n", true, "its items are some"},
		{"JSON", `{"kind": "TrainingRuntime"}`, true, "it is one"},
		{"an escape", `{"kind": "\u0054rainingRuntime"}`, true, "it is one"},
		{"on a line of its own", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind:\n  TrainingRuntime\n", true, "a value may stand below its key"},
		{"in quotes", job + "  runtimeRef:\n    kind: \"TrainingRuntime\"\n", true, "in doubt it is looked at"},
		{"a merge key", "a: &a\n  runtimeRef: &r\n    kind: TrainingRuntime\n<<: *r\n", true, "the kind goes to the top"},
		{"a tag", "kind: !!binary VHJhaW5pbmdSdW50aW1l\n", true, "base64 spells it"},
		{"a text that looks like a reference", "kind: ClusterTrainingRuntime\nspec: |\n  runtimeRef:\n    kind: TrainingRuntime\n", true, "the other one is one"},
		{"below a text", "a: |\n  runtimeRef:\n kind: TrainingRuntime\n", true, "the line is not below runtimeRef"},
		{"a ConfigMap", "apiVersion: v1\nkind: ConfigMap\n", true, "it may be a snapshot"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := manifest.MayHoldRuntime([]byte(tc.text)); got != tc.want {
				t.Errorf("%v, want %v: %s", got, tc.want, tc.reason)
			}
			mustHoldNone(t, tc.name, []byte(tc.text))
		})
	}
}

// TestMayHoldRuntimeOfAllInputs reads all inputs of the project's tests: where it says
// no, there is no runtime.
func TestMayHoldRuntimeOfAllInputs(t *testing.T) {
	no := 0
	for _, dir := range []string{filepath.Join("..", "testdata"), "testdata"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			files := []txtar.File{{Name: path, Data: text}}
			if filepath.Ext(path) == ".txtar" {
				files = txtar.Parse(text).Files
			}
			for _, file := range files {
				if strings.HasPrefix(file.Name, "want/") || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file.Name)) {
					continue
				}
				if len(file.Data) <= 1<<16 && mustHoldNone(t, path, file.Data) {
					no++
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if no < 10 {
		t.Errorf("it says no of %d files only", no)
	}
}

// mustHoldNone fails if a no is wrong, and says whether it was a no.
func mustHoldNone(t *testing.T, name string, text []byte) bool {
	t.Helper()
	if manifest.MayHoldRuntime(text) {
		return false
	}
	documents, _ := manifest.Decode(name, text)
	for _, d := range documents {
		switch d.ID.Kind {
		case "TrainingRuntime", "ClusterTrainingRuntime", "ConfigMap":
			t.Errorf("%s holds %s", name, d.ID)
		}
	}
	return true
}
