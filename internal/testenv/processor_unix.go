//go:build unix

package testenv

import (
	"syscall"
	"time"
)

// ProcessorTime returns what this process and those that it started have used. A test limits it
// instead of the time of a clock, which passes on a busy machine as well.
func ProcessorTime() time.Duration {
	spent := int64(0)
	for _, of := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if syscall.Getrusage(of, &r) == nil { // which fails for other arguments only
			spent += r.Utime.Nano() + r.Stime.Nano()
		}
	}
	return time.Duration(spent)
}
