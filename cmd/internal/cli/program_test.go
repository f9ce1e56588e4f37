package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// TestEveryCommandHasExamples asks every command, also a future one, for its help.
func TestEveryCommandHasExamples(t *testing.T) {
	var commands [][]string
	var collect func(cmd *cobra.Command, path []string)
	collect = func(cmd *cobra.Command, path []string) {
		commands = append(commands, path)
		for _, c := range cmd.Commands() {
			collect(c, append(path[:len(path):len(path)], c.Name()))
		}
	}
	collect(Root(&host.Program{}, nil), nil)
	if len(commands) < 8 {
		t.Errorf("only %d commands: %q", len(commands), commands)
	}
	for _, path := range commands {
		status, text, stderr := ran("", append(path, "--help")...)
		if status != exit.Done || stderr != "" {
			t.Errorf("%q: status %d, %s", path, status, stderr)
		}
		_, examples, ok := strings.Cut(text, "\nExamples:\n")
		if first, _, _ := strings.Cut(examples, "\n\n"); len(path) > 0 &&
			(!ok || !strings.Contains(first, "trainweld")) {
			t.Errorf("the help of %q has no example:\n%s", path, text)
		}
		if !strings.Contains(text, "\nUsage:\n") {
			t.Errorf("the help of %q has no usage:\n%s", path, text)
		}
		if page := pages.FindString(text); page != "" {
			t.Errorf("the help of %q names%s, which an installed program lacks", path, page)
		}
		if strings.Contains(text, "\nFlags:\n\n") {
			t.Errorf("the help of %q has a table without flags:\n%s", path, text)
		}
		for line := range strings.Lines(text) {
			if len(line) > mostHelp+1 {
				t.Errorf("the help of %q has a line of %d columns: %s", path, len(line)-1, line)
			}
		}
		if n := strings.Count(text, "\n"); n > firstScreen {
			t.Errorf("the help of %q has %d lines, want at most %d:\n%s", path, n, firstScreen,
				text)
		}
	}
}

// TestHelp_MostUsedFlags: all of the help of a command with many flags begins with five of them. It
// shows each flag once, in 80 columns.
func TestHelp_MostUsedFlags(t *testing.T) {
	for _, cmd := range Root(&host.Program{}, nil).Commands() {
		status, stdout, stderr := ran("", cmd.Name(), "--help-all")
		if status != exit.Done {
			t.Fatalf("%s: status %d, %s", cmd.Name(), status, stderr)
		}
		if n := strings.Count(stdout, "\n"); n > twoScreens {
			t.Errorf("all of the help of %s has %d lines, want at most %d", cmd.Name(), n,
				twoScreens)
		}
		_, text, _ := strings.Cut(
			strings.ReplaceAll(stdout, "\nMost used flags:\n", "\nFlags:\n"), "\nFlags:\n")
		names := mostUsed(cmd.Name())
		count := 0
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			count++
			if n := len(regexp.MustCompile(`(?m)^(  -., |      )--`+f.Name+`[ \[]`).FindAllString(
				text, -1)); n != 1 && !f.Hidden {
				t.Errorf("the help of %s shows --%s %d times", cmd.Name(), f.Name, n)
			}
		})
		if few := count <= 7; few != (names == nil) || !few && len(names) != 5 {
			t.Errorf("%s has %d flags, and its most used flags are %q, want five if there are "+
				"more than six", cmd.Name(), count, names)
		}
		if names == nil {
			continue
		}
		first, _, ok := strings.Cut(text, "\nOther flags:\n")
		before := -1
		for _, name := range names {
			at := strings.Index(first, "--"+name+" ")
			if !ok || at <= before {
				t.Errorf("the most used flags of %s do not show --%s in its place:\n%s", cmd.Name(),
					name, first)
			}
			before = at
		}
		for line := range strings.Lines(text) {
			if len(line) > mostHelp+1 {
				t.Errorf("the help of %s has a line of %d columns: %s", cmd.Name(), len(line)-1,
					line)
			}
		}
	}
}

// testdata holds the inputs that scripts of the program share.
const testdata = "../../trainweld/testdata"

// TestMain puts this binary on the PATH as the program, so that tests run it in its own process.
func TestMain(m *testing.M) {
	build.Serve()
	programs := confinements()
	maps.Copy(programs, map[string]func(){
		"trainweld":             func() { os.Exit(Run(Start("", ""), os.Args)) },
		"trainweld-allocations": allocations, "trainweld-collections": collections,
	})
	testscript.Main(tests{testenv.Tests{M: m}}, programs)
}

func TestInvoked(t *testing.T) {
	args := []string{"render", ""}
	for _, tc := range []struct {
		file, name string
		args       []string
		reason     string
	}{
		{"trainweld", "trainweld", args, "its own name"},
		{"/usr/local/bin/trainweld", "trainweld", args, "a path is not a name"},
		{"/tmp/build-1/b001/exe/main", "trainweld", args, "any other name is not for it to take"},
		{"/home/me/.krew/bin/kubectl-trainweld", "kubectl trainweld", args, "as krew links it"},
		{"kubectl-trainweld.exe", "kubectl trainweld", args, "as Windows has it"},
		{"KUBECTL-TRAINWELD.EXE", "kubectl trainweld", args,
			"Windows does not tell capitals apart"},
		{"bin/kubectl_complete-trainweld", "kubectl trainweld",
			[]string{"__complete", "render", ""}, "a question of kubectl's"},
	} {
		name, got := invoked(tc.file, args)
		if name != tc.name || !slices.Equal(got, tc.args) {
			t.Errorf("%s: %s: %q %q, want %q %q", tc.reason, tc.file, name, got, tc.name, tc.args)
		}
	}
}

// allocations runs the program in its own process. It prints the number of allocated bytes in place
// of the output.
func allocations() {
	p := host.Program{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard, Files: host.Files{}}
	status := runLine(&p, os.Args[1:])
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	fmt.Println(stats.TotalAlloc)
	os.Exit(status)
}

// TestOnlyCheckLoadsDefinitions wants only check to unpack and compile the custom resource
// definitions. That allocates tens of megabytes, which shows.
func TestOnlyCheckLoadsDefinitions(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector allocates memory of its own")
	}
	allocates := func(args ...string) uint64 {
		t.Helper()
		out, err := exec.Command("trainweld-allocations", args...).Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		n, err := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%q allocates %.1f MiB", args, float64(n)/(1<<20))
		return n
	}
	inputs := []string{testdata + "/shared/job.yaml", "-r", testdata + "/shared/runtime.yaml"}
	check := allocates(append([]string{"check"}, inputs...)...)
	for _, args := range [][]string{
		append([]string{"render"}, inputs...),
		append([]string{"render", "--to=pods", "--as=stored"}, inputs...),
		{"version"}, {"check", "--help"},
	} {
		const times = 3
		if n := allocates(args...); n*times > check {
			t.Errorf("%q allocates %d bytes, check %d: does it load the definitions?", args, n,
				check)
		}
	}
}
