// Package turns answers: how many times longer does one way take than another, on a busy machine? Only benchmarks
// import it.
//
// All sides take turns within one run, so that a machine that slows down slows all of them: read the ratios.
//
//	sides := []*turns.Side{{Name: "DeepCopy", Run: deepCopy}, {Name: "Apply", Run: apply}}
//	turns.Compare(b, "a Pod", sides)
package turns

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Side is one way to do what a benchmark compares.
type Side struct {
	Name string
	Run  func() error

	ns []float64 // of one run, a value each turn
}

// Quick returns the lower quartile of the turns, in nanoseconds a run: other programs only ever make a turn slower.
func (s *Side) Quick() float64 {
	sorted := slices.Sorted(slices.Values(s.ns))
	return sorted[len(sorted)/4]
}

// Allocations returns how many allocations one run makes.
func (s *Side) Allocations() int {
	return int(testing.AllocsPerRun(5, func() { _ = s.Run() }))
}

// Take gives every side forty turns of some milliseconds, one side after the other, in each round of the benchmark.
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
	b.ReportMetric(0, "ns/op") // of a round of all sides
}

// Compare takes the turns, reports every side as a multiple of the first one, and logs a table with the allocations.
func Compare(b *testing.B, title string, sides []*Side) {
	b.Helper()
	Take(b, sides)
	floor := sides[0]
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-32s %12s %10s %10s\n", title, "ns", floor.Name+"=1", "allocs")
	for _, s := range sides {
		fmt.Fprintf(&table, "  %-30s %12.0f %10.2f %10d\n", s.Name, s.Quick(), s.Quick()/floor.Quick(), s.Allocations())
		b.ReportMetric(s.Quick()/floor.Quick(), s.Name+"/"+floor.Name)
	}
	b.Log(strings.TrimSuffix(table.String(), "\n")) // a benchmark shows ten lines
}
