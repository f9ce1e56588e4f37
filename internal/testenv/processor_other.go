//go:build !unix

package testenv

import "time"

// ProcessorTime returns nothing: limits of time hold on other systems.
func ProcessorTime() time.Duration { return 0 }
