package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// altered changes a few values of a stream, and keeps its form: most results render.
func altered(r *rand.Rand, text string) string {
	var out bytes.Buffer
	for _, part := range strings.Split(text, "---\n") {
		var node yaml.Node
		if yaml.Unmarshal([]byte(part), &node) != nil || len(node.Content) == 0 {
			return text
		}
		var spots []func()
		spotsOf(r, &node, &spots)
		for range r.IntN(4) {
			spots[r.IntN(len(spots))]()
		}
		encoded, err := yaml.Marshal(&node)
		if err != nil {
			return text
		}
		out.WriteString("---\n")
		out.Write(encoded)
	}
	return out.String()
}

// spotsOf lists the changes of a node: of values, of optional fields and of items.
func spotsOf(r *rand.Rand, node *yaml.Node, spots *[]func()) {
	add := func(change func()) { *spots = append(*spots, change) }
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i].Value, node.Content[i+1]
			spotsOf(r, value, spots)
			switch key {
			case "image", "value", "x", "a", "b":
				add(func() { *value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: fmt.Sprint("v", r.IntN(5))} })
			case "numNodes":
				add(func() { *value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(1 + r.IntN(4))} })
			case "labels", "env", "nodeSelector", "resources", "trainer", "runtimePatches", "command", "volumeMounts", "spec", "template":
				add(func() {
					if r.IntN(5) > 0 {
						return
					}
					*value = []yaml.Node{{Kind: yaml.MappingNode}, {Kind: yaml.SequenceNode}, {Kind: yaml.SequenceNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}, {Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}}[r.IntN(4)]
				})
			case "name":
				add(func() {
					if r.IntN(4) == 0 {
						value.Value = []string{"", "node", "other", "side"}[r.IntN(4)]
					}
				})
			}
		}
	case yaml.SequenceNode:
		for _, item := range node.Content {
			spotsOf(r, item, spots)
		}
		add(func() {
			if n := len(node.Content); n > 1 {
				i, j := r.IntN(n), r.IntN(n)
				node.Content[i], node.Content[j] = node.Content[j], node.Content[i]
			}
		})
	default:
		for _, inner := range node.Content {
			spotsOf(r, inner, spots)
		}
	}
	add(func() {})
}

// TestPairs gives each verb that takes two states two changed TrainJobs and runtimes. Nothing panics, takes ten seconds or a gibibyte, and
// half of the pairs render on both sides.
func TestPairs(t *testing.T) {
	from, count := testenv.Seed(t), testenv.Cases(t, 60)
	t.Chdir(t.TempDir())
	renders := 0
	text := func(r *rand.Rand, of string) string {
		if r.IntN(40) == 0 {
			return mutate(r, of)
		}
		return altered(r, of)
	}
	for seed := from; seed < from+count; seed++ {
		r := rand.New(rand.NewPCG(seed, 21))
		for _, side := range []string{"old", "new"} {
			testenv.WriteIn(t, ".", side+"/job.yaml", text(r, mutatedJob))
			testenv.WriteIn(t, ".", side+"/rt.yaml", text(r, mutatedRuntime))
		}
		lines := [][]string{
			{"diff", "old", "new", "-o", "json"}, {"diff", "old", "new", "-o", "markdown", "--to=pods"}, {"diff", "new", "old", "-o", "html", "--to=jobs"},
			{"diff", "old/rt.yaml", "new/rt.yaml", "-f", "old/job.yaml"}, {"diff", "new", "--from-version=2.1", "--to-version=2.3", "-o", "markdown"},
			{"check", "new", "--old", "old"}, {"check", "new/job.yaml", "-r", "new/rt.yaml", "--old", "old/job.yaml", "-o", "json"}, {"render", "-f", "new", "--old", "old"},
			{"policy", "test", "new", "--policy", "policy.yaml", "--old", "old"}, {"check", "old", "new", "--on-conflict=last"}, {"migrate", "-f", "new", "-r", "old"},
			{"merge", "-f", "old/rt.yaml", "--patch", "new/rt.yaml"}, {"conflicts", "new/job.yaml", "-r", "old/rt.yaml"},
		}
		if seed == from {
			if err := os.WriteFile("policy.yaml", []byte("managers: [{name: a.io/b, required: true, paths: [nodeSelector, containers]}]\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for i, args := range lines {
			var stdout, stderr bytes.Buffer
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			status := runLine(&host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: host.Files{}}, args)
			spent := time.Since(start)
			runtime.ReadMemStats(&after)
			if status == panicked || spent > 10*time.Second || after.Sys > before.Sys+1<<30 {
				t.Errorf("seed %d: %q ends with %d after %v and %d bytes: %.3000s", seed, args, status, spent, after.Sys-before.Sys, stderr.String())
			}
			if i == 0 {
				var report struct {
					Summary struct{ Unrendered, Accepted int }
				}
				if json.Unmarshal(stdout.Bytes(), &report) != nil {
					t.Errorf("seed %d: %q writes no report: %s", seed, args, stderr.String())
				} else if status < 2 {
					renders++
				}
			}
		}
	}
	t.Logf("%d of %d pairs render on both sides", renders, count)
	if count >= 50 && renders*2 < int(count) {
		t.Errorf("%d of %d pairs render, want half", renders, count)
	}
}
