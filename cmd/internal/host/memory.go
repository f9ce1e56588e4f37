package host

import (
	"os"
	"runtime/debug"
)

// HeapLimit is the size of the heap, in bytes, from which on the collector works as often as it
// must.
const HeapLimit = 320 << 20

// CollectLess lets the heap grow to four times the live data before a garbage collection, up to
// HeapLimit. It holds until restore is called. A build or a check leaves much garbage and little
// data, so collections take a quarter of the time. A set GOGC or GOMEMLIMIT takes precedence.
func CollectLess() (restore func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	const percent = 300
	wasPercent, wasLimit := debug.SetGCPercent(percent), debug.SetMemoryLimit(HeapLimit)
	if wasPercent > percent {
		wasPercent = 100 // the program postponed its first collection, which has come since
	}
	return func() {
		debug.SetGCPercent(wasPercent)
		debug.SetMemoryLimit(wasLimit)
	}
}
