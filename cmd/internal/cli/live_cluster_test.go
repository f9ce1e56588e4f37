package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/casefile"
)

// liveReport is what diff --live reports as JSON.
type liveReport struct {
	status  int
	stderr  string
	Summary struct {
		Changed, Created, Removed, Same int
		Causes                          []struct{ Name string }
	}
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
		if path := filepath.Join(dir, "want", file); exists(path) {
			objects = append(objects, readAll(t, path)...)
		}
	}
	return objects
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readAll returns the object of a file, or the objects of its list.
func readAll(t *testing.T, path string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := yaml.Unmarshal(data, &value); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	objects := make([]map[string]any, len(list))
	for i, item := range list {
		objects[i] = item.(map[string]any)
	}
	return objects
}

// within returns the object at a path of field names, which it makes if necessary.
func within(o map[string]any, path ...string) map[string]any {
	for _, name := range path {
		next, ok := o[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			o[name] = next
		}
		o = next
	}
	return o
}

// TestDiffLive_Cluster compares every recorded input with the objects that a control plane stored. Nothing differs.
func TestDiffLive_Cluster(t *testing.T) {
	inputs, err := filepath.Glob(filepath.Join(casefile.Shared(t, cluster), "*", "want", "jobset.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, file := range inputs {
		if i%testenv.Every(8) != 0 {
			continue // all of them take minutes
		}
		dir := filepath.Dir(filepath.Dir(file))
		outcome, err := os.ReadFile(filepath.Join(dir, "want", "outcome.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if state := strings.Fields(string(outcome))[0]; state != "accepted" && state != "suspended" {
			continue
		}
		r := diffLive(t, recordedObjects(t, dir), filepath.Join(dir, "input.yaml"))
		compared++
		if r.status == 1 && strings.Contains(r.stderr, "TW400") && onlyStockImages(r) {
			continue // the recorder changed the images of the stock runtimes
		}
		if r.status != 0 {
			text, _ := json.Marshal(r.TrainJobs)
			t.Errorf("%s: status %d: %s %.1500s", filepath.Base(dir), r.status, r.stderr, text)
		}
	}
	if compared < 100/testenv.Every(8) {
		t.Errorf("only %d cases were compared", compared)
	}
}

// onlyStockImages reports whether a report has no difference other than the tags of the project's own images.
func onlyStockImages(r liveReport) bool {
	for _, job := range r.TrainJobs {
		for _, o := range job.Objects {
			for _, c := range o.Changes {
				before, _ := c.Old.(string)
				after, _ := c.New.(string)
				untagged, _, _ := strings.Cut(before, ":")
				if !strings.HasSuffix(c.Path, ".image") || !strings.HasPrefix(before, "ghcr.io/kubeflow/trainer/") || untagged != after {
					return false
				}
			}
		}
	}
	return true
}

// TestDiffLive_Defaults compares inputs with the objects that Kubernetes' own code made of them, with all defaults. That code ran
// no admission and no webhook. So the Pods get their label, a token, a node and the usual tolerations here.
func TestDiffLive_Defaults(t *testing.T) {
	results, err := filepath.Glob(filepath.Join(casefile.Shared(t, "../../../internal/testdata/probe"), "*", "want", "pods", "result.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, result := range results {
		if i%testenv.Every(8) != 0 {
			continue
		}
		pods := filepath.Dir(result)
		dir := filepath.Dir(filepath.Dir(pods))
		dump := readAll(t, filepath.Join(dir, "want", "jobset.yaml"))
		files, err := filepath.Glob(filepath.Join(pods, "[jp]o[bd].*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		exclusive := false
		for _, file := range files {
			for _, o := range readAll(t, file) {
				if _, exclusive = within(o, "metadata", "annotations")["alpha.jobset.sigs.k8s.io/exclusive-topology"]; exclusive {
					break
				}
				if o["kind"] == "Pod" {
					admitLike(o)
				} else {
					o["status"] = map[string]any{"startTime": "2026-11-20T09:00:00Z"}
				}
				dump = append(dump, o)
			}
		}
		inputs := []string{filepath.Join(dir, "trainjob.yaml")}
		if runtime := filepath.Join(dir, "runtime.yaml"); exists(runtime) {
			inputs = append(inputs, "-r", runtime)
		}
		if exclusive || !exists(inputs[0]) {
			continue
		}
		r := diffLive(t, dump, inputs...)
		if r.status == 2 {
			continue // the command rejects what the code in process did not
		}
		compared++
		if r.status != 0 {
			text, _ := json.Marshal(r.TrainJobs)
			t.Errorf("%s: status %d: %s %.1500s", filepath.Base(dir), r.status, r.stderr, text)
		}
	}
	if compared < 100/testenv.Every(8) {
		t.Errorf("only %d cases were compared", compared)
	}
}

// admitLike changes a Pod as the admission plugins and the webhook of JobSet do.
func admitLike(pod map[string]any) {
	spec := within(pod, "spec")
	if _, placed := within(pod, "metadata", "annotations")["alpha.jobset.sigs.k8s.io/node-selector"]; !placed {
		if _, class := spec["priorityClassName"]; !class {
			within(pod, "metadata", "labels")["jobset.sigs.k8s.io/priority"] = "0"
		}
	}
	for _, key := range []string{"not-ready", "unreachable"} {
		list, _ := spec["tolerations"].([]any)
		spec["tolerations"] = append(list, map[string]any{"key": "node.kubernetes.io/" + key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
	}
	volumes, _ := spec["volumes"].([]any)
	spec["volumes"] = append(volumes, map[string]any{"name": "kube-api-access-4t9xz", "projected": map[string]any{"defaultMode": 420}})
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := spec[list].([]any)
		for _, item := range containers {
			c := item.(map[string]any)
			mounts, _ := c["volumeMounts"].([]any)
			c["volumeMounts"] = append(mounts, map[string]any{"name": "kube-api-access-4t9xz", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true})
		}
	}
	if spec["serviceAccountName"] == nil {
		spec["serviceAccountName"], spec["serviceAccount"] = "default", "default"
	}
	spec["nodeName"], spec["preemptionPolicy"] = "node-1", "PreemptLowerPriority"
	if spec["priorityClassName"] == nil {
		spec["priority"] = 0
	}
}
