package wholefile

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
)

// TestConcurrently runs pieces of work of which some fail. The error comes from the first of these.
// All pieces before it are done, and several run at once.
func TestConcurrently(t *testing.T) {
	for n := range 20 {
		for fails := range n + 1 {
			var ran [20]atomic.Bool
			var told []int
			err := concurrently(n, func(i int) error {
				if ran[i].Swap(true) {
					t.Errorf("piece %d runs again", i)
				}
				if i >= fails {
					return fmt.Errorf("piece %d", i)
				}
				return nil
			}, func(done int) { told = append(told, done) })
			if want := fmt.Sprint("piece ", fails); (err == nil) != (fails == n) ||
				err != nil && err.Error() != want {
				t.Errorf("%d pieces, from %d on wrong: %v, want %s", n, fails, err, want)
			}
			for i := range fails {
				if !ran[i].Load() {
					t.Errorf("%d pieces, from %d on wrong: piece %d does not run", n, fails, i)
				}
			}
			if len(told) < fails || !slices.IsSorted(told) ||
				len(told) > 0 && (told[0] != 1 || told[len(told)-1] != len(told)) {
				t.Errorf("%d pieces, from %d on wrong: told %v", n, fails, told)
			}
		}
	}
	for early := range 2 { // both run at once, and each may fail before the other
		begun, told := make(chan bool), make(chan bool)
		err := concurrently(2, func(i int) error {
			if i == early {
				<-begun
			} else {
				close(begun)
				<-told
			}
			return fmt.Errorf("piece %d", i)
		}, func(done int) {
			if done == 1 {
				close(told)
			}
		})
		if err == nil || err.Error() != "piece 0" {
			t.Errorf("piece %d fails before the other: %v, want piece 0", early, err)
		}
	}
	count := atomic.Int32{}
	err := concurrently(1000, func(int) error {
		count.Add(1)
		return errors.New("wrong")
	}, func(int) {})
	if n := count.Load(); err == nil || n > 2*diskQueue {
		t.Errorf("%d pieces run behind an error, %v", n, err)
	}
}
