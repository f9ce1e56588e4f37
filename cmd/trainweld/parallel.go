package main

import (
	"iter"
	"runtime"
	"sync"
)

// ordered does n pieces of work on all cores and takes the results in their order, each as soon as it and
// those before it are there. Few results wait at any time, however many there are.
func ordered[T any](n int, work func(int) T, take func(int, T)) {
	indexes := func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
	next := 0
	stream(indexes, work, func(result T) {
		take(next, result)
		next++
	})
}

// stream does the pieces of work of a sequence on all cores, as ordered does. The sequence is gone through in
// a goroutine of its own, only as fast as its pieces are worked on.
func stream[Piece, Result any](pieces iter.Seq[Piece], work func(Piece) Result, take func(Result)) {
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

// diskQueue is how many files are written at once. A disk that is asked to make one file safe after the other
// does it slower than one that is asked for several.
const diskQueue = 8

// concurrently does n pieces of work that wait for the disk, several at once. The error is that of the first
// piece that fails; those behind it may be left out. Each time a piece is done, tell is told how many are, by one
// goroutine at a time.
func concurrently(n int, work func(int) error, tell func(done int)) error {
	var (
		mu     sync.Mutex
		next   int
		done   int
		failed = n
		first  error
		wait   sync.WaitGroup
	)
	for range min(diskQueue, n) {
		wait.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := i >= failed
				mu.Unlock()
				if stop {
					return
				}
				err := work(i)
				mu.Lock()
				done++
				tell(done)
				if err != nil && i < failed {
					failed, first = i, err
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return first
}
