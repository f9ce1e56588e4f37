package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/internal/host"
)

// liveReport is what diff --live reports as JSON.
type liveReport struct {
	status    int
	stderr    string
	Summary   struct{ Changed, Created, Removed, Same int }
	TrainJobs []struct {
		Name, State string
		Objects     []struct {
			Kind, Name, State string
			Changes           []struct {
				Kind, Path string
				Old, New   any
				After      []struct{ Layer, File string }
			}
		}
	}
	Notes []string
}

// diffLive compares a file with a dump.
func diffLive(t *testing.T, dump []map[string]any, args ...string) liveReport {
	t.Helper()
	items := make([]any, len(dump))
	for i := range dump {
		items[i] = dump[i]
	}
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	p := host.Program{Stdin: bytes.NewReader(list), Stdout: &stdout, Stderr: &stderr, Files: host.Files{}}
	r := liveReport{}
	r.status = runLine(&p, append([]string{"diff", "--live=-", "-o=json"}, args...))
	r.stderr = stderr.String()
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil && r.status != 2 {
		t.Fatalf("%q: status %d: %v\n%s%s", args, r.status, err, stdout.String(), stderr.String())
	}
	return r
}

// recordedObjects returns the JobSet, the Jobs and the Pods that a control plane stored.
func recordedObjects(t *testing.T, dir string) []map[string]any {
	t.Helper()
	var objects []map[string]any
	for _, file := range []string{"jobset.yaml", "jobs.yaml", "pods.yaml"} {
		data, err := os.ReadFile(filepath.Join(dir, "want", file))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := yaml.Unmarshal(data, &value); err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		for _, item := range list {
			objects = append(objects, maps.Clone(item.(map[string]any)))
		}
	}
	return objects
}

// TestDiffLive_Cluster compares every recorded input with the objects that a control plane stored. Nothing differs.
func TestDiffLive_Cluster(t *testing.T) {
	inputs, err := filepath.Glob(filepath.Join(casefile.UnpackGroups(t, cluster), "*", "want", "jobset.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, file := range inputs {
		dir := filepath.Dir(filepath.Dir(file))
		outcome, err := os.ReadFile(filepath.Join(dir, "want", "outcome.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if state := strings.Fields(string(outcome))[0]; state != "accepted" && state != "suspended" {
			continue
		}
		r := diffLive(t, recordedObjects(t, dir), filepath.Join(dir, "input.yaml"))
		if strings.Contains(r.stderr, "error TW400") {
			continue // the input names a stock runtime of the recorder
		}
		compared++
		if r.status != 0 {
			text, _ := json.Marshal(r.TrainJobs)
			t.Errorf("%s: status %d: %s %.1500s", filepath.Base(dir), r.status, r.stderr, text)
		}
	}
	t.Logf("%d compared", compared)
}
