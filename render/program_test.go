package render_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/casefile"
)

// TestProgramEqualsTheCluster runs the program over every recorded input, as a user would. It
// compares the output of --to=jobs and --to=pods with the objects of a real control plane.
func TestProgramEqualsTheCluster(t *testing.T) {
	testenv.LongOnly(t, "it runs the program some hundred times")
	program := filepath.Join(t.TempDir(), "trainweld")
	if out, err := exec.Command("go", "build", "-o", program,
		"../cmd/trainweld").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	count := tally{}
	for _, dir := range caseFolders(t, casefile.Shared(t, cluster), recordedFile) {
		outcome := strings.Fields(readText(t, filepath.Join(dir, "want/outcome.txt")))[0]
		if outcome != "accepted" && outcome != "suspended" {
			continue
		}
		compareProgram(t, program, dir, outcome, count)
	}
	count.log(t)
}

func compareProgram(t *testing.T, program, dir, outcome string, count tally) {
	name := filepath.Base(dir)
	recorded := readRecording(t, dir)
	want := func(key, kind string) []object {
		return levelAll(ofKind(recorded.objects(key), kind))
	}
	run := func(flags ...string) []object {
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(
			program, append(
				[]string{"render", "-f", filepath.Join(dir, "input.yaml"), "-r", stockRuntimes(t),
					"-R", "--on-conflict=last", "--as=stored"}, flags...)...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, stderr.String())
			return nil
		}
		return levelAll(decodeStream(t, stdout.String()))
	}
	children := run("--to=jobs")
	count.add(t, "service", name,
		differences(want("service", "Service"), ofKind(children, "Service")))
	count.add(t, "jobs", name, differences(want("jobs", "Job"), ofKind(children, "Job")))
	if outcome == "suspended" {
		return
	}
	count.add(t, "pvcs", name,
		differences(want("others", "PersistentVolumeClaim"),
			ofKind(children, "PersistentVolumeClaim")))
	wantPods, gotPods := want("pods", "Pod"), run("--to=pods", "--jobset-uid=UID")
	count.add(t, "pods", name, differences(wantPods, recordable(wantPods, gotPods)))
}

// stockRuntimes is the folder of the runtimes that the trainer module ships, which some of the
// recorded TrainJobs name.
func stockRuntimes(t *testing.T) string {
	t.Helper()
	return filepath.Join(testenv.ModuleDir(t, "github.com/kubeflow/trainer/v2"),
		"manifests/base/runtimes")
}

func decodeStream(t *testing.T, text string) []object {
	t.Helper()
	var objects []object
	for _, document := range strings.Split("\n"+text, "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		if o != nil {
			objects = append(objects, o)
		}
	}
	return objects
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
