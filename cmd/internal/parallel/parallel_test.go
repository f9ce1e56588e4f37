package parallel

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestOrdered wants every result once, in order, and little work in front of the taken results.
func TestOrdered(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 1000} {
		var begun, next int64
		ahead := int64(8 * runtime.GOMAXPROCS(0))
		Ordered(n, func(i int) int {
			atomic.AddInt64(&begun, 1)
			for range (i * 7919) % 13 {
				runtime.Gosched() // so that results are not there in order
			}
			return i * i
		}, func(i, got int) {
			if int64(i) != next || got != i*i {
				t.Fatalf("%d: result %d is %d, want number %d", n, i, got, next)
			}
			next++
			if i == 10 {
				time.Sleep(10 * time.Millisecond) // the others must wait
			}
			if far := atomic.LoadInt64(&begun) - next; far > ahead {
				t.Errorf("%d: %d pieces in front of the one that is taken", n, far)
			}
		})
		if next != int64(n) {
			t.Errorf("%d results of %d", next, n)
		}
	}
}

// TestMapInOrder_Panic panics in one piece of work. The caller gets the panic with the stack of the
// work, behind the results before it and before the others.
func TestMapInOrder_Panic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // one worker runs in the caller
	taken := 0
	defer func() {
		text := fmt.Sprint(recover())
		if !strings.HasPrefix(text, "piece 5\n") || !strings.Contains(text, "failingWork") ||
			taken != 5 {
			t.Errorf("after %d results: %s", taken, text)
		}
	}()
	Ordered(20, failingWork, func(int, int) { taken++ })
}

func failingWork(i int) int {
	if i == 5 {
		panic(fmt.Sprint("piece ", i))
	}
	return i
}

// TestOnce makes the value of each key once, however many callers ask for it at once.
func TestOnce(t *testing.T) {
	var once Once[int, string]
	var made [3]atomic.Int32
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			got := once.Of(i%3, func() string {
				runtime.Gosched() // so that others ask meanwhile
				made[i%3].Add(1)
				return fmt.Sprint(i % 3)
			})
			if got != fmt.Sprint(i%3) {
				t.Errorf("the value of %d is %s", i%3, got)
			}
		})
	}
	all.Wait()
	for key := range made {
		if n := made[key].Load(); n != 1 {
			t.Errorf("the value of %d is made %d times", key, n)
		}
	}
}
