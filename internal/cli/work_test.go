package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/internal/exit"
	"github.com/trainweld/trainweld/internal/testenv"
)

// TestWorkIsLinear holds the work that inputs choose: ten times the input may take little more than ten times the
// steps. A step is a statement that the program runs, as the instrumentation for coverage counts it.
func TestWorkIsLinear(t *testing.T) {
	if testing.Short() || testenv.Race {
		t.Skip("it builds the program once more, and counts statements")
	}
	program := filepath.Join(t.TempDir(), "trainweld")
	build := exec.Command("go", "build", "-cover", "-covermode=count", "-coverpkg=github.com/trainweld/trainweld/...", "-o", program, "../../cmd/trainweld")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tc := range []struct {
		name string
		args []string // after the files
		file func(n int) string
		n    int // of the smaller input
	}{
		{"check variables of a wrong type", []string{"check"}, trainJobOf(env(`{name: V%d, value: %[1]d}`)), 1000},
		{"check variables with bad names", []string{"check"}, trainJobOf(env(`{name: "V=%d", value: a}`)), 500},
		{"check good variables", []string{"check"}, trainJobOf(env(`{name: V%d, value: a}`)), 500},
		{"check variables as JSON", []string{"check", "-o", "json"}, trainJobOf(env(`{name: V%d, value: %[1]d}`)), 500},
		{"check unknown fields", []string{"check", "-o", "json"}, trainJobOf(lines("    unknown%d: 1\n")), 300},
		{"check labels", []string{"check", "-o", "json"}, trainJobOf(patched("metadata: {labels: {%s}}", `k%d: "-"`)), 300},
		{"check node selectors", []string{"check", "-o", "json"}, trainJobOf(patched("spec: {nodeSelector: {%s}}", `"k %d": a`)), 300},
		{"check one long line", []string{"check", "-o", "junit"}, trainJobOf(patched("spec: {nodeSelector: {%s}}", `"k %d": a`)), 300},
		{"check tolerations", []string{"check", "-o", "json"}, trainJobOf(patched("spec: {tolerations: [%s]}", `{key: "a %d"}`)), 300},
		{"check volumes", []string{"check", "-o", "json"}, trainJobOf(patched("spec: {volumes: [%s]}", `{name: V%d, emptyDir: {}}`)), 300},
		{"check pull secrets", []string{"check", "-o", "json"}, trainJobOf(patched("spec: {imagePullSecrets: [%s]}", `{name: a%d}`)), 300},
		{"check mounts", []string{"check", "-o", "json"}, trainJobOf(patched("spec: {containers: [{name: node, volumeMounts: [%s]}]}", `{name: a%d, mountPath: /a%[1]d}`)), 300},
		{"check containers", []string{"check", "-o", "json"}, trainJobOf(patched("spec: {containers: [%s]}", `{name: a%d}`)), 200},
		{"check documents", []string{"check", "-o", "json"}, func(n int) string { return times(n, "---\n"+trainJob("a%d", "")) }, 50},
		{"check documents of one name", []string{"check", "-o", "json"}, func(n int) string { return times(n, "---\n"+trainJob("a", "")) }, 50},
		{"conflicts on variables", []string{"conflicts", "-o", "json"}, trainJobOf(contested("spec: {containers: [{name: node, env: [%s]}]}", `{name: V%d, value: M}`)), 300},
		{"conflicts on labels", []string{"conflicts"}, trainJobOf(contested("metadata: {labels: {%s}}", `k%d: M`)), 300},
		{"conflicts on volumes", []string{"conflicts", "-o", "json"}, trainJobOf(contested("spec: {volumes: [%s]}", `{name: v%d, hostPath: {path: /M}}`)), 300},
		{"blame variables", []string{"blame"}, trainJobOf(env(`{name: V%d, value: a}`)), 300},
		{"blame labels", []string{"blame"}, trainJobOf(patched("metadata: {labels: {%s}}", `k%d: a`)), 300},
		{"blame volumes", []string{"blame"}, trainJobOf(patched("spec: {volumes: [%s]}", `{name: v%d, emptyDir: {}}`)), 300},
		{"diff variables", []string{"diff"}, trainJobOf(env(`{name: V%d, value: SIDE}`)), 300},
		{"diff labels", []string{"diff", "-o", "json"}, trainJobOf(patched("metadata: {labels: {%s}}", `k%d: SIDE`)), 300},
		{"diff volumes", []string{"diff", "-o", "markdown"}, trainJobOf(patched("spec: {volumes: [%s]}", `{name: v%d, hostPath: {path: /SIDE}}`)), 300},
		{"diff documents", []string{"diff"}, func(n int) string { return times(n, "---\n"+trainJob("a%d", "    image: SIDE\n")) }, 50},
		{"diff with live variables", []string{"diff", "--live"}, trainJobOf(env(`{name: V%d, value: SIDE}`)), 300},
		{"diff with live labels", []string{"diff", "-o", "json", "--live"}, trainJobOf(patched("metadata: {labels: {%s}}", `k%d: SIDE`)), 300},
		{"diff with live documents", []string{"diff", "--live"}, func(n int) string { return times(n, "---\n"+trainJob("a%d", "    image: SIDE\n")) }, 50},
		{"render variables", []string{"render", "--to=pods"}, trainJobOf(env(`{name: V%d, value: a}`)), 500},
		{"render documents", []string{"render"}, func(n int) string { return times(n, "---\n"+trainJob("a%d", "")) }, 50},
		{"render merge keys", []string{"render"}, trainJobOf(func(n int) string {
			return "    env:\n    - &a {name: A, value: a}\n" + times(n, "    - {<<: *a, name: V%d}\n")
		}), 300},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			few, many := steps(t, program, tc.args, tc.file(tc.n)), steps(t, program, tc.args, tc.file(10*tc.n))
			if ratio := float64(many) / float64(few); ratio > 13 {
				t.Errorf("10 times the input takes %.1f times the steps: %d, %d", ratio, few, many)
			}
		})
	}
}

