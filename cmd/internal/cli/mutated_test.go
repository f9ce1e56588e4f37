package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

const mutatedSecret = "hunter2SECRET"

const mutatedJob = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: job
  labels: {a: b}
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: "hunter2SECRET"
spec:
  runtimeRef: {name: rt}
  trainer:
    numNodes: 2
    image: "img:1"
    command: [a, b]
    resourcesPerNode:
      limits: {cpu: 4, nvidia.com/gpu: "1"}
    env:
    - name: TOKEN
      value: hunter2SECRET
    - {name: OTHER, value: "hunter2SECRET"}
    - name: BLOCK
      value: |
        hunter2SECRET
        and hunter2SECRET
  runtimePatches:
  - manager: a.io/b
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    nodeSelector: &s {x: q}
                    containers:
                    - name: side
                      env:
                      - &e {name: P, value: hunter2SECRET}
                      volumeMounts:
                      - {name: v, mountPath: /v}
                    volumes:
                    - name: v
                      emptyDir: {sizeLimit: 1Gi}
  - manager: c.io/d
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    nodeSelector: {x: z}
                    containers:
                    - name: side
                      env: [{name: P, value: hunter2SECRET-2}]
`

const mutatedRuntime = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: pytorch
                  env:
                  - {name: R, value: hunter2SECRET}
                  resources: {limits: {cpu: 500m}}
                - name: side
                  image: side
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {p: hunter2SECRET}
`

// mutate changes a text in a few places.
func mutate(r *rand.Rand, text string) string {
	tokens := []string{
		"{", "}", "[", "]", ":", ": ", "- ", "'", "\"", "|", ">", "&a ", "*a", "*e", "*s", "<<: *s",
		"!!binary ", "!x ", "#", " #", "%", "@", "`", "\t", "\r\n", "\n", "\n\n", "---\n", "...\n",
		"{{ .x }}", "{{- if }}",
		"\x00", "\xff", "\x1b[31m", "\u202e", "\u2028", "\ufeff", "\u0085", "\x7f", "null", "~",
		"yes", "1e99999999", "99999999999999999999", "-1", "0x1F", "1_000", ".inf", "2001-01-01",
		"::error ::x", "\n::error ::x", "? ", "!!str ", "\\", "\"\\x00\"", "\"\\u202e\"",
		"\"\\n---\\nkind: Injected\\n\"",
	}
	lines := strings.SplitAfter(text, "\n")
	for range 1 + r.IntN(3) {
		i := r.IntN(len(lines))
		line := lines[i]
		at := 0
		if len(line) > 0 {
			at = r.IntN(len(line))
		}
		token := tokens[r.IntN(len(tokens))]
		switch r.IntN(12) {
		case 0:
			lines[i] = ""
		case 1:
			lines[i] = line + line
		case 2:
			lines[i] = " " + line
		case 3:
			lines[i] = strings.TrimPrefix(line, " ")
		case 4:
			lines[i] = strings.TrimPrefix(line, "  ")
		case 5:
			j := r.IntN(len(lines))
			lines[i], lines[j] = lines[j], lines[i]
		case 6:
			lines[i] = line[:at]
		case 7:
			if k := strings.Index(line, ": "); k >= 0 {
				lines[i] = line[:k+2] + token + "\n"
			}
		case 8:
			if k := strings.Index(line, ": "); k >= 0 {
				lines[i] = line[:k] + ":" + line[k+2:]
			}
		case 9:
			if k := strings.Index(line, ":"); k > 0 {
				b := []byte(line)
				j := r.IntN(k)
				if b[j] >= 'a' && b[j] <= 'z' {
					b[j] -= 32
				}
				lines[i] = string(b)
			}
		default:
			lines[i] = line[:at] + token + line[at:]
		}
	}
	return strings.Join(lines, "")
}

// namesSecret reports whether a name of the manifests holds the secret. A line of a longer scalar
// may move behind a name, and reports show names.
func namesSecret(text string) bool {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var document yaml.Node
		if decoder.Decode(&document) != nil {
			return false
		}
		var within func(n *yaml.Node) bool
		within = func(n *yaml.Node) bool {
			for i, child := range n.Content {
				named := n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "name"
				if named && strings.Contains(child.Value, mutatedSecret) || within(child) {
					return true
				}
			}
			return false
		}
		if within(&document) {
			return true
		}
	}
}

