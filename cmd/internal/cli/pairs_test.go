//go:build unix

package cli

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// pairedObjects follow mutatedJob in a dump, and end it with a status: what the cluster made of the
// TrainJob, some of it with owners.
//
//go:embed testdata/inputs/cluster.yaml
var pairedObjects string

// pairedRuntime is the runtime alone, and pairedTrainingJob a job of the Training Operator.
var pairedRuntime, _, _ = strings.Cut(mutatedRuntime, "---\n")

//go:embed testdata/inputs/mpijob.yaml
var pairedTrainingJob string

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
				add(func() {
					*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str",
						Value: fmt.Sprint("v", r.IntN(5))}
				})
			case "numNodes":
				add(func() {
					*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int",
						Value: fmt.Sprint(1 + r.IntN(4))}
				})
			case "labels", "env", "nodeSelector", "resources", "trainer", "runtimePatches",
				"command", "volumeMounts", "spec", "template",
				"status", "conditions", "containers", "replicas", "runPolicy", "managedFields",
				"ownerReferences", "replicatedJobsStatus":
				add(func() {
					if r.IntN(5) > 0 {
						return
					}
					*value = []yaml.Node{{Kind: yaml.MappingNode}, {Kind: yaml.SequenceNode},
						{Kind: yaml.SequenceNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}},
						{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}}[r.IntN(4)]
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

// TestPairs gives each verb that takes two states two changed TrainJobs and runtimes: as files, as
// revisions of git, and as a dump. Nothing panics, takes ten seconds or a gibibyte, and half of the
// pairs render on both sides.
func TestPairs(t *testing.T) {
	from, count := testenv.Seed(t), testenv.Cases(t, 60)
	t.Chdir(t.TempDir())
	lines := [][]string{
		{"diff", "old", "new", "-o", "json"}, {"diff", "old", "new", "-o", "markdown", "--to=pods"},
		{"diff", "new", "old", "-o", "html", "--to=jobs"},
		{"diff", "old/rt.yaml", "new/rt.yaml", "-f", "old/job.yaml"},
		{"diff", "new", "--from-version=2.1", "--to-version=2.3", "-o", "markdown"},
		{"check", "new", "--old", "old"},
		{"check", "new/job.yaml", "-r", "new/rt.yaml", "--old", "old/job.yaml", "-o", "json",
			"--recreate"},
		{"render", "-f", "new", "--old", "old", "--on-conflict=last", "--to=jobs"},
		{"policy", "test", "new", "--policy", "policy.yaml", "--old", "old"},
		{"check", "new/job.yaml", "old/rt.yaml", "--on-conflict=last"},
		{"migrate", "new/job.yaml", "-r", "old/rt.yaml"},
		{"migrate", "v1.yaml", "-r", "new/rt.yaml"},
		{"merge", "-f", "base.yaml", "--patch", "a=patch.yaml", "-o", "managed"},
		{"conflicts", "-f", "base.yaml", "--patch", "a=base.yaml", "--patch", "b=patch.yaml"},
		{"conflicts", "new/job.yaml", "-r", "old/rt.yaml"},
		{"check", "repository", "--git", "HEAD", "-o", "json"},
		{"diff", "repository", "--git", "HEAD"},
		{"render", "-f", "repository", "--git", "HEAD", "--on-conflict=last"},
		{"check", "new", "--old", "dump.yaml"},
		{"render", "-f", "new", "--old", "dump.yaml", "--on-conflict=last"},
		{"blame", "dump.yaml", "-r", "old/rt.yaml"},
		{"diff", "dump.yaml", "new/job.yaml", "-r", "new/rt.yaml"},
		{"policy", "test", "new", "--policy", "policy.yaml", "--old", "dump.yaml"},
	}
	behind := make([]uint64, len(lines)) // the runs that did not fail, of each line
	gitIn(t, ".", "", "init", "-q")
	testenv.WriteIn(t, ".", "policy.yaml",
		"managers: [{name: a.io/b, required: true, paths: [nodeSelector, containers]}]\n")
	text := func(r *rand.Rand, of string) string {
		if r.IntN(40) == 0 {
			return mutate(r, of)
		}
		return altered(r, of)
	}
	seeds := []uint64{91152} // has crashed diff: a Job that JobSet would not create before others
	for n := range count {
		seeds = append(seeds, from+n)
	}
	for _, seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 21))
		for _, side := range []string{"old", "new"} {
			testenv.WriteIn(t, ".", side+"/job.yaml", text(r, mutatedJob))
			testenv.WriteIn(t, ".", side+"/rt.yaml", text(r, mutatedRuntime))
			for _, name := range []string{"job.yaml", "rt.yaml"} {
				data, err := os.ReadFile(side + "/" + name)
				if err != nil {
					t.Fatal(err)
				}
				testenv.WriteIn(t, ".", "repository/"+name, string(data))
			}
			if side == "old" {
				gitIn(t, ".", "", "add", "repository")
				gitIn(t, ".", "", "commit", "-q", "--allow-empty", "-m", "old")
			}
		}
		testenv.WriteIn(t, ".", "dump.yaml", text(r, mutatedJob+pairedObjects))
		testenv.WriteIn(t, ".", "base.yaml", altered(r, pairedRuntime))
		testenv.WriteIn(t, ".", "patch.yaml", altered(r, pairedRuntime))
		testenv.WriteIn(t, ".", "v1.yaml", text(r, pairedTrainingJob))
		for i, args := range lines {
			var stdout, stderr bytes.Buffer
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := testenv.ProcessorTime()
			status := runLine(
				&host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
					Files: host.Files{}}, args)
			spent := testenv.ProcessorTime() - start
			runtime.ReadMemStats(&after)
			if status == panicked || spent > 10*time.Second || after.Sys > before.Sys+1<<30 {
				t.Errorf("seed %d: %q ends with %d after %v and %d bytes: %.3000s", seed, args,
					status, spent, after.Sys-before.Sys, stderr.String())
			}
			if status < exit.Failed {
				behind[i]++
			}
			if i == 0 && !json.Valid(stdout.Bytes()) {
				t.Errorf("seed %d: %q writes no report: %s", seed, args, stderr.String())
			}
		}
	}
	t.Logf("%d runs, %d of %d pairs render on both sides", uint64(len(seeds)*len(lines)), behind[0],
		len(seeds))
	for i, args := range lines {
		if count >= 50 && behind[i]*2 < count {
			t.Errorf("%q ends early for all but %d of %d pairs, want half", args, behind[i], count)
		}
	}
}