const workRuntime = `
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: a}]}}}
`

// trainJob is a TrainJob whose spec.trainer, the last of its fields, goes on with the text.
func trainJob(name, text string) string {
	return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " + name + "}\nspec:\n  runtimeRef: {name: torch}\n  trainer:\n    numNodes: 2\n" + text
}

func trainJobOf(text func(n int) string) func(n int) string {
	return func(n int) string { return trainJob("a", text(n)) }
}

func lines(format string) func(n int) string { return func(n int) string { return times(n, format) } }

func env(item string) func(n int) string {
	return func(n int) string { return "    env:\n" + times(n, "    - "+item+"\n") }
}

// patched is one manager's patch of a Pod template that holds n items, and contested those of two with other values.
func patched(template, item string) func(n int) string {
	return func(n int) string {
		pod := fmt.Sprintf(template, times(n, item+", "))
		return "  runtimePatches:\n  - {manager: m.io/a, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {" + pod + "}}}}]}}}}\n"
	}
}

func contested(template, item string) func(n int) string {
	one := patched(template, item)
	return func(n int) string {
		header, patch, _ := strings.Cut(one(n), "\n")
		return header + "\n" + strings.ReplaceAll(patch, "M", "a") + strings.ReplaceAll(strings.ReplaceAll(patch, "M", "b"), "m.io/a", "m.io/b")
	}
}

func times(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if strings.Contains(format, "%") {
			fmt.Fprintf(&b, format, i)
		} else {
			b.WriteString(format)
		}
	}
	return b.String()
}

// steps counts the statements that the program runs for a file. A diff compares it with SIDE written as two texts.
func steps(t *testing.T, program string, args []string, file string) int {
	t.Helper()
	dir := t.TempDir()
	counters := filepath.Join(dir, "counters")
	if err := os.Mkdir(counters, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, side := range []string{"old", "new"} {
		if err := os.WriteFile(filepath.Join(dir, side+".yaml"), []byte(strings.ReplaceAll(file, "SIDE", side)+workRuntime), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := []string{"-f", filepath.Join(dir, "new.yaml")}
	if args[0] == "diff" {
		files = []string{filepath.Join(dir, "old.yaml"), filepath.Join(dir, "new.yaml")}
	}
	cmd := exec.Command(program, append(args, files...)...)
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+counters)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != exit.Findings {
		t.Fatalf("%q: %v\n%s", args, err, stderr.String())
	}
	profile := filepath.Join(dir, "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", counters, "-o", profile).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	sum := 0
	for lines := bufio.NewScanner(text); lines.Scan(); {
		fields := strings.Fields(lines.Text()) // file:from,to statements count
		if len(fields) != 3 {
			continue
		}
		statements, _ := strconv.Atoi(fields[1])
		count, _ := strconv.Atoi(fields[2])
		sum += statements * count
	}
	return sum
}
