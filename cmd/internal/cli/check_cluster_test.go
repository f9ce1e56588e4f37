package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/casefile"
)

// cluster holds cases that a real control plane was given: c1-* are generated, r7-* each break one
// rule.
const cluster = "../../../testdata/cluster"

// checked is what check reports of one case.
type checked struct {
	status   int
	findings []checkedFinding
}

type checkedFinding struct {
	Code, Severity, Object, Path, Message, Help, File string
	Line, Column                                      int
}

// checkPaths runs check as a program would, and reads its JSON.
func checkPaths(t *testing.T, args ...string) checked {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Files: host.Files{}}
	status := runLine(&p, append([]string{"check", "-o", "json"}, args...))
	var report struct{ Findings []checkedFinding }
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("%q: status %d: %v\n%s%s", args, status, err, stdout.String(), stderr.String())
	}
	return checked{status, report.Findings}
}

func (c checked) errors() []checkedFinding {
	return slices.DeleteFunc(slices.Clone(c.findings), func(f checkedFinding) bool {
		return f.Severity != "error"
	})
}

// TestCheckCluster wants the program's verdict on every case to be the cluster's. Where the cluster
// rejects, it wants an error at a field that the cluster names. It skips cases of stock runtimes,
// which have no runtime next to them.
func TestCheckCluster(t *testing.T) {
	if testenv.Race {
		t.Skip("one file at a time: TestCheckPositions reads many at once")
	}
	left, err := os.ReadFile(filepath.Join(cluster, "needs-cluster.txt"))
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := filepath.Glob(
		filepath.Join(casefile.Shared(t, cluster), "[cr][17]-*", "input.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var agree, stricter, fields, rejected, total, stock int
	for _, input := range inputs {
		dir := filepath.Dir(input)
		name := filepath.Base(dir)
		want := func(file string) string {
			// not every case has every file
			text, _ := os.ReadFile(filepath.Join(dir, "want", file))
			return string(text)
		}
		outcome, _, _ := strings.Cut(strings.TrimSpace(want("outcome.txt")), "\n")
		switch {
		case outcome == "":
			t.Fatalf("%s has no outcome", name)
		case outcome == "none", slices.Contains(strings.Fields(string(left)), name):
			continue
		}
		got := checkPaths(t, input, "--on-conflict=last")
		errs := got.errors()
		if outcome == "suspended" {
			// The recording ends before the resume, at which the cluster does not apply the JobSet.
			// The controller already fails.
			before := len(errs)
			errs = slices.DeleteFunc(errs, func(f checkedFinding) bool { return f.Code == "TW431" })
			if fails := strings.Contains(want("controller-errors.txt"),
				"spec.volumeClaimPolicies: "); fails != (len(errs) < before) {
				t.Errorf("%s: %d errors TW431, and the controller fails: %t", name,
					before-len(errs), fails)
			}
			if len(errs) == 0 {
				got.status = exit.Done
			}
		}
		if slices.ContainsFunc(errs, func(f checkedFinding) bool { return f.Code == "TW400" }) &&
			!strings.Contains(want("rejected.txt"), "not found") {
			stock++
			continue
		}
		total++
		text := want("rejected.txt") + want("blocked.txt")
		rejects := outcome == "rejected" || outcome == "blocked"
		switch {
		case got.status != exit.Done && got.status != exit.Findings,
			(got.status == exit.Findings) != (len(errs) > 0):
			t.Errorf("%s: status %d with %d errors", name, got.status, len(errs))
		case rejects == (len(errs) > 0):
			agree++
		case rejects:
			t.Errorf("%s passes, and the cluster says %s\n%s", name, outcome, text)
		default:
			stricter++
			t.Errorf("%s: the cluster says %s, and check %+v", name, outcome, errs)
		}
		if rejects {
			rejected++
			if namesField(text, errs) {
				fields++
			} else {
				t.Errorf("%s: another field: %+v\n%s", name, errs, text)
			}
		}
		for _, f := range got.findings {
			if f.File != input || f.Line == 0 || f.Column == 0 {
				t.Errorf("%s: no position: %+v", name, f)
			}
		}
	}
	t.Logf("%d agree, %d stricter, of %d; field %d/%d; %d need stock runtimes", agree, stricter,
		total, fields, rejected, stock)
	if total < 400 {
		t.Errorf("only %d cases", total)
	}
}

// namesField reports whether an error is at a field that the text names, by the rules of
// compare.py. Text in brackets does not count. Either path may be the longer one, at either end.
func namesField(text string, errs []checkedFinding) bool {
	brackets := regexp.MustCompile(`\[[^\]]*\]`)
	plain := func(path string) string {
		return strings.ToLower(strings.Trim(brackets.ReplaceAllString(path, ""), "."))
	}
	matches := regexp.MustCompile(
		`(?:^|[\s:,\[(])((?:spec|metadata)(?:\.[A-Za-z][A-Za-z0-9]*(?:\[[^\]]*\])*)+)`).FindAllStringSubmatch(text, -1)
	for _, match := range matches {
		a := plain(match[1])
		if slices.ContainsFunc(errs, func(f checkedFinding) bool {
			b := plain(f.Path)
			return b != "" &&
				(a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".") ||
					strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a))
		}) {
			return true
		}
	}
	return len(matches) == 0
}

