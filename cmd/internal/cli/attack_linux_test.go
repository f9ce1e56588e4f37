package cli

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
)

// attack is a repository of a stranger, and the command lines that a pipeline runs in it.
type attack struct {
	// files maps names to texts. A text "-> TARGET" makes a link, "fifo" a named pipe, and "sparse"
	// a file of 3 TiB. URL is the address of a server. SENTINEL is a file that a command of the
	// attacker would write. MARK is a text that no report shows.
	files map[string]string
	make  func(t *testing.T, dir string) // what else to make, after a commit of the files
	lines []string                       // a last word <FILE stands for the standard input
	want  string                         // in what the lines print, or "" where they may succeed
}

// attackLines are the lines that start git, build or read settings.
var attackLines = []string{
	"check --git HEAD . -r rt.yaml", "diff --git HEAD .",
	"render -f job.yaml -r rt.yaml --output-dir S --exit-code", "check -k top --git HEAD",
}

// attacks returns the repositories of testdata/attacks.txt, and those that need more than files.
// Each is one of a class: others of the class are in the tests of the guards.
func attacks(t *testing.T) map[string]attack {
	t.Helper()
	const run = "touch SENTINEL"
	configured := func(text string) attack {
		return attack{lines: attackLines, make: func(t *testing.T, dir string) {
			config, err := os.OpenFile(filepath.Join(dir, ".git/config"),
				os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(config, strings.ReplaceAll(text, "SENTINEL", os.Getenv("SENTINEL")))
			if err := config.Close(); err != nil {
				t.Fatal(err)
			}
			testenv.WriteIn(t, dir, "rt.yaml", valuesRuntime+"# changed\n")
		}}
	}
	// A file of the revision is missing, and the configuration says how to get it.
	lacking := func(url, config string) attack {
		a := configured(
			"[remote \"o\"]\n\turl = \"" + url +
				"\"\n\tpromisor = true\n[extensions]\n\tpartialClone = o\n" + config)
		change := a.make
		a.make = func(t *testing.T, dir string) {
			hash := gitIn(t, dir, "", "rev-parse", "HEAD:job.yaml")
			if err := os.Remove(
				filepath.Join(dir, ".git/objects", hash[:2], hash[2:])); err != nil {
				t.Fatal(err)
			}
			change(t, dir)
		}
		return limited(a, 2, "")
	}
	password := configured("[http]\n\textraheader = MARK\n")
	password.files = map[string]string{
		"kustomization.yaml": "resources: [job.yaml]\nconfigMapGenerator: [{name: a, files: " +
			"[a=.git/config]}]\nreplacements: [{source: {kind: ConfigMap, fieldPath: data.a}, " +
			"targets: [{select: {kind: TrainJob}, fieldPaths: [spec.runtimeRef.name]}]}]\n",
	}
	password.lines, password.want = []string{"render -k . -r rt.yaml", "check -k . -r rt.yaml"},
		"is outside of the repository"
	all := map[string]attack{
		// Attacks through the state of a git repository.
		"monitor": configured("[core]\n\tfsmonitor = " + run + "\n"),
		"ext": lacking("ext::sh -c "+strings.ReplaceAll(run, " ", "% "),
			"[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n"),
		"programs": lacking("ssh://localhost/a", "[core]\n\tsshCommand = "+run+"\n"),
		"working tree": limited(configured("[core]\n\tworktree = ../../outside\n"), 2,
			"takes another folder for its working tree"),
		"endless reference": {make: func(t *testing.T, dir string) {
			special(t, filepath.Join(dir, ".git/refs/heads/zero"), "-> /dev/zero")
		}, lines: []string{"diff --git zero .", "check --git zero ."},
			want: "cannot be read: git rev-parse"},
		"bare folder": {
			files: map[string]string{"ch/HEAD": "ref: refs/heads/a\n", "ch/objects/a": "",
				"ch/refs/a": "",
				"ch/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree " +
					"= .\n\tfsmonitor = " + run + "\n", "ch/Chart.yaml": "name: a\n"},
			make: func(t *testing.T, dir string) {
				index, err := os.ReadFile(filepath.Join(dir, ".git/index"))
				if err != nil {
					t.Fatal(err)
				}
				testenv.WriteIn(t, dir, "ch/index", string(index))
			}, lines: append([]string{"render -f job.yaml -r rt.yaml --output-dir ch --exit-code"},
				attackLines...)},
		"git file outside": {make: func(t *testing.T, dir string) {
			otherRepository(t, dir)
			gitFile(t, dir, "../outside/.git")
		}, lines: attackLines[:2], want: "belongs to another working tree"},
		"git link outside": {make: func(t *testing.T, dir string) {
			otherRepository(t, dir)
			gitFile(t, dir, "")
			special(t, filepath.Join(dir, ".git"), "-> ../outside/.git")
		}, lines: attackLines[:2], want: "belongs to another working tree"},
		"common folder outside": {make: func(t *testing.T, dir string) {
			otherRepository(t, dir)
			special(t, filepath.Join(dir, ".git/commondir"), "../../outside/.git\n")
		}, lines: attackLines[:2], want: "belongs to another working tree"},
		"replaced file": {make: func(t *testing.T, dir string) {
			gitIn(t, dir, "", "replace", gitIn(t, dir, "", "rev-parse", "HEAD:job.yaml"),
				gitIn(t, dir, marked, "hash-object", "-w", "--stdin"))
		}, lines: attackLines[1:2]},
		"password of the configuration": password,
		"endless alternates": {make: func(t *testing.T, dir string) {
			special(t, filepath.Join(dir, ".git/objects/info/alternates"), "-> /dev/zero")
		}, lines: attackLines[:2], want: "cannot be read: git rev-parse"},
		// Attacks through the files of a tree.
		"trees": {make: manyTrees,
			lines: []string{"check --git many .", "diff --git many .", "check -k top --git many"},
			want:  "lists more than 64 MiB"},
		"odd names": {
			files: map[string]string{"jobs/a\n::error::x\x1b[31m\xff.yaml": "MARK: x: y\n",
				"top/kustomization.yaml": "resources: [\"a\\n::error::x\\e[31m\"]\n"},
			lines: []string{"check jobs -o github", "diff jobs job.yaml -o markdown",
				"check -k top -o github"}, want: "error"},
		"deep bases": {make: deepBases, lines: []string{"check -k top", "render -k top"},
			want: "lies in"},
	}
	for _, in := range inputsOf(t, "attacks") {
		name, want, _ := strings.Cut(in.name, ": ")
		a := attack{files: map[string]string{}, lines: in.lines, want: want}
		for _, f := range in.files {
			a.files[sized(f.Name, 1)] = sized(string(f.Data), 1)
		}
		all[name] = a
	}
	return all
}

// limited returns an attack by some of its lines, which print a text.
func limited(a attack, lines int, want string) attack {
	a.lines, a.want = a.lines[:lines], want
	return a
}

// TestAttacks runs the program in repositories of strangers. No command of theirs runs, and no run
// opens a connection. No run reads or writes outside of the repository. Each run ends soon, with
// little memory and with a message.
func TestAttacks(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { connections.Add(1) }
	server.Start()
	t.Cleanup(func() {
		server.Close()
		if n := connections.Load(); n > 0 {
			t.Errorf("%d connections, want none", n)
		}
	})
	clean := filepath.Join(t.TempDir(), "repository")
	testenv.WriteIn(t, clean, "job.yaml",
		"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: llm}\nspec: "+
			"{runtimeRef: {name: rt}}\n")
	testenv.WriteIn(t, clean, "rt.yaml", valuesRuntime)
	testenv.WriteIn(t, clean, "S/README", "")
	gitIn(t, clean, "", "init", "-q", "--template=")
	gitIn(t, clean, "", "add", ".")
	gitIn(t, clean, "", "commit", "-qm", "a")
	all := attacks(t)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name]
		if testenv.Every(2) > 1 { // one line of each
			a.lines = a.lines[i%len(a.lines):][:1]
		}
		t.Run(name, func(t *testing.T) {
			above := t.TempDir()
			sentinel, programs, dir := filepath.Join(above, "sentinel"),
				filepath.Join(above, "programs"), filepath.Join(above, "repository")
			t.Setenv("SENTINEL", sentinel)
			for _, program := range []string{"ssh", "helm", "git-upload-pack", "git-remote-http",
				"curl", "pager"} {
				testenv.WriteIn(t, programs, program, "#!/bin/sh\ntouch "+sentinel+"\n")
				if err := os.Chmod(filepath.Join(programs, program), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
			testenv.WriteIn(t, above, "outside/secret.yaml", "MARK: MARK\nkind: TrainJob\n")
			if err := os.CopyFS(dir, os.DirFS(clean)); err != nil {
				t.Fatal(err)
			}
			for file, text := range a.files {
				text = strings.NewReplacer("URL", server.URL, "SENTINEL", sentinel).Replace(text)
				special(t, filepath.Join(dir, strings.NewReplacer("SENTINEL", "s").Replace(file)),
					text)
			}
			if a.make != nil {
				a.make(t, dir)
			}
			for _, line := range a.lines {
				a.run(t, dir, line)
				if _, err := os.Stat(sentinel); err == nil {
					t.Fatalf("%s: a command of the attacker ran", line)
				}
			}
			entries, err := os.ReadDir(above)
			if err != nil || len(entries) != 3 {
				t.Errorf("written outside of the repository: %v, %v", entries, err)
			}
		})
	}
}
