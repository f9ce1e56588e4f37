// Package parallel does pieces of work on all cores. It hands out the results in the order of the pieces.
package parallel

import (
	"iter"
	"runtime"
)

// Ordered does n pieces of work on all cores and takes the results in their order, each as soon as it and
// those before it are there. Few results wait at any time, however many there are.
func Ordered[T any](n int, work func(int) T, take func(int, T)) {
	indexes := func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
	next := 0
	Stream(indexes, work, func(result T) {
		take(next, result)
		next++
	})
}

// Stream does the pieces of work of a sequence on all cores, as ordered does. The sequence is gone through in
// a goroutine of its own, only as fast as its pieces are worked on.
func Stream[Piece, Result any](pieces iter.Seq[Piece], work func(Piece) Result, take func(Result)) {
	workers := runtime.GOMAXPROCS(0)
	if workers == 1 {
		for p := range pieces {
			take(work(p))
		}
		return
	}
	type task struct {
		piece  Piece
		result chan Result
	}
	const ahead = 4 // pieces a worker may be in front of the one that is taken
	todo := make(chan task)
	waiting := make(chan task, ahead*workers)
	for range workers {
		go func() {
			for t := range todo {
				t.result <- work(t.piece)
			}
		}()
	}
	go func() {
		for p := range pieces {
			t := task{p, make(chan Result, 1)}
			waiting <- t
			todo <- t
		}
		close(todo)
		close(waiting)
	}()
	for t := range waiting {
		take(<-t.result)
	}
}
