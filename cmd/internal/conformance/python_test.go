package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
)

// TestMain lets this program be the one that a runner starts.
func TestMain(m *testing.M) {
	if os.Getenv("CONFORMANCE_ANSWER") != "" {
		os.Exit(serve(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(testenv.Tests{M: m}.Run())
}

// TestPython checks that the runner in Python judges as this one: trainweld's answers pass, and another program's answers fail.
func TestPython(t *testing.T) {
	if err := exec.Command("python3", "-c", "import yaml").Run(); err != nil {
		t.Skip("TestPython did not run: it needs python3 with PyYAML, Debian's package python3-yaml")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pattern, all := "^(managed-by|ssh-modes)/", "12 of 12"
	if testenv.Long() {
		pattern, all = "^(managed-by|patched-on-resume|priority-label|jobset-group|ssh-modes)/", "52 of 52"
	}
	for _, tc := range []struct {
		name    string
		program []string
		passes  bool
		want    string
	}{
		{"trainweld", []string{self}, true, all + " pass"},
		{"another one", []string{"true"}, false, "managed-by/kueue on 2.3: status 0"},
		{"one that refuses", []string{"false"}, false, "ssh-modes/one-node on 2.0: status 1"},
		{"none", nil, false, "usage: python3 runner.py PATTERN PROGRAM"},
	} {
		cmd := exec.Command("python3", append([]string{"runner.py", pattern}, tc.program...)...)
		cmd.Env = append(os.Environ(), "CONFORMANCE_ANSWER=1")
		out, err := cmd.CombinedOutput()
		if (err == nil) != tc.passes || !strings.Contains(string(out), tc.want) {
			t.Errorf("%s: %v, want %q:\n%s", tc.name, err, tc.want, out)
		}
	}
}
