//go:build unix

package main

import (
	"os"
	"syscall"
)

// endedByClosedPipe reports whether SIGPIPE has ended the process.
func endedByClosedPipe(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGPIPE
}
