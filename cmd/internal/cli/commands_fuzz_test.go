package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// commandLines are command lines for the files job.yaml, other.yaml and runtime.yaml. WORD stands
// for a word that the user types.
func commandLines(word string) [][]string {
	const inputs = "job.yaml -r runtime.yaml"
	var lines [][]string
	for _, line := range []string{
		"check " + inputs + " -o json", "check " + inputs + " -o sarif --old other.yaml",
		"check job.yaml other.yaml --crd runtime.yaml -o junit",
		"check . -o github --severity=WORD", "check " + inputs + " -l=WORD --feature-gates=WORD",
		"check " + inputs + " --diff", "conflicts " + inputs + " -o json --patch=other.yaml",
		"conflicts " + inputs + " --policy=other.yaml --force-manager=WORD",
		"render " + inputs + " --on-conflict=last --to=pods -o yaml",
		"render " + inputs + " --on-conflict=last --to=pods --job=node/WORD -o wide",
		"render " + inputs + " --to=jobs --as=stored",
		"render " + inputs + " --trainer-version=2.1 --for=apply --on-conflict=last",
		"blame " + inputs + " -o json WORD", "blame " + inputs + " --to=pods -o html",
		"blame -f job.yaml --show-managed-fields",
		"diff job.yaml other.yaml -r runtime.yaml --to=pods -o json",
		"diff other.yaml runtime.yaml -f job.yaml -o markdown",
		"diff other.yaml job.yaml -r runtime.yaml -o html",
		"render job.yaml -r runtime.yaml --old=other.yaml --to=jobs",
		"check job.yaml -r runtime.yaml --old=other.yaml", "migrate job.yaml -d --strict",
		"migrate --list other.yaml",
		"merge -f job.yaml --patch other.yaml --crd runtime.yaml",
		"merge -f job.yaml --patch other.yaml --schema=open", "fn", "explain WORD",
		"explain -f job.yaml -r runtime.yaml WORD", "schema WORD",
		"schema -f job.yaml -r runtime.yaml", "version WORD",
		"__complete blame -f job.yaml -r runtime.yaml WORD", "test cases --run=WORD",
		"check " + inputs + " --flavors other.yaml",
		"render " + inputs + " --on-conflict=last --flavors other.yaml --flavor=WORD",
		"render " + inputs + " --on-conflict=last --to=podsets -o table",
		"check runtime.yaml other.yaml --patch=job.yaml", "migrate other.yaml -r runtime.yaml",
		"policy test job.yaml --policy other.yaml --old runtime.yaml",
		"diff runtime.yaml other.yaml -f job.yaml --from-version=2.1 --to-version=2.3 -o markdown",
	} {
		fields := strings.Fields(line)
		for i, field := range fields {
			if field == "WORD" && strings.HasPrefix(word, "-") {
				word = "x" + word // a flag may name a file to write
			}
			fields[i] = strings.ReplaceAll(field, "WORD", word)
		}
		lines = append(lines, fields)
	}
	return lines
}

