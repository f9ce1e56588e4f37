//go:build !linux

package process

import (
	"fmt"
	"os"
	"runtime/metrics"
	"time"
)

// StartWithin starts a command. This system limits no other process.
func StartWithin(cmd *Command, _ uint64) error { return cmd.Start() }

// Resident returns 0: this system does not tell. The process watches itself: see [LimitMemory].
func Resident(int) int64 { return 0 }

// Spent returns 0: this system does not tell.
func Spent(int) time.Duration { return 0 }

// LimitMemory ends the process once it holds more bytes, with the words that Go has for it.
func LimitMemory(most int64) {
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
		for range time.Tick(20 * time.Millisecond) {
			if metrics.Read(sample); sample[0].Value.Uint64() > uint64(most) {
				fmt.Fprintln(os.NewFile(2, "stderr"), OutOfMemory)
				os.Exit(2)
			}
		}
	}()
}
