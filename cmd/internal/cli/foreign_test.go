package cli

import (
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/trainweld/trainweld/internal/testenv"
)

// foreignList is a list of a function that merges a patch into a Deployment, which ends the text.
const foreignList = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig:
  apiVersion: trainweld.github.io/v1alpha1
  kind: MergePatches
  patches:
  - {manager: a, target: {kind: Deployment}, patch: {spec: {template: {spec: {containers: [{name: c0, env: [{name: A, value: MARK}, {name: A, value: 5}]}]}}}}}
items:
- `

func inUTF16(text string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// TestForeignFiles names files that are not manifests, or that have mistakes around a variable, in
// each place that reads one: testdata/foreign.txtar. No message repeats a word of them. A short run
// gives each file to some of the command lines, others in each run.
func TestForeignFiles(t *testing.T) {
	const job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " +
		"llm}\nspec: {runtimeRef: {name: rt}, trainer: {numNodes: 1}}\n"
	lines, files := archiveOf(t, "foreign")
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"job.yaml": job, "config/job.yaml": job, "policy/job.yaml": job, "patch/job.yaml": job,
		"cases/a/job.yaml": job, "cases/b/job.yaml": job, "rt.yaml": valuesRuntime,
		"cases/rt.yaml": valuesRuntime,
		"dep.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " +
			"a}\nspec: {replicas: 1}\n",
		"pt.yaml": "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: " +
			"{name: p}\nspec: {pytorchReplicaSpecs: {Worker: {template: {spec: {containers: " +
			"[{name: pytorch, image: i}]}}}}}\n",
		"policy.yaml":                 "managers: [{name: a.io/b, paths: [nodeSelector]}]\n",
		"policy/trainweld.yaml":       "policy: policy.yaml\n",
		"patch/trainweld.yaml":        "patches:\n- file: patch.yaml\n",
		"cases/b/options.yaml":        "on-conflict: last\n",
		"resource/kustomization.yaml": "resources: [foreign.yaml]\n",
	} {
		testenv.WriteIn(t, ".", name, text)
	}
	files = append(files, txtar.File{Name: "UTF-16", Data: []byte(inUTF16("password: MARK\n"))})
	for _, f := range files {
		if text := string(f.Data); strings.HasPrefix(strings.ToLower(text), "env:") {
			files = append(files, txtar.File{Name: "fn " + f.Name, Data: []byte(
				foreignList + indented("  ", workDeployment+"      - name: c0"+
					indented("        ", "\n"+text)) + "\n")})
		}
	}
	every, first := uint64(testenv.Every(20)), testenv.Seed(t)
	for i, f := range files {
		text := sized(string(f.Data), 1)
		if strings.HasPrefix(strings.ToLower(text), "env:") {
			text = sized("#trainjob llm rt\n", 1) + indented("    ", "\n"+text)[1:]
		}
		text = strings.ReplaceAll(text, "MARK", marker)
		for _, file := range []string{"foreign.yaml", "config/trainweld.yaml", "policy/policy.yaml",
			"patch/patch.yaml", "cases/a/options.yaml", "cases/b/want/default_llm.yaml",
			"out/.trainweld-files",
			"resource/foreign.yaml", "kustomization/kustomization.yaml"} {
			testenv.WriteIn(t, ".", file, text)
		}
		for j, line := range lines {
			if (first+uint64(i+j))%every != 0 {
				continue
			}
			stdin := ""
			if strings.HasSuffix(line, " <\n") {
				stdin = text
			}
			words := strings.Fields(strings.NewReplacer("FILE", "foreign.yaml", " <\n",
				"").Replace(line))
			for said := range strings.Lines(told(stdin, words...)) {
				if strings.Contains(strings.ToLower(said), strings.ToLower(marker)) {
					t.Errorf("%s: %s: %.200s", f.Name, line, said)
				}
			}
		}
	}
	if left, err := os.ReadFile("job.yaml"); err != nil || string(left) != job {
		t.Errorf("job.yaml was changed: %s, %v", left, err)
	}
}
