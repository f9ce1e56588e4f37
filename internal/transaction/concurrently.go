package transaction

import "sync"

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
