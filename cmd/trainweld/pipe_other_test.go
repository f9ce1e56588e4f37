//go:build !unix

package main

import "os"

// endedByClosedPipe reports whether the process has ended with the status for a closed pipe.
func endedByClosedPipe(state *os.ProcessState) bool { return state.ExitCode() == exitClosedPipe }
