package cli

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
)

// runBlame runs blame on the quick start's files, with an environment and a terminal of its own.
func runBlame(t *testing.T, env map[string]string, columns int, args ...string) string {
	t.Helper()
	return runOn(t, env, columns, "blame", args...)
}

// runOn runs a command with the quick start's files on a terminal of a width; 0 stands for a pipe.
func runOn(t *testing.T, env map[string]string, columns int, command string,
	args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := host.Program{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: host.Files{},
		Env:  func(name string) string { return env[name] },
		Size: func(io.Writer) (int, bool) { return columns, columns > 0 },
	}
	quickstart := filepath.Join(repository, "testdata", "quickstart")
	args = append(
		[]string{command, "-f", filepath.Join(quickstart, "job.yaml"), "-r",
			filepath.Join(quickstart, "runtime.yaml")}, args...)
	if status := runLine(&p, args); status != exit.Done {
		t.Fatalf("%q: status %d\n%s", args, status, stderr.String())
	}
	return stdout.String()
}

// TestBlameColors: colours only where somebody can see them and wants them.
func TestBlameColors(t *testing.T) {
	for _, tc := range []struct {
		name    string
		env     map[string]string
		columns int
		flag    string
		want    bool
	}{
		{"a pipe", nil, 0, "auto", false},
		{"a terminal", nil, 100, "auto", true},
		{"NO_COLOR on a terminal", map[string]string{"NO_COLOR": "1"}, 100, "auto", false},
		{"an empty NO_COLOR says nothing", map[string]string{"NO_COLOR": ""}, 100, "auto", true},
		{"a dumb terminal", map[string]string{"TERM": "dumb"}, 100, "auto", false},
		{"a flag goes before NO_COLOR", map[string]string{"NO_COLOR": "1"}, 0, "always", true},
		{"never", nil, 100, "never", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, field := range [][]string{nil, {"spec.suspend"}} {
				got := runBlame(t, tc.env, tc.columns, append(field, "--color="+tc.flag)...)
				if strings.Contains(got, "\x1b[") != tc.want {
					t.Errorf("%q: coloured is %v, want %v", field, !tc.want, tc.want)
				}
			}
		})
	}
}

// TestBlameWidth holds that lines on a terminal are cut at its width, or at COLUMNS. A name shows
// where it changes. Elsewhere lines are whole, and each has its name.
func TestBlameWidth(t *testing.T) {
	body := func(text string) []string {
		var lines []string
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, strings.TrimSuffix(line, "\n"))
			}
		}
		return lines
	}
	longest := func(lines []string) (n int) {
		for _, line := range lines {
			n = max(n, utf8.RuneCountInString(line))
		}
		return n
	}
	named := func(lines []string) (n int) {
		for _, line := range lines {
			if strings.HasPrefix(line, "policy/torch") {
				n++
			}
		}
		return n
	}
	pipe := body(runBlame(t, nil, 0))
	if n := longest(pipe); n < 100 {
		t.Errorf("the longest line in a pipe has %d characters: this test needs a longer one", n)
	}
	if n := named(pipe); n < 10 {
		t.Errorf("%d lines of a pipe are named policy/torch", n)
	}
	for _, columns := range []int{60, 80, 100} {
		terminal := body(runBlame(t, map[string]string{"TERM": "dumb"}, columns))
		if n := longest(terminal); n > columns {
			t.Errorf("a line has %d characters on a terminal of %d columns", n, columns)
		}
		if n := named(terminal); n == 0 || n > 3 {
			t.Errorf("policy/torch is named %d times on a terminal, want once for each run of lines", n)
		}
		if len(terminal) != len(pipe) {
			t.Errorf("%d lines on a terminal, %d in a pipe", len(terminal), len(pipe))
		}
		if n := longest(
			body(runBlame(t, map[string]string{"COLUMNS": "60"}, columns,
				"--color=never"))); n > 60 {
			t.Errorf("a line has %d characters with COLUMNS=60", n)
		}
	}
}

// TestTablesFitTheTerminal: tables fit into a terminal, and are whole in a pipe, whatever COLUMNS
// says.
func TestTablesFitTheTerminal(t *testing.T) {
	for _, tc := range []struct {
		command string
		args    []string
		least   int // a narrower table is illegible
	}{
		{"render", []string{"--on-conflict=last", "--to=pods", "--job=/0", "-o", "table"}, 80},
		{"render", []string{"--on-conflict=last", "--to=pods", "--job=/0", "-o", "wide"}, 110},
		{"blame", []string{"nodeSelector", "--color=never"}, 60},
	} {
		longest := func(text string) (n int) {
			for _, line := range strings.Split(text, "\n") {
				// paths and totals are not tables
				if !strings.HasPrefix(line, ".") && !strings.HasPrefix(line, "team-a/") {
					n = max(n, utf8.RuneCountInString(line))
				}
			}
			return n
		}
		whole := runOn(t, nil, 0, tc.command, tc.args...)
		if got := runOn(t, map[string]string{"COLUMNS": "60"}, 0, tc.command,
			tc.args...); got != whole {
			t.Errorf("%s %q in a pipe with COLUMNS = %s, want the whole table", tc.command,
				tc.args, got)
		}
		if got := runOn(t, nil, 1000, tc.command, tc.args...); got != whole {
			t.Errorf("%s %q on a wide terminal = %s, want %s", tc.command, tc.args, got, whole)
		}
		got := runOn(t, nil, tc.least, tc.command, tc.args...)
		if n := longest(got); n > tc.least || n >= longest(whole) || !strings.Contains(got, "…") {
			t.Errorf("%s %q has a line of %d columns on a terminal of %d:\n%s", tc.command, tc.args,
				n, tc.least, got)
		}
	}
}