// TestMutatedInputs breaks a TrainJob and its runtime in random places. No command panics, hangs,
// shows a secret or writes half of its objects. Each finding has a place and a help.
func TestMutatedInputs(t *testing.T) {
	count := uint64(50)
	if testenv.Every(2) > 1 {
		count = 5 // each command reads two files
	}
	from := testenv.Seed(t)
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("good-job.yaml", mutatedJob)
	write("good-rt.yaml", mutatedRuntime)
	for seed := from; seed < from+count; seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		job, rt := mutatedJob, mutatedRuntime
		if r.IntN(3) > 0 {
			job = mutate(r, job)
		} else {
			rt = mutate(r, rt)
		}
		write("job.yaml", job)
		write("rt.yaml", rt)
		bad := func(args []string, what string, more ...any) {
			t.Errorf("seed %d: %q %s: %v\n%s---\n%s", seed, args, what, more, job, rt)
		}
		for _, args := range [][]string{
			{"check", "job.yaml", "-r", "rt.yaml", "-o", "json"},
			{"check", "job.yaml", "rt.yaml"},
			{"check", "job.yaml", "rt.yaml", "-o", "junit"},
			{"check", "job.yaml", "rt.yaml", "-o", "github"},
			{"check", "job.yaml", "-r", "rt.yaml", "--old", "good-job.yaml"},
			{"check", "good-job.yaml", "-r", "good-rt.yaml", "--patch", "job.yaml"},
			{"conflicts", "job.yaml", "-r", "rt.yaml"},
			{"blame", "-f", "job.yaml", "-r", "rt.yaml"},
			{"blame", "-f", "job.yaml", "-r", "rt.yaml", "env"},
			{"render", "-f", "job.yaml", "-r", "rt.yaml"},
			{"render", "-f", "job.yaml", "-r", "rt.yaml", "--on-conflict=last", "--to=pods"},
			{"render", "-f", "job.yaml", "-r", "rt.yaml", "--on-conflict=last", "--to=jobs"},
			{"diff", "good-job.yaml", "job.yaml", "-r", "rt.yaml"},
			{"diff", "good-rt.yaml", "rt.yaml", "-f", "job.yaml", "-o", "markdown"},
			{"migrate", "job.yaml", "-d"},
		} {
			var stdout, stderr bytes.Buffer
			start := time.Now()
			status := -1
			func() {
				defer func() {
					if p := recover(); p != nil {
						bad(args, "panics", p)
					}
				}()
				p := host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
					Files: host.Files{}}
				status = runLine(&p, args)
			}()
			if d := time.Since(start); d > time.Minute {
				bad(args, "takes", d)
			}
			if status < 0 || status > 2 {
				bad(args, "exits", status)
			}
			reports := stderr.String()
			format := ""
			if i := slices.Index(args, "-o"); i >= 0 {
				format = args[i+1]
			}
			if args[0] != "render" {
				reports += stdout.String()
				if args[0] != "migrate" {
					tame(t, append(args, fmt.Sprint(seed)), "stdout", stdout.String(), format)
				}
			} else {
				if status != 0 && stdout.Len() > 0 {
					bad(args, "writes objects and exits", status)
				}
				if i := strings.IndexFunc(stdout.String(), acts); i >= 0 {
					bad(args, "writes characters that a terminal acts on")
				}
			}
			tame(t, append(args, fmt.Sprint(seed)), "stderr", stderr.String(), format)
			if args[0] != "migrate" && strings.Contains(reports, mutatedSecret) &&
				!namesSecret(job) && !namesSecret(rt) {
				bad(args, "leaks", reports)
			}
			if format == "json" && args[0] == "check" {
				var report struct {
					Findings []struct {
						Code, Severity, Help, Message, File string
						Line, Column                        int
					}
				}
				if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
					bad(args, "no JSON", err, stderr.String())
				}
				wrong := 0
				for _, f := range report.Findings {
					if f.Severity == "error" {
						wrong++
					}
					if f.Help == "" || f.Line == 0 || f.Column == 0 {
						if f.Code != "TW408" {
							bad(args, "incomplete finding", f)
						}
					}
				}
				if (wrong > 0) != (status == exit.Findings) {
					bad(args, "has errors and exits", wrong, status)
				}
			}
		}
	}
}
