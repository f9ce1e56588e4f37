package golden

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// temporary is what the names of files begin with that are being written, before the process' number.
const temporary = ".trainweld-new-"

// Update writes the changes of a result below the folder that was searched for cases: it makes want the folder that
// the case renders to. Each file is whole at every moment, since it is written beside its place and renamed;
// files that are as they should be are not touched, nor are any but those of the case. A run that was killed
// has changed some of the files, and the next one does the rest and clears up after it, also in a case that passes.
//
// It follows no link that leads out of the case, and fails where one would have to be.
func Update(folder string, r *Result) (err error) {
	root, err := os.OpenRoot(filepath.Join(folder, filepath.FromSlash(r.Case.Name)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if _, err := root.Stat(wantFolder); len(r.Changes) == 0 && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := root.Mkdir(wantFolder, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := clear(root); err != nil {
		return err
	}
	for _, c := range r.Changes {
		name := path.Join(wantFolder, path.Base(c.File))
		if c.New != nil {
			err = replace(root, name, c.New)
		} else if err = root.Remove(name); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w; what was written so far is whole, run it again to do the rest", c.File, err)
		}
	}
	return nil
}

// clear removes what killed runs have left.
func clear(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), wantFolder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), temporary) {
			if err := root.Remove(path.Join(wantFolder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// replace puts a file into its place whole, with the permissions of the one that is there.
func replace(root *os.Root, name string, data []byte) error {
	mode, replaces := fs.FileMode(0o666), false
	if old, err := root.Stat(name); err == nil {
		if !old.Mode().IsRegular() {
			return errors.New("it is there and no file; remove it")
		}
		mode, replaces = old.Mode().Perm(), true
	}
	// The number keeps two runs at one time from writing one file.
	new := path.Join(path.Dir(name), fmt.Sprintf("%s%d-%s", temporary, os.Getpid(), path.Base(name)))
	f, err := root.OpenFile(new, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if replaces {
		err = f.Chmod(mode) // the process' mask was taken off it
	}
	_, errWrite := f.Write(data)
	if err := errors.Join(err, errWrite, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, root.Remove(new))
	}
	return root.Rename(new, name)
}
