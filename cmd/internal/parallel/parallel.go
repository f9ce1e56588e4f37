// Package parallel runs work on all cores, and passes on the results in order.
//
// Its first file to read is parallel.go.
package parallel

import (
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"sync"
)

// Ordered runs work for 0 to n-1 on all cores. It passes each result to take in order, as soon as
// the earlier ones are done. Few results wait at any time.
func Ordered[T any](n int, work func(int) T, take func(int, T)) {
	indexes := func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
	next := 0
	MapInOrder(indexes, work, func(result T) {
		take(next, result)
		next++
	})
}

// MapInOrder runs work for each piece on all cores, and passes the results to take in order. A
// goroutine of its own reads pieces, only as fast as work is done. A panic of work goes on in the
// caller, with its stack.
func MapInOrder[Piece, Result any](pieces iter.Seq[Piece], work func(Piece) Result,
	take func(Result)) {
	workers := runtime.GOMAXPROCS(0)
	if workers == 1 {
		for p := range pieces {
			take(work(p))
		}
		return
	}
	type task struct {
		piece  Piece
		result chan outcome[Result]
	}
	const ahead = 4 // the pieces a worker may be ahead of take
	todo := make(chan task)
	waiting := make(chan task, ahead*workers)
	for range workers {
		go func() {
			for t := range todo {
				t.result <- caught(func() Result { return work(t.piece) })
			}
		}()
	}
	go func() {
		for p := range pieces {
			t := task{p, make(chan outcome[Result], 1)}
			waiting <- t
			todo <- t
		}
		close(todo)
		close(waiting)
	}()
	for t := range waiting {
		done := <-t.result
		if done.crash != nil {
			panic(done.crash)
		}
		take(done.result)
	}
}

// outcome is a result, or the panic that came instead.
type outcome[T any] struct {
	result T
	crash  error
}

func caught[T any](work func() T) (o outcome[T]) {
	defer func() {
		if v := recover(); v != nil {
			o.crash = fmt.Errorf("%v\n%s", v, debug.Stack())
		}
	}()
	o.result = work()
	return o
}

// Once holds the values of keys, each made once. The zero value is empty.
type Once[Key comparable, Value any] struct {
	mu     sync.Mutex
	values map[Key]func() Value
}

// Of returns the value of a key. The first caller makes it, and others wait for it.
func (o *Once[Key, Value]) Of(key Key, create func() Value) Value {
	o.mu.Lock()
	value, known := o.values[key]
	if !known {
		if o.values == nil {
			o.values = map[Key]func() Value{}
		}
		value = sync.OnceValue(create)
		o.values[key] = value
	}
	o.mu.Unlock()
	return value()
}
