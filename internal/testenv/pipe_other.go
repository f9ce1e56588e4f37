//go:build !unix

package testenv

import "os"

// EndedByClosedPipe reports whether the process has ended with the status for a closed pipe.
func EndedByClosedPipe(state *os.ProcessState) bool { return state.ExitCode() == 128+13 }
