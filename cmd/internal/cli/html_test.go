package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// pageElements are the elements of pages.
var pageElements = []string{
	"html", "head", "meta", "title", "style", "script", "body", "header", "main", "footer", "nav",
	"section", "article", "div", "h1", "h2", "h3", "p", "a",
	"details", "summary", "table", "caption", "thead", "tbody", "tr", "th", "td", "ol", "ul", "li",
	"code", "b", "i", "wbr", "span", "strong", "mark",
	"fieldset", "legend", "label", "input", "svg", "g", "path", "text", "use",
}

// isPage holds that a page has the elements of this program only, and one script. No attribute may
// run or load something, and the policy has to forbid everything else.
func isPage(t *testing.T, args []string, text string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	scripts, policy := 0, ""
	for n := range root.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("%.60q writes a comment", args)
		}
		if n.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(pageElements, n.Data) {
			t.Errorf("%.60q writes an element %.60q", args, n.Data)
		}
		if n.Data == "script" {
			scripts++
		}
		for _, a := range n.Attr {
			switch name := strings.ToLower(a.Key); {
			case strings.HasPrefix(name, "on"), name == "src", name == "style", name == "srcdoc",
				name == "href" && !strings.HasPrefix(a.Val, "#") &&
					!strings.HasPrefix(a.Val, "https://github.com/"):
				t.Errorf("%.60q writes the attribute %s=%.60q", args, name, a.Val)
			case name == "content" && strings.HasPrefix(a.Val, "default-src"):
				policy = a.Val
			}
		}
	}
	if scripts != 1 || !strings.HasPrefix(policy, "default-src 'none'; ") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("%.60q writes %d scripts and the policy %q", args, scripts, policy)
	}
}

// TestHTML_Large holds the same for JobSets of 160 lines in which three managers set eleven fields
// to different values each.
func TestHTML_Large(t *testing.T) {
	testenv.LongOnly(t, "it writes large pages")
	t.Chdir(t.TempDir())
	if err := os.Mkdir("jobs", 0o777); err != nil {
		t.Fatal(err)
	}
	var job, settings strings.Builder
	for i := range 12 {
		fmt.Fprintf(&settings, "{name: SETTING_%d, value: %q}, ", i, "value")
	}
	spec := "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: " +
		"{name: large}\nspec:\n  mlPolicy: {torch: {}}\n  template:\n    spec:\n      " +
		"replicatedJobs:\n"
	for _, name := range []string{"init", "node"} {
		step := map[string]string{"init": "dataset-initializer", "node": "trainer"}[name]
		container := map[string]string{"init": step, "node": name}[name]
		spec += fmt.Sprintf(
			"      - {name: %s, template: {metadata: {labels: "+
				"{trainer.kubeflow.org/trainjob-ancestor-step: %s}}, spec: {template: {spec: "+
				"{nodeSelector: {pool: general, zone: a}, serviceAccountName: training, "+
				"volumes: [{name: data, persistentVolumeClaim: {claimName: corpus}}, {name: shm, "+
				"emptyDir: {medium: Memory}}], tolerations: [{key: spot, operator: Exists}],\n"+
				"          containers: [{name: %s, image: torch, env: [%s], volumeMounts: [{name: "+
				"data, mountPath: /data}, {name: shm, mountPath: /dev/shm}], resources: {limits: "+
				"{memory: 64Gi}, requests: {cpu: 8, memory: 64Gi}}}]}}}}}\n", name, step, container,
			settings.String())
	}
	if err := os.WriteFile("runtime.yaml", []byte(spec), 0o666); err != nil {
		t.Fatal(err)
	}
	for i := range manyJobs {
		job.Reset()
		fmt.Fprintf(&job,
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: "+
				"train-%d, namespace: team-%d}\nspec:\n  runtimeRef: {name: large}\n  trainer: "+
				"{numNodes: %d}\n  runtimePatches:\n", i, i%9, i+5)
		for _, manager := range []string{"trainer.kubeflow.org/kubeflow-sdk",
			"kueue.x-k8s.io/manager", "platform.example.com/defaults"} {
			value := fmt.Sprintf("%.3s-%d", manager, i)
			fmt.Fprintf(&job,
				"  - manager: %s\n    trainingRuntimeSpec:\n      template:\n        metadata: "+
					"{labels: {owner: %s, tier: research}}\n        spec:\n          "+
					"replicatedJobs:\n", manager, value)
			for _, name := range []string{"init", "node"} {
				fmt.Fprintf(&job,
					"          - name: %[1]s\n            template:\n              metadata: "+
						"{annotations: {cost-center: %[2]s}}\n              spec: {template: "+
						"{spec: {serviceAccountName: %[2]s, nodeSelector: {pool: %[2]s, zone: "+
						"%.3[2]s}, tolerations: [{key: %.3[2]s, operator: Exists}]}}}\n", name,
					value)
			}
		}
		if err := os.WriteFile(filepath.Join("jobs", fmt.Sprintf("job-%d.yaml", i)),
			[]byte(job.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	page := pageOf(t, []string{"blame", "jobs", "-r", "runtime.yaml"})
	if !strings.Contains(page, "Many lines") || strings.Count(page, "<caption>") != manyJobs*12+1 {
		t.Errorf("blame folds no line, or has %d tables of claims",
			strings.Count(page, "<caption>")-1)
	}
}

// manyJobs is the number of TrainJobs of a large page.
const manyJobs = 400

// pageOf returns the page of a command line, which has to show all TrainJobs in at most 5 MB.
func pageOf(t *testing.T, args []string) string {
	t.Helper()
	const most = 5_000_000
	var stdout, stderr bytes.Buffer
	p := host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Files: host.Files{}}
	if status := runLine(&p, append(args, "-o", "html")); status == exit.Failed {
		t.Fatalf("%q ends with status %d: %.2000s", args, status, stderr.String())
	}
	t.Logf("%s writes %d bytes", args[0], stdout.Len())
	if stdout.Len() > most {
		t.Errorf("%s writes %d bytes for %d TrainJobs, more than %d", args[0], stdout.Len(),
			manyJobs, most)
	}
	shown := map[string]bool{}
	for _, name := range regexp.MustCompile(`train-\d+`).FindAllString(stdout.String(), -1) {
		shown[name] = true
	}
	if len(shown) != manyJobs {
		t.Errorf("%s shows %d TrainJobs, want %d", args[0], len(shown), manyJobs)
	}
	return stdout.String()
}
