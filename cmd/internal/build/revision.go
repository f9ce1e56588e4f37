package build

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/trainweld/trainweld/cmd/internal/host"
)

// folders are the directories of a tree as the processes that build see them. Those of a revision
// are in a temporary folder.
type folders struct {
	p        *host.Program
	revision *host.GitFiles // nil for the files of a disk
	once     sync.Once
	err      error
	copied   string // the temporary folder, without links
	forget   func()
}

// of returns the path of a directory for a process. The parameter real is its path in the tree.
func (f *folders) of(real string) (string, error) {
	if f.revision == nil {
		return real, nil
	}
	if f.once.Do(func() { f.err = f.write() }); f.err != nil {
		return "", f.err
	}
	below, err := filepath.Rel(f.revision.Root(), real)
	return filepath.Join(f.copied, below), err
}

// write writes the revision into a temporary folder. A signal removes it.
func (f *folders) write() error {
	made, err := os.MkdirTemp("", "trainweld-")
	if err != nil {
		return err
	}
	f.forget = f.p.CleanUp(func() { _ = os.RemoveAll(made) }) // else the system cleans it
	if f.copied, err = filepath.EvalSymlinks(made); err != nil {
		return err
	}
	return f.revision.Write(f.copied)
}

// remove removes the temporary folder.
func (f *folders) remove() {
	if f.forget != nil {
		_ = os.RemoveAll(f.copied) // else the system cleans it
		f.forget()
	}
}
