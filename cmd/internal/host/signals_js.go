package host

import "os"

// ending returns no signal: a browser sends none.
func ending() []os.Signal { return nil }
