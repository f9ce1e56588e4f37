package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/cmd/internal/command/blame"
	"github.com/trainweld/trainweld/cmd/internal/command/check"
	"github.com/trainweld/trainweld/cmd/internal/command/render"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/playground"
	"github.com/trainweld/trainweld/render/release"
)

// playgroundLines are the command lines that the page of the playground runs, without their inputs.
var playgroundLines = [][]string{
	{"render", "--on-conflict=last"},
	{"render", "--on-conflict=fail", "--show-notes"},
	{"render", "--on-conflict=last", "--to=pods", "-o", "wide"},
	{"render", "--on-conflict=last", "--to=pods", "--as=stored", "--index=0"},
	{"blame", "-o", "html"},
	{"blame", "-o", "html", "--to=jobs"},
	{"blame", "--show-origin"},
	{"check", "--on-conflict=last"},
	{"check", "--show-notes"},
}

// playgroundCases returns the files of each case by their names. The cases are the quick start, all cases of policies, all stock
// runtimes, and a file that composes values.
func playgroundCases(t *testing.T) map[string]map[string]string {
	t.Helper()
	read := func(names ...string) map[string]string {
		files := map[string]string{}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(name)] = string(data)
		}
		return files
	}
	quick, compose := filepath.Join("..", "..", "..", "internal", "testdata", "quickstart"), filepath.Join("..", "..", "..", "internal", "testdata", "compose")
	cases := map[string]map[string]string{
		"quickstart": read(filepath.Join(quick, "job.yaml"), filepath.Join(quick, "runtime.yaml"), filepath.Join(quick, "platform.yaml")),
		"compose":    read(filepath.Join(compose, "job.yaml"), filepath.Join(compose, "runtime.yaml"), filepath.Join(compose, "trainweld.yaml")),
		"syntax":     {"job.yaml": "kind: [TrainJob\n"},
		"empty":      {"job.yaml": ""},
	}
	inputs, err := filepath.Glob(filepath.Join("..", "..", "..", "internal", "testdata", "policies", "*", "input.yaml"))
	if err != nil || len(inputs) < 10 {
		t.Fatalf("found %d cases of policies: %v", len(inputs), err)
	}
	for _, input := range inputs {
		cases["policies/"+filepath.Base(filepath.Dir(input))] = read(input)
	}
	list, err := release.Latest().Runtimes()
	if err != nil {
		t.Fatal(err)
	}
	var stock struct{ Items []corev1.ConfigMap } // any object with metadata
	if err := json.Unmarshal(list, &stock); err != nil || len(stock.Items) < 5 {
		t.Fatalf("found %d stock runtimes: %v", len(stock.Items), err)
	}
	for _, item := range stock.Items {
		runtime := item.Name
		cases["stock/"+runtime] = map[string]string{"job.yaml": "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  name: stock\nspec:\n  runtimeRef:\n    name: " + runtime + "\n  trainer:\n    numNodes: 3\n"}
	}
	return cases
}

// TestPlayground holds that the playground and the program have the same output for all stock runtimes and cases of policies.
func TestPlayground(t *testing.T) {
	for name, files := range playgroundCases(t) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			var inputs []string
			for _, file := range []string{"job.yaml", "input.yaml", "runtime.yaml", "platform.yaml", "trainweld.yaml"} {
				text, ok := files[file]
				if !ok {
					continue
				}
				if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
				if file != "trainweld.yaml" { // which no command line names
					inputs = append(inputs, cmp.Or(map[string]string{"runtime.yaml": "-r", "platform.yaml": "--patch"}[file], "-f"), file)
				}
			}
			var lines [][]string
			for _, line := range playgroundLines {
				lines = append(lines, slices.Concat(line[:1], inputs, line[1:]))
			}
			for i, got := range playground.Run(playground.Request{Files: files, Lines: lines}, render.Command, blame.Command, check.Command) {
				var stdout, stderr bytes.Buffer
				status := runLine(&host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: host.Files{}}, lines[i])
				want := playground.Answer{Stdout: stdout.String(), Stderr: stderr.String(), Status: status, Findings: got.Findings, Report: got.Report}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("Run(%q) = %+v, want %+v", lines[i], got, want)
				}
				checkReport(t, got, lines[i][0] == "check")
			}
		})
	}
}

// withoutHelp returns a report without the lines with help.
func withoutHelp(text string) string {
	return regexp.MustCompile(`(?m)^  help: .*\n`).ReplaceAllString(text, "")
}

// checkReport holds that the report of an answer has the findings of its output, in the same order and places. That output is standard
// error, or the output of the command check.
func checkReport(t *testing.T, a playground.Answer, isChecked bool) {
	t.Helper()
	text := a.Stderr
	if isChecked {
		text = a.Stdout
	}
	var report struct {
		Findings []struct {
			Code, Severity, Message, Help, File string
			Line, Column                        int
		}
	}
	if err := json.Unmarshal(a.Report, &report); err != nil {
		t.Fatalf("%s: %v", a.Report, err)
	}
	flag := regexp.MustCompile(`(^|[ "])(--[a-z]|-[a-z] FILE)`)
	for line := range strings.Lines(a.Findings) {
		if text, isHelp := strings.CutPrefix(line, "  help: "); isHelp && flag.MatchString(text) {
			t.Errorf("the help on a page names a flag: %s", text)
		}
	}
	for _, f := range report.Findings {
		if flag.MatchString(f.Help) {
			t.Errorf("the report of a page names a flag: %s", f.Help)
		}
	}
	if !strings.Contains(withoutHelp(text), withoutHelp(a.Findings)) {
		t.Errorf("the page has the findings\n%s\nand the output\n%s", a.Findings, text)
	}
	rest := text
	for _, f := range report.Findings {
		want := fmt.Sprintf("%s %s: %s", f.Severity, f.Code, f.Message)
		if f.Line > 0 {
			want = fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, want)
		}
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Errorf("the report has %q, which the output lacks:\n%s", want, text)
		}
		rest = after
	}
	if n := len(regexp.MustCompile(`(error|warning|note) TW\d+: `).FindAllString(text, -1)); n != len(report.Findings) {
		t.Errorf("the report has %d findings, and the output %d:\n%s", len(report.Findings), n, text)
	}
}
