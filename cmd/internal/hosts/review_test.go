package hosts

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the comments of the examples")

// programs are the hosts that come as programs. Each is built once, and put on the PATH.
var programs = map[string]func() error{
	"helm": sync.OnceValue(func() error {
		return install("helm.sh/helm/v3/cmd/helm@v3.19.2")
	}),
	"kustomize": sync.OnceValue(func() error {
		return install("sigs.k8s.io/kustomize/kustomize/v5@v5.8.1")
	}),
}

// install builds a program into the folder of the program under test.
func install(name string) error {
	bin, err := exec.LookPath("trainweld")
	if err != nil {
		return err
	}
	build := exec.Command("go", "install", name)
	build.Dir, build.Env = os.TempDir(),
		append(os.Environ(), "GOBIN="+filepath.Dir(bin), "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return &exec.Error{Name: name + "\n" + string(out), Err: err}
	}
	return nil
}

func host(t *testing.T, name string) {
	t.Helper()
	if err := programs[name](); err != nil {
		t.Fatal(err)
	}
}

// repositoryOf is a repository with an example, at its place next to the component for kustomize.
func repositoryOf(t *testing.T, name string) (dir string) {
	t.Helper()
	root := t.TempDir()
	for _, folder := range []string{filepath.Join("docs", "examples", "components"),
		filepath.Join("docs", "examples", name)} {
		if err := os.CopyFS(filepath.Join(root, folder),
			os.DirFS(filepath.Join(repository, folder))); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, root, "the example")
	return filepath.Join(root, "docs", "examples", name)
}

// TestReviews runs the README's commands of each repository with a pull request. The repository is
// clean before the change, and the change has a defect. The comment is the one that the example
// shows.
func TestReviews(t *testing.T) {
	need(t, "git", "sh")
	for _, c := range []struct {
		name, folder, host string
		clean              int    // the commands before the change
		defect             string // in the output of check
	}{
		{"overlays", "", "kustomize", 2,
			"warning TW234: the overlay loses the patch of manager " +
				"\"platform.example.com/defaults\" in its base\n  in TrainJob research/llm"},
		{"helm", "", "helm", 2,
			"error TW300: managers set different values: charts.example.com/experiments, " +
				"platform.example.com/defaults"},
		{"argocd", "app", "", 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.host != "" {
				host(t, c.host)
			}
			dir := repositoryOf(t, c.name)
			lines := slices.DeleteFunc(commands(t, dir), func(line string) bool {
				return line == "cd "+c.folder
			})
			here := filepath.Join(dir, c.folder)
			shell := func(line string) ran { return run(t, here, nil, "sh", "-ec", line) }
			for _, line := range lines[:c.clean] {
				if r := shell(line); r.status != 0 ||
					strings.Contains(r.stdout+r.stderr, "error TW") {
					t.Errorf("%s: %+v", line, r)
				}
			}
			if r := shell(lines[c.clean]); r.status != 0 {
				t.Fatalf("%s: %+v", lines[c.clean], r)
			}
			for _, line := range lines[c.clean+1:] {
				switch r := shell(line); {
				case strings.Contains(line, "trainweld check"):
					if r.status != 1 || !strings.Contains(r.stdout, c.defect) {
						t.Errorf("%s: %+v", line, r)
					}
				case r.status != 1:
					t.Errorf("%s: %+v", line, r)
				default:
					sameComment(t,
						filepath.Join(repository, "docs", "examples", c.name, "comment.md"),
						r.stdout)
				}
			}
		})
	}
}

// sameComment wants the comment of an example.
func sameComment(t *testing.T, file, got string) {
	t.Helper()
	if len(got) > 60_000 {
		t.Errorf("the comment has %d bytes", len(got))
	}
	if *update {
		write(t, file, got)
	}
	if want := read(t, file); got != want {
		t.Errorf("%s differs from the output of the command; run this test with -update:\n%s",
			file, got)
	}
}

// TestOverlaysAsKustomize compares trainweld's build of each overlay with the build by the program
// kustomize.
func TestOverlaysAsKustomize(t *testing.T) {
	need(t, "git")
	host(t, "kustomize")
	dir := repositoryOf(t, "overlays")
	for _, cluster := range []string{"dev", "eu"} {
		folder := filepath.Join("clusters", cluster)
		built := must(t, dir, nil, "kustomize", "build", folder).stdout
		write(t, filepath.Join(dir, "built.yaml"), built)
		want := must(t, dir, nil, "trainweld", "render", "-f", "built.yaml").stdout
		if got := must(t, dir, nil, "trainweld", "render", "-k", folder).stdout; got != want {
			t.Errorf("%s renders to\n%s\nand what kustomize builds to\n%s", folder, got, want)
		}
	}
}

// TestChartAsHelm renders the output of the program helm through a pipe.
func TestChartAsHelm(t *testing.T) {
	need(t, "git")
	host(t, "helm")
	dir := repositoryOf(t, "helm")
	write(t, filepath.Join(dir, "built.yaml"),
		must(t, dir, nil, "helm", "template", "chart").stdout)
	want := must(t, dir, nil, "trainweld", "render", "-f", "built.yaml").stdout
	if got := must(t, dir, nil, "sh", "-ec",
		"helm template chart | trainweld render -f -").stdout; got != want ||
		!strings.Contains(got, "kind: JobSet") {
		t.Errorf("the chart renders to\n%s\nand its file to\n%s", got, want)
	}
}
