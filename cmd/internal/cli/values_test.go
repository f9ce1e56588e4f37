package cli

import (
	"bytes"
	_ "embed"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// marker is a value that no report may show. In archives it is MARK.
const marker = "m4rk3r"

// valuesRuntime holds a marker as the value of every variable.
//
//go:embed testdata/inputs/values.yaml
var valuesRuntime string

// ran runs a command line in this process.
func ran(stdin string, args ...string) (status int, stdout, stderr string) {
	var out, said bytes.Buffer
	status = runLine(&host.Program{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &said,
		Files: host.Files{}}, args)
	return status, out.String(), said.String()
}

// told returns what a command line tells. That is not the objects of standard output, which have
// the values of its input.
func told(stdin string, args ...string) string {
	_, stdout, stderr := ran(stdin, args...)
	if writesObjects(args[0]) {
		return stderr
	}
	return stdout + stderr
}

func writesObjects(verb string) bool {
	return slices.Contains([]string{"render", "merge", "migrate", "fn"}, verb)
}

// archiveOf returns the command lines in the comment of an archive in testdata, behind its first
// paragraph, and the archive's files. {A,B} in a line stands for two lines, one with each text.
func archiveOf(t *testing.T, name string) (lines []string, files []txtar.File) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(text)
	_, list, _ := strings.Cut(string(archive.Comment), "\n\n")
	for line := range strings.Lines(list) {
		lines = append(lines, alternatives(line)...)
	}
	return lines, archive.Files
}

func alternatives(line string) (all []string) {
	before, rest, isOpen := strings.Cut(line, "{")
	choices, after, isClosed := strings.Cut(rest, "}")
	if !isOpen || !isClosed {
		return []string{line}
	}
	for choice := range strings.SplitSeq(choices, ",") {
		all = append(all, alternatives(before+choice+after)...)
	}
	return all
}

// TestNoVerbShowsValues runs every verb, in every format of its report, on inputs with a marker in
// each variable. No report shows it, except with --show-values.
func TestNoVerbShowsValues(t *testing.T) {
	lines, files := archiveOf(t, "values")
	t.Chdir(t.TempDir())
	stdin := ""
	for _, f := range files {
		text := strings.ReplaceAll(string(f.Data), "MARK", marker)
		if testenv.WriteIn(t, ".", f.Name, text); f.Name == "stdin" {
			stdin = text
		}
	}
	speaks, shows := map[string]bool{}, map[string]bool{}
	for _, line := range lines {
		args := strings.Fields(line)
		report := told(stdin, args...)
		speaks[args[0]] = speaks[args[0]] || report != ""
		for line := range strings.Lines(report) {
			if strings.Contains(line, marker) {
				t.Errorf("%q shows a value: %s", args, line)
			}
		}
		shows[args[0]] = shows[args[0]] || !writesObjects(args[0]) &&
			strings.Contains(told(stdin, append(args, "--show-values")...), marker)
	}
	for _, cmd := range Root(&host.Program{}, nil).Commands() {
		switch verb := cmd.Name(); {
		case verb == "help" || verb == "completion":
		case !speaks[verb]:
			t.Errorf("%s reports nothing, and so nothing was looked at", verb)
		case !shows[verb] && !writesObjects(verb) &&
			!slices.Contains([]string{"explain", "version", "policy"}, verb):
			t.Errorf("%s shows no value with --show-values, and so none that could have been "+
				"hidden was there", verb)
		}
	}
}

func indented(by, text string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }
