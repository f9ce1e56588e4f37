package host

import (
	"errors"
	"syscall"
)

// isBrokenPipe reports Windows' two errors for a pipe without a reader.
func isBrokenPipe(err error) bool {
	const noData = syscall.Errno(232) // ERROR_NO_DATA
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, noData)
}
