package process_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trainweld/trainweld/cmd/internal/process"
)

const partialClone = `[core]
	repositoryformatversion = 1
[extensions]
	partialClone = origin
[remote "origin"]
	promisor = true
`

// TestGit_Hostile gives a repository a configuration that runs a program. A plain call of git runs
// it, which shows that the case is valid. A call by this package does not.
func TestGit_Hostile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program of the configuration is a script of a shell")
	}
	for _, tc := range []struct {
		name, config string
		args         string
		environment  [2]string
	}{
		{name: "fsmonitor", config: "[core]\n\tfsmonitor = EVIL\n", args: "ls-files --others"},
		{name: "fsmonitor of the environment",
			environment: [2]string{"GIT_CONFIG_PARAMETERS", "'core.fsmonitor'='EVIL'"},
			args:        "ls-files --others"},
		{name: "hooks", config: "[core]\n\thooksPath = HOOKS\n",
			args: "update-ref refs/heads/other HEAD"},
		{name: "lazy fetch by ext",
			config: partialClone + "\turl = ext::EVIL\n[protocol \"ext\"]\n\tallow = always\n",
			args:   "cat-file blob MISSING"},
		{name: "lazy fetch by ssh",
			config: partialClone +
				"\turl = ssh://a/b\n[core]\n\tsshCommand = EVIL\n[protocol \"ssh\"]\n\tallow = " +
				"always\n", args: "cat-file blob MISSING"},
		{name: "lazy fetch by upload-pack",
			config: partialClone +
				"\turl = FOLDER\n\tuploadpack = EVIL\n[protocol \"file\"]\n\tallow = always\n",
			args: "cat-file blob MISSING"},
		{name: "fetch by ext",
			config: "[remote \"origin\"]\n\turl = ext::EVIL\n[protocol \"ext\"]\n\tallow = always\n", args: "fetch origin"},
		{name: "credentials", config: "[credential]\n\thelper = EVIL\n",
			args: "credential approve"},
		{name: "ssh of the environment", config: "[remote \"origin\"]\n\turl = ssh://a/b\n",
			environment: [2]string{"GIT_SSH", "EVIL"}, args: "fetch origin"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			above := t.TempDir()
			dir, evil, ran := filepath.Join(above, "repository"), filepath.Join(above, "evil"),
				filepath.Join(above, "ran")
			script := "#!/bin/sh\ntouch '" + ran + "'\n"
			write(t, evil, script, 0o700)
			write(t, filepath.Join(above, "hooks", "reference-transaction"), script, 0o700)
			write(t, filepath.Join(dir, "file"), "text", 0o600)
			for _, args := range []string{
				"init -q", "add .", "-c user.name=a -c user.email=a@example.com commit -qm a"} {
				if out, err := gitIn(dir, args).CombinedOutput(); err != nil {
					t.Fatalf("git %s: %v\n%s", args, err, out)
				}
			}
			fill := strings.NewReplacer("EVIL", evil, "HOOKS", filepath.Join(above, "hooks"),
				"FOLDER", dir, "MISSING", strings.Repeat("1", 40)).Replace
			write(t, filepath.Join(dir, ".git", "config"), fill(tc.config), 0o600)
			if tc.environment[0] != "" {
				t.Setenv(tc.environment[0], fill(tc.environment[1]))
			}
			run := func(cmd *exec.Cmd) bool {
				cmd.Stdin = strings.NewReader(
					"protocol=https\nhost=example.com\nusername=a\npassword=b\n\n")
				out, err := cmd.CombinedOutput()
				t.Logf("%v\n%s", err, out)
				_, errRan := os.Stat(ran)
				return errRan == nil
			}
			args := fill(tc.args)
			if run(process.Git(dir, strings.Fields(args)...)) {
				t.Errorf("git %s ran a program of the configuration", args)
			}
			if !run(gitIn(dir, args)) {
				t.Errorf("a plain git %s runs no program: the case shows nothing", args)
			}
		})
	}
}

// TestGit_Bare does not take a folder with the files of a repository for one.
func TestGit_Bare(t *testing.T) {
	dir := t.TempDir()
	if out, err := gitIn(dir, "init -q --bare .").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := process.Git(dir, "rev-parse", "--git-dir").CombinedOutput(); err == nil {
		t.Errorf("git takes a bare repository: %s", out)
	}
}

// TestGit_Environment sets variables of git, as git does for a hook. They name another repository.
func TestGit_Environment(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, folder := range []string{dir, other} {
		if out, err := gitIn(folder, "init -q").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	if out, err := process.Git(dir, "config", "--show-origin", "--get-all",
		"user.name").CombinedOutput(); err == nil {
		t.Errorf("git config = %q, want no user", out)
	}
	write(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = own\n", 0o600)
	if out, err := process.Git(dir, "config", "user.name").Output(); err != nil ||
		string(out) != "own\n" {
		t.Errorf("git config = %q, %v, want the configuration of the user", out, err)
	}
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	if out, err := process.Git(dir, "rev-parse", "--git-dir").Output(); err != nil ||
		string(out) != ".git\n" {
		t.Errorf("git rev-parse --git-dir = %q, %v, want .git", out, err)
	}
}

// TestGit_Settings holds that no configuration of a repository overrides some settings. With them
// git asks nobody, fetches nothing late, and writes no index to save later work.
func TestGit_Settings(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "text", 0o600)
	for _, args := range []string{
		"init -q", "add .", "-c user.name=a -c user.email=a@example.com commit -qm a"} {
		if out, err := gitIn(dir, args).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	fill := process.Git(dir, "credential", "fill")
	fill.Stdin = strings.NewReader("protocol=https\nhost=example.com\n\n")
	if out, err := fill.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "terminal prompts disabled") {
		t.Errorf("git asks for a user: %v\n%s", err, out)
	}
	if !slices.Contains(fill.Env, "GIT_NO_LAZY_FETCH=1") { // git has it since 2.45
		t.Errorf("git may fetch missing objects: %q", fill.Env)
	}
	index := filepath.Join(dir, ".git", "index")
	before, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, "file"), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if out, err := process.Git(dir, "status").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if after, err := os.ReadFile(index); err != nil || !bytes.Equal(before, after) {
		t.Errorf("git has written the index: %v", err)
	}
}

func gitIn(dir, args string) *exec.Cmd {
	cmd := exec.Command("git", strings.Fields(args)...)
	cmd.Dir = dir
	return cmd
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
