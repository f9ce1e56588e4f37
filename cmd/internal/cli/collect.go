package cli

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/trainweld/trainweld/cmd/internal/host"
)

// postponeCollection lets the heap grow to 16 MiB before the first garbage collection. By default
// the collector starts at 4 MiB, and the linked packages fill half of that. A run for one TrainJob
// would pause for a collection without any gain. After the first collection, the usual setting
// applies. A set GOGC takes precedence. A large heap does not double before the next one.
func postponeCollection() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(host.HeapLimit)
	}
	if os.Getenv("GOGC") != "" {
		return
	}
	const usual, first = 100, 400 // percent; the least heap is 4 MiB times this
	debug.SetGCPercent(first)
	// The first collection runs the cleanup of this unreachable value.
	type unused struct{ _ *byte }
	runtime.AddCleanup(new(unused), func(int) {
		if set := debug.SetGCPercent(usual); set != first {
			debug.SetGCPercent(set) // builds have set another one
		}
	}, 0)
}
