package wholefile

import "sync"

// diskQueue is the number of concurrent writes. A disk syncs several files faster than one file
// after another.
const diskQueue = 8

// concurrently runs work for 0 to n-1, several at once, since each waits for the disk. It returns
// the error with the lowest index, and may skip work behind it. After each piece, it calls tell
// with the number of finished ones, from one goroutine at a time.
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
