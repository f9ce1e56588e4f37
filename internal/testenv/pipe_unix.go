//go:build unix

package testenv

import (
	"os"
	"syscall"
)

// EndedByClosedPipe reports whether SIGPIPE has ended the process.
func EndedByClosedPipe(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGPIPE
}
