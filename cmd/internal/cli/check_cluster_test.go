package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/internal/testenv"
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
	status, stdout, stderr := ran("", append([]string{"check", "-o", "json"}, args...)...)
	var report struct{ Findings []checkedFinding }
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("%q: status %d: %v\n%s%s", args, status, err, stdout, stderr)
	}
	return checked{status, report.Findings}
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
