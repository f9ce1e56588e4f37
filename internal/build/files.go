//go:build !js

package build

import (
	"errors"
	"io/fs"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/trainweld/trainweld/internal/host"
)

// files are the files of a tree for kustomize. They cannot be written, and each kustomization file is inspected.
type files struct {
	tree  host.Tree
	known *kustomizations
	top   string // the built directory
	// refused receives the kustomization files that must not be built.
	refused func(*kustomization)
}

var _ filesys.FileSystem = (*files)(nil)

var errReadOnly = errors.New("a build writes no file")

func (f *files) Create(string) (filesys.File, error)  { return nil, errReadOnly }
func (f *files) Mkdir(string) error                   { return errReadOnly }
func (f *files) MkdirAll(string) error                { return errReadOnly }
func (f *files) RemoveAll(string) error               { return errReadOnly }
func (f *files) WriteFile(string, []byte) error       { return errReadOnly }
func (f *files) Open(string) (filesys.File, error)    { return nil, errReadOnly }
func (f *files) Glob(string) ([]string, error)        { return nil, errReadOnly }
func (f *files) Walk(string, filepath.WalkFunc) error { return errReadOnly }

func (f *files) IsDir(name string) bool {
	info, err := fs.Stat(f.tree, name)
	return err == nil && info.IsDir()
}

func (f *files) Exists(name string) bool {
	_, err := fs.Stat(f.tree, name)
	return err == nil
}

func (f *files) ReadDir(name string) ([]string, error) {
	entries, err := fs.ReadDir(f.tree, name)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// CleanedAbs returns the directory and the name of a file, without links.
func (f *files) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	real, err := f.tree.Real(name)
	if err != nil {
		return "", "", err
	}
	if f.IsDir(real) {
		return filesys.ConfirmedDir(real), "", nil
	}
	return filesys.ConfirmedDir(filepath.Dir(real)), filepath.Base(real), nil
}

// ReadFile returns a file. It fails for a kustomization file or a generator that must not be built.
func (f *files) ReadFile(name string) ([]byte, error) {
	if !isKustomization(filepath.Base(name)) {
		data, err := readFile(f.tree, name)
		if err != nil {
			return nil, err
		}
		if k := f.known.plugin(name, data); k != nil && k.refusals != nil {
			f.refused(k)
			return nil, errors.New("is refused")
		}
		return data, nil
	}
	k, err := f.known.read(name)
	switch {
	case err != nil:
		return nil, err
	case k.refusals != nil:
		f.refused(k)
		return nil, errors.New("is refused")
	case filepath.Dir(name) == f.top:
		return k.withOrigins()
	default:
		return k.data, nil
	}
}

// readFile reads a file of limited size.
func readFile(tree fs.FS, name string) ([]byte, error) {
	data, err := fs.ReadFile(tree, name)
	if err == nil && len(data) > mostOutput {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("is too large")}
	}
	return data, err
}
