package host

import (
	"os"
	"syscall"
)

// ending are the signals that end a run.
func ending() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }
