// Package hosts tests the examples with the tools that run them. It copies each example into a
// temporary folder and runs it there as its README describes. Kustomize runs in process. The tests
// repeat the steps of the other tools with the example.
package hosts

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const repository = "../../.."

// TestMain builds the program once, and puts it on the PATH, where the examples look for it.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		bin, err := os.MkdirTemp("", "trainweld")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(bin)
		os.Unsetenv("GOWORK") // the program's module is in the workspace, and this one is not
		build := exec.Command("go", "build", "-o", filepath.Join(bin, "trainweld"),
			"./cmd/trainweld")
		build.Dir = repository
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building trainweld: %v\n%s", err, out)
			return 1
		}
		os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		return m.Run()
	}())
}

// need skips a test where a tool is missing that its example needs.
func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not on this machine: %v", tool, err)
		}
	}
}

// example is a copy of an example.
func example(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(
		dir, os.DirFS(filepath.Join(repository, "docs", "examples", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// commands are the lines of the README's sh blocks.
func commands(t *testing.T, dir string) []string {
	t.Helper()
	var lines []string
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(
		read(t, filepath.Join(dir, "README.md")), -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	if len(lines) == 0 {
		t.Fatalf("the README of %s has no commands", dir)
	}
	return lines
}

// ran is the result of a command.
type ran struct {
	stdout, stderr string
	status         int
}

// run runs a command of a script. env holds variables in addition to the test's variables.
func run(t *testing.T, dir string, env []string, name string, args ...string) ran {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), env...)
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", name, err)
	}
	return ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// must is run, of what has to succeed.
func must(t *testing.T, dir string, env []string, name string, args ...string) ran {
	t.Helper()
	r := run(t, dir, env, name, args...)
	if r.status != 0 {
		t.Fatalf("%s %q: exit status %d\n%s%s", name, args, r.status, r.stdout, r.stderr)
	}
	return r
}

// commit makes a git repository of a folder, or commits what has changed in it.
func commit(t *testing.T, dir, message string) {
	t.Helper()
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "-A"},
		{"-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m",
			message},
	} {
		must(t, dir, nil, "git", args...)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// edit replaces a text, which the file must have.
func edit(t *testing.T, file, old, new string) {
	t.Helper()
	text := read(t, file)
	if !strings.Contains(text, old) {
		t.Fatalf("%s does not hold %q", file, old)
	}
	write(t, file, strings.ReplaceAll(text, old, new))
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
}

// object is as much of an object as the tests ask for.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name, Namespace     string
		Labels, Annotations map[string]string
	}
}

func (o object) String() string {
	return o.Kind + " " + o.Metadata.Namespace + "/" + o.Metadata.Name
}

// objects returns the objects of a stream, which must hold nothing else.
func objects(t *testing.T, stream string) []string {
	t.Helper()
	var names []string
	decoder := yaml.NewDecoder(strings.NewReader(stream))
	for {
		var o object
		if err := decoder.Decode(&o); err != nil {
			if err.Error() == "EOF" {
				return names
			}
			t.Fatalf("%v in:\n%s", err, stream)
		}
		if o.APIVersion == "" || o.Kind == "" || o.Metadata.Name == "" {
			t.Fatalf("no object:\n%s", stream)
		}
		names = append(names, o.String())
	}
}

// tree returns the text of every file of a folder, except .git.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(dir, path)
		files[name] = read(t, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
