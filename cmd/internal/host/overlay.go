package host

import (
	"bytes"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/trainweld/trainweld/cmd/internal/ownfile"
)

// Overlay is a tree with other content for some of its files. It keeps the content of pipes, so
// that they can be read again. It is safe for concurrent use.
type Overlay struct {
	Tree
	mu      sync.Mutex
	changed map[string][]byte
}

// NewOverlay returns a tree without changes.
func NewOverlay(tree Tree) *Overlay { return &Overlay{Tree: tree, changed: map[string][]byte{}} }

// Change sets the content of a file, under all of its names.
func (o *Overlay) Change(name string, data []byte) {
	key := o.key(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changed[key] = data
}

// key returns a name that all links to a file share.
func (o *Overlay) key(name string) string {
	real, err := o.Real(name)
	if err != nil {
		return filepath.Clean(name)
	}
	return real
}

// Open opens a file with its content in the overlay.
func (o *Overlay) Open(name string) (fs.File, error) {
	key := o.key(name)
	o.mu.Lock()
	data, ok := o.changed[key]
	o.mu.Unlock()
	if ok {
		return NewMemoryFile(name, data), nil
	}
	f, err := o.Tree.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Mode().IsRegular() || info.IsDir() {
		return f, err
	}
	defer f.Close() // reading only
	if data, err = io.ReadAll(io.LimitReader(f, ownfile.Limit+1)); err != nil {
		return nil, err
	}
	o.Change(name, data)
	return NewMemoryFile(name, data), nil
}

// MemoryFile is an open file in memory, and its description.
type MemoryFile struct {
	*bytes.Reader
	name string
}

// NewMemoryFile returns a file with some content.
func NewMemoryFile(name string, data []byte) MemoryFile {
	return MemoryFile{bytes.NewReader(data), name}
}

func (f MemoryFile) Close() error               { return nil }
func (f MemoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f MemoryFile) Name() string               { return filepath.Base(f.name) }
func (f MemoryFile) Mode() fs.FileMode          { return 0o444 }
func (f MemoryFile) ModTime() time.Time         { return time.Time{} }
func (f MemoryFile) IsDir() bool                { return false }
func (f MemoryFile) Sys() any                   { return nil }
