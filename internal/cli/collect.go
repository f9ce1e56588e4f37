package cli

import (
	"os"
	"runtime"
	"runtime/debug"
)

// postponeCollection lets the heap grow to 16 MiB before the garbage collector looks at it for the first time.
// What the linked packages set up takes half of the 4 MiB that it would wait for, so that a run for one TrainJob
// would stop in the middle to look for garbage, and be over before it gained anything. From the first collection
// on the heap grows as ever: by as much as is in use. Who sets GOGC has said what is wanted.
func postponeCollection() {
	if os.Getenv("GOGC") != "" {
		return
	}
	const usual, first = 100, 400 // percent; the least heap is 4 MiB times this
	debug.SetGCPercent(first)
	// What nothing refers to is found by the first collection.
	type unused struct{ _ *byte }
	runtime.AddCleanup(new(unused), func(int) { debug.SetGCPercent(usual) }, 0)
}
