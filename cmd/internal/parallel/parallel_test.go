package parallel

import (
	"runtime"
	"sync/atomic"
	"testing"
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
			if far := atomic.LoadInt64(&begun) - next; far > ahead {
				t.Errorf("%d: %d pieces in front of the one that is taken", n, far)
			}
		})
		if next != int64(n) {
			t.Errorf("%d results of %d", next, n)
		}
	}
}