// FuzzCommands runs each command on any files and words. None panics or writes characters that a
// terminal acts on. The same input has the same output.
func FuzzCommands(f *testing.F) {
	dump, err := os.ReadFile(filepath.Join(repository, "testdata", "live", "dump.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	list := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- " +
		strings.ReplaceAll(strings.TrimSpace(mutatedJob), "\n", "\n  ") + "\n"
	words := []string{"spec.replicatedJobs[name=node]", "TW300=off", "app in (a, b),!c", "0..1",
		"TrainJobStatus=true", "NAME=4Gi", "a.io/b", "TrainJob"}
	for i := range commandLines("") {
		f.Add(mutatedJob, mutatedRuntime, string(dump), words[i%len(words)], uint8(i))
		f.Add(list, mutatedRuntime, strings.Replace(mutatedJob, "x: q", "x: r", 1), "\x1b[31m",
			uint8(i))
	}
	flavors, err := os.ReadFile(filepath.Join(repository, "testdata", "flavors", "flavors.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for i := range 3 {
		f.Add(mutatedJob, mutatedRuntime, string(flavors), "node=spot",
			uint8(len(commandLines(""))-1-i))
	}
	f.Fuzz(func(t *testing.T, job, runtime, other, word string, which uint8) {
		if len(job)+len(runtime)+len(other) > 1<<16 || len(word) > 200 {
			t.Skip("larger than the inputs of a fuzzer need to be")
		}
		lines := commandLines(word)
		if problem := runTwice(
			t, map[string]string{"job.yaml": job, "runtime.yaml": runtime, "other.yaml": other},
			lines[int(which)%len(lines)]); problem != "" {
			t.Error(problem)
		}
	})
}

// FuzzNames runs commands on files of any name. No output has its control characters, and no name
// leads out of the tree.
func FuzzNames(f *testing.F) {
	for _, name := range []string{
		"job.yaml", "a\nb.yaml", "\x1b[31m.yaml", "::error::a.yaml", "##[error]a", "a\"b\\c",
		"../outside.yaml", "/etc/hostname", "a/../../b", "-", "*", "[a", "a\xff.yaml", "\u202ea",
		"trainweld.yaml",
		".git/config", "a\r", "", "want/default_mutated.yaml", "a\tb/\x00",
	} {
		for i := range nameLines("") {
			f.Add(name, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, name string, which uint8) {
		if len(name) > 200 {
			t.Skip("longer than a name needs to be")
		}
		lines := nameLines(strings.TrimLeft(name, "-"))
		files := map[string]string{name: mutatedJob, "runtime.yaml": mutatedRuntime,
			"policy.yaml": fmt.Sprintf("patches: [{file: %q}]\n", name)}
		if problem := runTwice(t, files, lines[int(which)%len(lines)]); problem != "" {
			t.Error(problem)
		}
	})
}

// nameLines are command lines for a file of some name.
func nameLines(name string) [][]string {
	return [][]string{
		{"check", name, "-r", "runtime.yaml"}, {"check", name, "-o", "github"},
		{"check", ".", "-R", "-o", "json"}, {"check", "runtime.yaml", "--policy", "policy.yaml"},
		{"conflicts", name, "--patch", name, "-r", name},
		{"diff", name, "runtime.yaml", "-o", "markdown"},
		{"diff", "runtime.yaml", name, "-o", "html"},
		{"render", name, "-r", "runtime.yaml", "--to=jobs"},
		{"blame", name, "-r", "runtime.yaml", "-o", "html"},
		{"merge", "-f", "runtime.yaml", "--patch", name + "=" + name, "--on-conflict=first"},
		{"migrate", name, "-d"}, {"test", name},
	}
}

// runTwice runs a command line on files in memory. It returns the fault of its output, or "".
func runTwice(t *testing.T, files map[string]string, args []string) string {
	t.Helper()
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	var outputs [2][2]bytes.Buffer
	var statuses [2]int
	for i := range outputs {
		start := testenv.ProcessorTime()
		p := host.Program{Stdin: strings.NewReader(files["job.yaml"]), Stdout: &outputs[i][0],
			Stderr: &outputs[i][1], Files: tree}
		statuses[i] = runLine(&p, args)
		if took := testenv.ProcessorTime() - start; took > time.Minute {
			return fmt.Sprintf("%.80q takes %s", args, took)
		}
	}
	stdout, stderr, status := outputs[0][0].String(), outputs[0][1].String(), statuses[0]
	switch {
	case status < exit.Done || status > exit.Failed:
		return fmt.Sprintf("%.80q ends with status %d", args, status)
	case status != statuses[1] || stdout != outputs[1][0].String() ||
		stderr != outputs[1][1].String():
		return fmt.Sprintf("%.80q answers %d\n%s\n%s\nand then %d\n%s\n%s", args, status, stdout,
			stderr, statuses[1], outputs[1][0].String(), outputs[1][1].String())
	case status == exit.Failed && stderr == "":
		return fmt.Sprintf("%.80q fails without a word", args)
	case slices.Contains(args, "json") && args[0] != "render" && stdout != "" &&
		!json.Valid([]byte(stdout)):
		return fmt.Sprintf("%.80q writes invalid JSON:\n%s", args, stdout)
	}
	if fault := reportFault(files, args, status, stdout, stderr); fault != "" {
		return fmt.Sprintf("%.80q %s", args, fault)
	}
	tame(t, args, "standard error", stderr, "")
	if i := strings.IndexFunc(stdout, acts); i >= 0 && args[0] != "migrate" &&
		args[0] != "__complete" {
		return fmt.Sprintf("%.80q writes %.80q", args, stdout[i:])
	}
	return ""
}

// reportFault returns what is wrong with a report, or "": no report shows the values of variables
// and Secrets. Each finding of check has a place and a help, and errors decide the status. A
// command that fails to render writes no half of its objects.
func reportFault(files map[string]string, args []string, status int, stdout, stderr string) string {
	report, verb := stderr, args[0]
	if !slices.Contains([]string{"render", "merge", "migrate", "fn"}, verb) {
		report += stdout
	}
	named := slices.ContainsFunc(args, func(word string) bool {
		return strings.Contains(word, mutatedSecret)
	})
	for _, text := range files {
		named = named || namesSecret(text)
	}
	if !named && strings.Contains(report, mutatedSecret) {
		return "shows a value: " + report
	}
	if verb == "render" && status != exit.Done && stdout != "" {
		return fmt.Sprintf("writes objects, and ends with status %d", status)
	}
	if verb != "check" || !slices.Contains(args, "json") || stdout == "" {
		return ""
	}
	var findings struct {
		Findings []struct {
			Code, Severity, Help string
			Line, Column         int
		}
	}
	if err := json.Unmarshal([]byte(stdout), &findings); err != nil {
		return err.Error()
	}
	failed, unread := false, false
	for _, f := range findings.Findings {
		failed, unread = failed || f.Severity == "error", unread || f.Code == "TW108"
		if (f.Help == "" || f.Line == 0 || f.Column == 0) &&
			f.Code != "TW408" && f.Code != "TW108" { // of a path alone
			return fmt.Sprintf("writes an incomplete finding: %+v", f)
		}
	}
	if failed != (status == exit.Findings) && !unread {
		return fmt.Sprintf("has errors: %t, and ends with status %d", failed, status)
	}
	return ""
}
