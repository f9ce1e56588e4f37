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
