//go:build unix

package bench

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/trainweld/trainweld/cmd/internal/cli"
	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/roundrobin"
)

// podSpec is the Pod of both sides, and podPatch its patch.
const (
	podSpec = `
      containers:
      - name: proxy
        image: registry.example.com/proxy:2
        ports: [{name: http, containerPort: 8080}]
        resources:
          limits: {cpu: "1", memory: 1Gi}
      - name: server
        image: registry.example.com/server:7
        args: [--port=8081, --workers=4]
        env:
        - {name: MODE, value: production}
        - {name: LOG, value: info}
        volumeMounts: [{name: data, mountPath: /data}]
      volumes:
      - name: data
        emptyDir: {}
`
	podPatch = `
      nodeSelector: {pool: reserved}
      containers:
      - name: server
        env: [{name: LOG, value: debug}, {name: QUEUE, value: a}]
      - name: agent
        image: registry.example.com/agent:1
`
)

// jobSet and jobSetPatch are of the side of fn, by the definition of JobSet, and deployment and
// deploymentPatch of kustomize's.
func jobSet(n int) string {
	return fmt.Sprintf(
		"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata:\n  name: web-%d\n  "+
			"labels: {app: web}\nspec:\n  replicatedJobs:\n  - name: node\n    template:\n"+
			"      spec:\n        template:\n          spec:%s", n,
		strings.ReplaceAll(podSpec, "\n", "\n      "))
}

func deployment(n int) string {
	return fmt.Sprintf(
		"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-%d\n  labels: {app: "+
			"web}\nspec:\n  replicas: 2\n  selector:\n    matchLabels: {app: web}\n"+
			"  template:\n    metadata:\n      labels: {app: web}\n    spec:%s", n, podSpec)
}

var (
	jobSetPatch = "spec:\n  replicatedJobs:\n  - name: node\n    template:\n      spec:\n    " +
		"    template:\n          spec:" + strings.ReplaceAll(podPatch, "\n", "\n      ")
	deploymentPatch = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: any\nspec:\n  " +
		"template:\n    spec:" + podPatch
)

// indented indents all lines of a text.
func indented(text string, n int) string {
	indent := strings.Repeat(" ", n)
	return indent + strings.ReplaceAll(strings.TrimRight(text, "\n "), "\n", "\n"+indent) + "\n"
}

// mergeList returns the input of fn: a patch for n JobSets.
func mergeList(n int) string {
	var b strings.Builder
	b.WriteString(
		"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  apiVersion: " +
			"trainweld.github.io/v1alpha1\n  kind: MergePatches\n" +
			"  patches:\n  - manager: team\n    target: {kind: JobSet}\n    patch:\n" +
			indented(jobSetPatch, 6) + "items:\n")
	for i := range n {
		b.WriteString("- " + strings.TrimLeft(indented(jobSet(i), 2), " "))
	}
	return b.String()
}

// kustomization returns a folder with n Deployments, and a patch for them if patched.
func kustomization(tb testing.TB, n int, patched bool) filesys.FileSystem {
	tb.Helper()
	fs := filesys.MakeFsInMemory()
	var all strings.Builder
	for i := range n {
		all.WriteString("---\n" + deployment(i))
	}
	text := "resources: [all.yaml]\n"
	if patched {
		text += "patches:\n- target: {kind: Deployment}\n  path: patch.yaml\n"
	}
	for file, text := range map[string]string{
		"all.yaml": all.String(), "patch.yaml": deploymentPatch, "kustomization.yaml": text} {
		if err := fs.WriteFile("/"+file, []byte(text)); err != nil {
			tb.Fatal(err)
		}
	}
	return fs
}

func kustomize(fs filesys.FileSystem) (string, error) {
	result, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, "/")
	if err != nil {
		return "", err
	}
	text, err := result.AsYaml()
	return string(text), err
}

// fn runs the command in this process.
func fn(list string) (string, error) {
	var stdout, stderr bytes.Buffer
	p := &host.Program{Stdin: strings.NewReader(list), Stdout: &stdout, Stderr: &stderr,
		Files: host.Files{}}
	args := []string{"fn"}
	if status := commandline.Run(p, args, func(p *host.Program) *cobra.Command {
		return cli.Root(p, args)
	}); status != exit.Done {
		return "", fmt.Errorf("status %d: %s", status, stderr.String())
	}
	return stdout.String(), nil
}

// BenchmarkFn merges a patch into 1,000 JobSets by their definition, with owners. For comparison,
// kustomize merges a patch strategically into as many Deployments of the same Pods. The build of
// kustomize without the patch shows the cost of its merge.
func BenchmarkFn(b *testing.B) {
	const objects = 1000
	list, patched, bare := mergeList(objects), kustomization(b, objects, true),
		kustomization(b, objects, false)
	ours := &roundrobin.Side{Name: "fn", Run: func() error { _, err := fn(list); return err }}
	theirs := &roundrobin.Side{Name: "kustomize", Run: func() error {
		_, err := kustomize(patched)
		return err
	}}
	build := &roundrobin.Side{Name: "build", Run: func() error {
		_, err := kustomize(bare)
		return err
	}}
	sides := []*roundrobin.Side{ours, theirs, build}
	roundrobin.Whole(b, 5, sides...)
	for _, s := range sides {
		b.ReportMetric(s.CPU()/1e6/objects, s.Name+"-cpu-ms")
	}
	b.ReportMetric(ours.CPU()/theirs.CPU(), "times-kustomize-cpu")
	b.ReportMetric(ours.Quick()/theirs.Quick(), "times-kustomize-wall")
}

// TestSides_Fn holds that both sides patch each object.
func TestSides_Fn(t *testing.T) {
	const objects = 3
	ours, err := fn(mergeList(objects))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := kustomize(kustomization(t, objects, true))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{ours, theirs} {
		for _, part := range []string{"image: registry.example.com/agent:1", "pool: reserved",
			"value: debug", "name: QUEUE", "image: registry.example.com/proxy:2"} {
			if got := strings.Count(text, part) -
				strings.Count(text[:strings.Index(text, "items:")+1], part); got != objects {
				t.Errorf("%d times %q, want %d in:\n%s", got, part, objects, text)
			}
		}
	}
}
