//go:build !js

package build

import (
	"os"
	"runtime/debug"
)

// collectLess lets the heap grow to four times the live data before a garbage collection, up to a limit. A build leaves much garbage
// and little data, so collecting it takes a quarter of the usual time. A set GOGC or GOMEMLIMIT takes precedence.
func collectLess() (restore func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	const percent, limit = 300, 512 << 20 // bytes, from which on the collector works as often as it must
	wasPercent, wasLimit := debug.SetGCPercent(percent), debug.SetMemoryLimit(limit)
	return func() {
		debug.SetGCPercent(wasPercent)
		debug.SetMemoryLimit(wasLimit)
	}
}
