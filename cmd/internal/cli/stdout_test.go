package cli

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// fails is an output that takes some bytes, and then fails.
type fails struct {
	room int
	err  error
}

func (f *fails) Write(p []byte) (int, error) {
	n := min(f.room, len(p))
	f.room -= n
	if n < len(p) {
		return n, f.err
	}
	return n, nil
}

// outputCommands are command lines that write to standard output, by command. The last one is run
// with each format of -o as well.
func outputCommands(t *testing.T) map[string][][]string {
	t.Helper()
	job, runtime := filepath.Join(testdata, "shared", "job.yaml"),
		filepath.Join(testdata, "shared", "runtime.yaml")
	work := t.TempDir()
	testenv.WriteIn(t, work, "old.yaml",
		"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: "+
			"old}\nspec:\n  labels: {a: b}\n  runtimeRef: {name: plain}\n")
	testenv.WriteIn(t, work, "cases/one/trainjob.yaml",
		"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: one}\nspec: "+
			"{runtimeRef: {name: few}}\n---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: "+
			"ClusterTrainingRuntime\nmetadata: {name: few}\nspec: {template: {spec: "+
			"{replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: "+
			"[{name: node, image: i}]}}}}}]}}}\n")
	for name, image := range map[string]string{"a": "1", "b": "2"} {
		testenv.WriteIn(t, work, name+".yaml",
			"manager: example.com/"+name+
				"\ntrainingRuntimeSpec: {template: {metadata: {labels: {version: \""+image+
				"\"}}}}\n")
	}
	testenv.WriteIn(t, work, "base.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	testenv.WriteIn(t, work, "data.yaml", "data: {a: b}\n")
	managers := filepath.Join(work, "policy.yaml")
	testenv.WriteIn(t, work, "policy.yaml", "managers: [{name: example.com/a, required: true}]\n")
	patch, other := filepath.Join(work, "a.yaml"), filepath.Join(work, "b.yaml")
	old, cases := filepath.Join(work, "old.yaml"), filepath.Join(work, "cases")
	return map[string][][]string{
		"": {{}},
		"render": {{"-f", job, "-r", runtime}, {"-f", job, "-r", runtime, "--to=jobs"},
			{"-f", job, "-r", runtime, "--to=pods"}},
		"merge": {
			{"-f", filepath.Join(work, "base.yaml"), "--patch", filepath.Join(work, "data.yaml")}},
		"check":     {{job, "--trainer-version=2.2"}, {job}},
		"conflicts": {{job, "-r", runtime, "--patch", patch, "--patch", other}},
		"blame":     {{"-f", job, "-r", runtime}, {"-f", job, "-r", runtime, "spec.network"}},
		"diff":      {{job, old, "-r", runtime}},
		"explain":   {{"TW510"}, {"spec.runtimePatches"}, {"nodeSelector"}},
		"migrate": {{old, "-r", runtime}, {old, "-r", runtime, "-d"},
			{old, "-r", runtime, "--list"}},
		"test":    {{cases, "--update=diff"}, {cases}},
		"fn":      {{}},
		"policy":  {{"--policy", managers}},
		"version": {{}},
		"help":    {{}, {"render"}},

		"policy test": {{job, "--policy", managers}},

		"completion": {{}}, "completion bash": {{}}, "completion zsh": {{}},
		"completion fish": {{}}, "completion powershell": {{}},
	}
}

// eachOutput runs the test for every command line of every command, in each of its formats, and
// with --help.
func eachOutput(t *testing.T, test func(t *testing.T, args []string)) {
	t.Helper()
	table, seen := outputCommands(t), 0
	var visit func(cmd *cobra.Command, path []string)
	visit = func(cmd *cobra.Command, path []string) {
		name := strings.Join(path, " ")
		lines, ok := table[name]
		if !ok {
			t.Errorf("outputCommands has no command line for %q", name)
		}
		seen++
		var last []string
		if len(lines) > 0 {
			last = lines[len(lines)-1]
		}
		lines = append(lines[:len(lines):len(lines)], []string{"--help"})
		if cmd.Flags().Lookup("output") != nil {
			formats := completionsOf(append(path[:len(path):len(path)], "--output", "")...)
			if len(formats) == 0 {
				t.Errorf("the flag -o of %q completes no formats", name)
			}
			for _, format := range formats {
				lines = append(lines, append(last[:len(last):len(last)], "-o", format))
			}
		}
		for _, line := range lines {
			args := append(path[:len(path):len(path)], line...)
			t.Run(strings.Join(args, " "), func(t *testing.T) { test(t, args) })
		}
		for _, c := range cmd.Commands() {
			visit(c, append(path[:len(path):len(path)], c.Name()))
		}
	}
	visit(Root(&host.Program{}, nil), nil)
	if seen != len(table) {
		t.Errorf("outputCommands has %d commands, want %d", len(table), seen)
	}
}

// completionsOf returns the completions that the program offers a shell for the last word of a
// command line.
func completionsOf(words ...string) []string {
	args := append([]string{cobra.ShellCompNoDescRequestCmd}, words...)
	_, stdout, _ := ran("", args...)
	return slices.DeleteFunc(strings.Split(strings.TrimSuffix(stdout, "\n"), "\n"),
		func(line string) bool { return strings.HasPrefix(line, ":") })
}

// resourceList is the input of fn, and is not read by others.
const resourceList = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

// TestOutput_Fails gives every command an output that fails in its middle. A long run also fails at
// its first byte.
func TestOutput_Fails(t *testing.T) {
	eachOutput(t, func(t *testing.T, args []string) {
		run := func(stdout io.Writer) (int, string) {
			var stderr bytes.Buffer
			p := host.Program{Stdin: strings.NewReader(resourceList), Stdout: stdout,
				Stderr: &stderr, Files: host.Files{}}
			return runLine(&p, args), stderr.String()
		}
		var all bytes.Buffer
		_, told := run(&all)
		if all.Len() == 0 {
			t.Fatalf("no output\n%s", told)
		}
		rooms := []int{all.Len() / 2}
		if testenv.Long() {
			rooms = append(rooms, 0)
		}
		for _, room := range rooms {
			if status, stderr := run(&fails{room, syscall.EPIPE}); status != exit.ClosedPipe ||
				stderr != "" {
				t.Errorf("closed after %d bytes: status %d, %q; want %d and silence", room, status,
					stderr, exit.ClosedPipe)
			}
			status, stderr := run(&fails{room, syscall.ENOSPC})
			if status != exit.Failed || strings.Count(stderr, syscall.ENOSPC.Error()) != 1 {
				t.Errorf("full after %d bytes: status %d, %q; want %d and the reason once", room,
					status, stderr, exit.Failed)
			}
		}
	})
}
