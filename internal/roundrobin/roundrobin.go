// Package roundrobin compares the speed of several ways on a busy machine. Only benchmarks import
// it.
//
// All sides take turns within one run, so a slow phase of the machine slows all of them. Read the
// ratios.
//
//	sides := []*roundrobin.Side{{Name: "DeepCopy", Run: deepCopy}, {Name: "Apply", Run: apply}}
//	roundrobin.Take(b, sides)
//
// Its first file to read is roundrobin.go.
package roundrobin

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/trainweld/trainweld/internal/testenv"
)

// Side is one of the ways that a benchmark compares.
type Side struct {
	Name string
	Run  func() error
	// After cleans up behind a run of Whole, and is not counted. It may be nil.
	After func() error

	ns  []float64 // the time of one run, for each turn
	cpu []float64 // the processor time of it, in turns of Whole
}

// Quick returns the lower quartile of the turns, in nanoseconds per run. Other programs only make a
// turn slower.
func (s *Side) Quick() float64 { return quartile(s.ns) }

func quartile(turns []float64) float64 {
	sorted := slices.Sorted(slices.Values(turns))
	return sorted[len(sorted)/4]
}

// Take gives every side forty turns of some milliseconds in each round of the benchmark, in
// alternation.
func Take(b *testing.B, sides []*Side) {
	b.Helper()
	const turns, turn = 40, 4 * time.Millisecond
	for range b.N * turns {
		for _, s := range sides {
			runtime.GC() // no side pays for another one's garbage
			n, start := 0, time.Now()
			for time.Since(start) < turn {
				if err := s.Run(); err != nil {
					b.Fatalf("%s: %v", s.Name, err)
				}
				n++
			}
			s.ns = append(s.ns, float64(time.Since(start).Nanoseconds())/float64(n))
		}
	}
	b.ReportMetric(0, "ns/op") // hides the time of a round of all sides
}

// Whole runs every side once in each of n turns, for sides that take seconds or all cores. It
// counts the processor time on all cores, in the program and in the kernel. Other programs disturb
// it less than the wall time.
func Whole(b *testing.B, n int, sides ...*Side) {
	b.Helper()
	for range b.N * n {
		for _, s := range sides {
			runtime.GC() // no side pays for another one's garbage
			cpu, start := testenv.ProcessorTime(), time.Now()
			if err := s.Run(); err != nil {
				b.Fatalf("%s: %v", s.Name, err)
			}
			s.ns = append(s.ns, float64(time.Since(start).Nanoseconds()))
			s.cpu = append(s.cpu, float64((testenv.ProcessorTime() - cpu).Nanoseconds()))
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
func (s *Side) CPU() float64 { return quartile(s.cpu) }

// Cores returns how many cores a run keeps busy. Only Whole counts that.
func (s *Side) Cores() float64 {
	var cpu, ns float64
	for i := range s.cpu {
		cpu, ns = cpu+s.cpu[i], ns+s.ns[i]
	}
	return cpu / ns
}
