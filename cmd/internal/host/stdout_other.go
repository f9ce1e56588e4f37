//go:build !windows

package host

// isBrokenPipe reports a system's errors in addition to EPIPE. This system has none.
func isBrokenPipe(error) bool { return false }
