//go:build unix

package roundrobin

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Whole runs every side once in each of n turns, for sides that take seconds or all cores. It
// counts the processor time on all cores, in the program and in the kernel. Other programs disturb
// it less than the wall time.
func Whole(b *testing.B, n int, sides ...*Side) {
	b.Helper()
	for range b.N * n {
		for _, s := range sides {
			runtime.GC() // no side pays for another one's garbage
			cpu, start := processorTime(), time.Now()
			if err := s.Run(); err != nil {
				b.Fatalf("%s: %v", s.Name, err)
			}
			s.ns = append(s.ns, float64(time.Since(start).Nanoseconds()))
			s.cpu = append(s.cpu, float64((processorTime() - cpu).Nanoseconds()))
			if s.After == nil {
				continue
			}
			if err := s.After(); err != nil {
				b.Fatalf("after %s: %v", s.Name, err)
			}
		}
	}
	b.ReportMetric(0, "ns/op") // hides the time of a round of all sides
}

// CPU returns the lower quartile of the processor time of a run, in nanoseconds. Only Whole counts
// it.
func (s *Side) CPU() float64 {
	sorted := slices.Sorted(slices.Values(s.cpu))
	return sorted[len(sorted)/4]
}

// Cores returns how many cores a run keeps busy. Only Whole counts that.
func (s *Side) Cores() float64 {
	var cpu, ns float64
	for i := range s.cpu {
		cpu, ns = cpu+s.cpu[i], ns+s.ns[i]
	}
	return cpu / ns
}

// processorTime returns what this process has used.
func processorTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
