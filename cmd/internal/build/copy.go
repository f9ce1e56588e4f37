package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/process"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// treeCopy is a copy of a tree, in which commands run. All builds of a run share it.
type treeCopy struct {
	p    *host.Program
	tree host.Tree
	once sync.Once
	err  error

	root   string // of the copy
	folder string // the working directory in the copy
	forget func()
	files  map[string]fileState // of the copy, before any build

	running context.Context // of the commands
	stop    context.CancelFunc
	started sync.WaitGroup // commands that have not ended

	mu       sync.Mutex
	ended    bool
	reported bool // a build has reported what was written
}

// fileState tells whether a file was written.
type fileState struct {
	size int64
	time time.Time
	mode fs.FileMode
}

func newTreeCopy(p *host.Program, tree host.Tree) *treeCopy {
	running, stop := context.WithCancel(context.Background())
	return &treeCopy{p: p, tree: tree, running: running, stop: stop}
}

// make copies the tree. A signal removes the copy.
func (c *treeCopy) make() error {
	made, err := os.MkdirTemp("", "trainweld-")
	if err != nil {
		return err
	}
	if c.root, err = filepath.EvalSymlinks(made); err != nil {
		return err
	}
	c.forget = c.p.CleanUp(c.end)
	prefix, err := c.tree.Copy(c.root)
	if err != nil {
		return err
	}
	c.folder = filepath.Join(c.root, filepath.FromSlash(prefix))
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return err
	}
	c.files, err = c.list(c.root)
	return err
}

// workingDir returns the working directory of a command, and the path of a directory from there.
func (c *treeCopy) workingDir(dir string) (folder, relative string, err error) {
	if c.once.Do(func() { c.err = c.make() }); c.err != nil {
		return "", "", c.err
	}
	relative = filepath.Clean(dir)
	if filepath.IsAbs(dir) {
		here, errHere := c.tree.Real(".")
		real, errReal := c.tree.Real(dir)
		if err := errors.Join(errHere, errReal); err != nil {
			return "", "", err
		}
		if relative, err = filepath.Rel(here, real); err != nil {
			return "", "", err
		}
	}
	if in, _ := filepath.Rel(c.root, filepath.Join(c.folder, relative)); !filepath.IsLocal(in) {
		return "", "", errors.New("is outside of the repository: change into its repository")
	}
	if _, err := os.Stat(filepath.Join(c.folder, relative)); err != nil {
		return "", "", errors.New("holds only files that git ignores: a build gets a copy without these")
	}
	return c.folder, relative, nil
}

// run runs a command. It fails after the end of the copy.
func (c *treeCopy) run(cmd *process.Command) error {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return errors.New("interrupted")
	}
	c.started.Add(1)
	c.mu.Unlock()
	defer c.started.Done()
	return cmd.Run()
}

// end ends the commands and removes the copy.
func (c *treeCopy) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.stop()
	if c.started.Wait(); c.root != "" {
		remove(c.root)
	}
}

// remove removes a directory, also one whose folders a command has protected.
func remove(dir string) {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir) // the system cleans its folder of temporary files
}

// close removes the copy. It returns a finding if a command has written into it and no build has reported that.
func (c *treeCopy) close() finding.List {
	if c.root == "" {
		return nil
	}
	var found finding.List
	if c.err == nil && !c.reported {
		if files := c.changed(c.root); files != nil {
			found = append(found, failure(codes.BuildWrites, fieldpath.Position{}, "the command of --build writes "+firstOf(files)+": a build may not write files; your tree is unchanged", "use a command that only prints"))
		}
	}
	c.end()
	c.forget()
	return found
}

// written returns the files that were written into a directory of the copy, or "" for none.
func (c *treeCopy) written(dir string) string {
	folder, relative, err := c.workingDir(dir)
	if err != nil {
		return ""
	}
	files := c.changed(filepath.Join(folder, relative))
	if files == nil {
		return ""
	}
	c.mu.Lock()
	c.reported = true
	c.mu.Unlock()
	return firstOf(files)
}

// changed returns the files below a directory of the copy that are not as they were copied.
func (c *treeCopy) changed(dir string) []string {
	now, err := c.list(dir)
	if err != nil {
		return []string{dir}
	}
	var files []string
	for name, is := range now {
		if was, known := c.files[name]; !known || was != is {
			files = append(files, name)
		}
	}
	within, _ := filepath.Rel(c.root, dir)
	for name := range c.files {
		if _, known := now[name]; !known && (within == "." || strings.HasPrefix(name, filepath.ToSlash(within)+"/")) {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files
}

// list returns the state of each file below a directory of the copy.
func (c *treeCopy) list(dir string) (map[string]fileState, error) {
	files := map[string]fileState{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		below, err := filepath.Rel(c.root, name)
		files[filepath.ToSlash(below)] = fileState{info.Size(), info.ModTime(), info.Mode()}
		return err
	})
	return files, err
}

// firstOf names the first of several files.
func firstOf(files []string) string {
	if len(files) == 1 {
		return files[0]
	}
	return fmt.Sprintf("%s and %d more files", files[0], len(files)-1)
}
