package main

import "runtime"

// ordered does n pieces of work on all cores and takes the results in their order, each as soon as it and
// those before it are there. Few results wait at any time, however many there are.
func ordered[T any](n int, work func(int) T, take func(int, T)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			take(i, work(i))
		}
		return
	}
	type piece struct {
		index  int
		result chan T
	}
	const ahead = 4 // pieces a worker may be in front of the one that is taken
	todo := make(chan piece)
	waiting := make(chan piece, ahead*workers)
	for range workers {
		go func() {
			for p := range todo {
				p.result <- work(p.index)
			}
		}()
	}
	go func() {
		for i := range n {
			p := piece{i, make(chan T, 1)}
			waiting <- p
			todo <- p
		}
		close(todo)
		close(waiting)
	}()
	for p := range waiting {
		take(p.index, <-p.result)
	}
}
