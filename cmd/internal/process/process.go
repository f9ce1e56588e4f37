// Package process starts git, the user's programs, and this program again for work that no file may
// abuse. No other package starts a program.
//
//	cmd, err := process.Self("kustomize") // in the parent
//
//	if process.Is("kustomize") { // in main, before anything else
//		process.SealLibraries()
//	}
//
// Its first file to read is process.go.
package process

import (
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"runtime"
)

// Command is a program that is to be started, or runs.
type Command = exec.Cmd

// ErrNotFound is the error for a program that no folder of PATH has.
var ErrNotFound = exec.ErrNotFound

// role is the variable of the environment that names the work of a process.
const role = "TRAINWELD_PROCESS"

// Self returns a command that runs this program for one kind of work. Its environment has nothing
// else. Such a process starts no other one: a test binary that does not call [Is] would start
// itself forever.
func Self(work string) (*Command, error) {
	file, err := executable()
	return &Command{Path: file, Args: []string{"trainweld-" + work},
		Env: []string{role + "=" + work}, SysProcAttr: ownGroup()}, err
}

// executable returns the file of this program.
func executable() (string, error) {
	if os.Getenv(role) != "" {
		return "", errors.New("a process that was started for one kind of work starts no other one")
	}
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil // also when the file was replaced meanwhile
	}
	return os.Executable()
}

// Is reports whether the process was started for this kind of work.
func Is(work string) bool {
	return len(os.Args) > 0 && os.Args[0] == "trainweld-"+work && os.Getenv(role) == work
}

// SealLibraries makes requests by HTTP fail, and discards the output of libraries to the standard
// error of the process. Kustomize writes its deprecations there, in any order and without the
// directory.
func SealLibraries() {
	http.DefaultTransport = offline{}
	log.SetOutput(io.Discard)
	if nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = nowhere
	}
}

// offline is a transport without network.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) { return nil, errOffline }

var errOffline = errors.New("a build fetches nothing")

// OutOfMemory is in what Go writes to standard error when it ends a process for lack of memory.
const OutOfMemory = "out of memory"

// gitSettings override the configuration of a repository, whose files may be a stranger's. Then git
// runs no program and opens no connection. A folder that only looks like a bare repository is none.
var gitSettings = []string{
	"-c", "safe.bareRepository=explicit",
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "credential.helper=",
	"-c", "core.bigFileThreshold=64m", // larger files do not fit into its memory
	"--no-optional-locks",
}

// gitVariables forbid features that a repository's configuration could allow again, such as the
// protocol ext. A missing object is an error instead of a download, and an object is what its hash
// names.
var gitVariables = []string{"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
	"GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}

// inherited are the variables that git gets from the caller. They locate programs and the user's
// own configuration, which says whose repositories are safe. Every variable of git itself stays
// behind: a hook has some of another repository.
var inherited = []string{"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "USERPROFILE", "HOMEDRIVE",
	"HOMEPATH", "SYSTEMROOT", "TEMP", "TMP"}

// Git returns a command that runs git in a directory. The command has no standard input.
func Git(dir string, args ...string) *Command {
	cmd := exec.Command("git", append(gitSettings[:len(gitSettings):len(gitSettings)], args...)...)
	cmd.Dir, cmd.Env = dir, gitVariables[:len(gitVariables):len(gitVariables)]
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}
