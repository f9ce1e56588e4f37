package golden

import (
	"errors"

	"github.com/trainweld/trainweld/internal/transaction"
)

// Update writes the changes of a result below the folder that was searched for cases: it makes want the folder that
// the case renders to. All files change or none; files that are as they should be are not touched, nor are any but those
// of the case. A run that was killed may have changed some of the files, each of them whole; the next one does the rest
// and clears up after it, also in a case that passes.
//
// It follows no links below the folder: it replaces one in the place of a file, and fails where one is in the place of
// want.
func Update(folder string, r *Result) (err error) {
	if r == nil || r.Case == nil {
		return errors.New("there is no result of a case")
	}
	if len(r.Changes) == 0 {
		return transaction.Recover(folder, nil)
	}
	dir, err := transaction.Open(folder, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	changes := transaction.Changes{Dir: dir}
	for _, c := range r.Changes {
		if c.New != nil {
			changes.Put(c.Name, c.New)
		} else {
			changes.Delete(c.Name)
		}
	}
	return transaction.Write([]transaction.Changes{changes}, func() error { return nil }, func(int, int) {})
}
