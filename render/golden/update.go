package golden

import (
	"errors"

	"github.com/trainweld/trainweld/internal/transaction"
)

// Update writes the changes of a result below the searched folder, so that want has the rendered files. It changes
// all files or none. It does not touch unchanged files, or files of other cases. A killed run may have changed some
// files, each one completely. The next run finishes and cleans up, even in a case that passes.
//
// It follows no links below the folder. It replaces a link in the place of a file. A link in the place of want is an
// error.
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