// TestCheckPositions wants a file, a line and a column of every finding about the text of a file.
// It checks all cases at once, and the inputs of each script, also with patches and an old state.
func TestCheckPositions(t *testing.T) {
	const patches = "- manager: a.example.com/a\n  trainingRuntimeSpec:\n    template:\n      " +
		"spec:\n        replicatedJobs:\n" +
		"        - name: node\n          template: {spec: {template: {spec: {priorityClassName: " +
		"none, volumes: [{name: Bad, emptyDir: {}}], containers: [{name: node, env: [{name: a, " +
		"value: b}], volumeMounts: [{name: no, mountPath: /no}]}]}}}}\n"
	patchFile := filepath.Join(t.TempDir(), "patch.yaml")
	if err := os.WriteFile(patchFile, []byte(patches), 0o666); err != nil {
		t.Fatal(err)
	}
	total := 0
	placed := func(name string, got checked) {
		t.Helper()
		for _, f := range got.findings {
			total++
			switch f.Code {
			case "TW100", "TW108", "TW111", "TW112", "TW408":
				// A file that is not read has no line, and inputs without a TrainJob have none.
				if f.File == "" {
					t.Errorf("%s: no file: %+v", name, f)
				}
			default:
				if f.File == "" || f.Line == 0 || f.Column == 0 {
					t.Errorf("%s: no position: %+v", name, f)
				}
			}
		}
	}
	cases := casefile.Shared(t, cluster)
	if testenv.Every(2) > 1 {
		// Files are read concurrently, and one at a time is slow.
		placed("some", checkPaths(t, filepath.Join(cases, "r7-0*"), "-R"))
		return
	}
	placed("all", checkPaths(t, filepath.Join(cases, "*")))
	placed("all, patched", checkPaths(t, filepath.Join(cases, "*"), "--patch", patchFile))
	placed("all, as an update of others",
		checkPaths(t, filepath.Join(cases, "c1-*"), "--old", cases, "-R"))
	for _, script := range casefile.Read(t, filepath.Join(testdata, "script", "*.txtar")) {
		dir := t.TempDir()
		for _, file := range script.Files {
			path := filepath.Join(dir, filepath.FromSlash(file.Name))
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, file.Data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, section := range sections(script) {
			name := filepath.Join(script.Name(), section)
			files := filepath.Join(dir, section)
			if err := os.MkdirAll(files, 0o777); err != nil {
				t.Fatal(err)
			}
			placed(name, checkPaths(t, "-R", files))
			placed(name+", patched",
				checkPaths(t, "-R", files, "-r", filepath.Join(testdata, "shared"), "--patch",
					patchFile, "--all"))
		}
	}
	t.Logf("%d findings", total)
}

// sections returns the folder of each section of a script, or the whole of one without sections.
func sections(script casefile.Archive) []string {
	var names []string
	for line := range strings.Lines(string(script.Comment)) {
		if name, ok := strings.CutPrefix(line, "section "); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	if names == nil {
		return []string{"."}
	}
	return names
}
