package build

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/ownfile"
)

// files are the files of a tree for one build. Each kustomization file is inspected.
type files struct {
	tree  host.Tree
	known *kustomizations
	top   string // the built directory

	mu      sync.Mutex
	invalid []*kustomization // that must not be built
}

// rejected returns the files that were asked for and must not be built.
func (f *files) rejected() []*kustomization {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.invalid)
}

func (f *files) reject(k *kustomization) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.invalid = append(f.invalid, k)
	return errors.New("is refused")
}

// answer answers an operation of the process that builds.
func (f *files) answer(op byte, name string) []string {
	var parts []string
	var err error
	switch op {
	case opClean:
		parts, err = f.clean(name)
	case opRead:
		var data []byte
		data, err = f.read(name)
		parts = []string{string(data)}
	}
	if err != nil {
		return []string{err.Error()}
	}
	return append([]string{""}, parts...)
}

// clean returns the directory and the name of a file, without links. The name of a directory is empty.
func (f *files) clean(name string) ([]string, error) {
	real, err := f.tree.Real(name)
	if err != nil {
		return nil, err
	}
	if info, err := fs.Stat(f.tree, real); err == nil && info.IsDir() {
		return []string{real, ""}, nil
	}
	return []string{filepath.Dir(real), filepath.Base(real)}, nil
}

// read returns a file. It fails for a kustomization file or a generator that must not be built.
func (f *files) read(name string) ([]byte, error) {
	if !isKustomization(filepath.Base(name)) {
		data, err := ownfile.ReadInput(f.tree, name)
		if err != nil {
			return nil, err
		}
		if k := f.known.plugin(name, data); k != nil && k.rejections != nil {
			return nil, f.reject(k)
		}
		return data, nil
	}
	k, err := f.known.read(name)
	switch {
	case err != nil:
		return nil, err
	case k.rejections != nil:
		return nil, f.reject(k)
	case filepath.Dir(name) == f.top:
		return k.withOrigins()
	default:
		return k.data, nil
	}
}
