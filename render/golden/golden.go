// Package golden answers whether runtimes still render to what their authors have reviewed.
//
//	func TestRuntimes(t *testing.T) { golden.Run(t, "testdata/runtimes") }
//
//	var _ = golden.UpdateFlag() // go test -update
//
// # Cases
//
// A case is a folder with inputs beside what they are to render to:
//
//	torch/runtime.yaml                      a runtime for all cases below
//	torch/four-nodes/trainjob.yaml          a TrainJob: the folder is a case
//	torch/four-nodes/options.yaml           how to render it, where that is not as usual
//	torch/four-nodes/want/default_llm.yaml  all objects of TrainJob default/llm
//	torch/four-nodes/want/findings.txt      the errors and warnings, where there are any
//
// Inputs are the *.yaml, *.yml and *.json files of the folder itself. Runtimes may also stand in any folder above it,
// up to the one that is tested; TrainJobs of other folders are no part of it. A folder is a case when it holds a
// TrainJob or a want folder. Folders and files whose names begin with a dot are passed over.
//
// The files of want are those that "trainweld render --output-dir want" writes: one for each TrainJob that has no
// error. All of its *.yaml, *.yml and *.json files and findings.txt belong to the case: one that nothing renders to
// fails it. Other files and folders in want are left alone.
//
// # Options
//
// An options.yaml has the words of trainweld render's flags:
//
//	to: pods                # jobset, jobs or pods
//	as: stored              # applied or stored
//	on-conflict: last       # fail or last
//	force-manager: example.com/kueue # who wins conflicts, one or a list
//	patch: [kueue.yaml]     # files of further managers' patches
//	namespace: team-a
//	feature-gates: TrainJobStatus=true
//	flux-templates: ../flux # the folder of Flux's scripts
//	owner-references: true
//	show-notes: true        # notes in findings.txt, too
//	job: node               # of Pods: only these
//	index: 0..1
//	all-indexes: true
//	jobset-uid: 5e0c3a52-5f4e-4d0e-9d3b-0d6b1c9f5b11
//
// It counts for the folder and all below it; what stands nearer goes before, and last comes one in want itself.
// Paths are relative to the folder of the file, and lead to nothing outside of the folder that is tested. Secrets are
// never made, and so never written.
//
// # Comparing
//
// Files are compared byte by byte, but for the ends of lines. What differs is told by merge key, each field
// with the layer that sets it now.
package golden

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/internal/ownfile"
)

// The names of a case's own files and folders.
const (
	wantFolder  = "want"
	optionsFile = "options.yaml"
)

// Findings is the name of the file of want that holds the errors and warnings, one a line.
const Findings = "findings.txt"

// Case is a folder with inputs and what they are to render to.
type Case struct {
	// Name is the path of the folder below the one that was searched, with slashes; "." is that one itself.
	Name string

	fsys   fs.FS
	folder string   // what the names of files begin with in messages
	inputs []string // its own input files
	above  []string // those of the folders above, from the outermost on
}

// Find returns the cases in a folder and below it, in the order of their names. The name of the folder, which may be
// empty, is put before the names of files in all that is said about the cases.
//
// It fails where a folder or a file cannot be read; what is wrong within the files is for Case.Run to say.
func Find(fsys fs.FS, folder string) ([]*Case, error) {
	if fsys == nil {
		return nil, &fs.PathError{Op: "open", Path: folder, Err: fs.ErrNotExist}
	}
	var cases []*Case
	if err := find(&Case{Name: ".", fsys: fsys, folder: folder}, &cases); err != nil {
		return nil, err
	}
	slices.SortFunc(cases, func(a, b *Case) int { return comparePaths(a.Name, b.Name) })
	return cases, nil
}

// comparePaths puts what is in a folder right behind it.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// find adds the folder, if it is a case, and the cases below it.
func find(c *Case, cases *[]*Case) error {
	entries, err := fs.ReadDir(c.fsys, c.Name)
	if err != nil {
		return err
	}
	var below []string
	isCase := false
	for _, e := range entries {
		name := path.Join(c.Name, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir() && e.Name() == wantFolder:
			isCase = true
		case e.IsDir():
			below = append(below, name)
		case isManifest(e.Name()) && e.Name() != optionsFile && isFile(c.fsys, name):
			c.inputs = append(c.inputs, name)
		}
	}
	for _, file := range c.inputs {
		if isCase {
			break
		}
		if isCase, err = mentionsTrainJob(c.fsys, file); err != nil {
			return err
		}
	}
	if isCase {
		*cases = append(*cases, c)
	}
	for _, name := range below {
		next := &Case{Name: name, fsys: c.fsys, folder: c.folder, above: slices.Concat(c.above, c.inputs)}
		if err := find(next, cases); err != nil {
			return err
		}
	}
	return nil
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// isFile says whether the entry is a file or a link to one.
func isFile(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && info.Mode().IsRegular()
}

// read is the content of an input, with the ends of lines that this package writes.
func read(fsys fs.FS, file string) ([]byte, error) { return unixLines(ownfile.ReadInput(fsys, file)) }

// readOwn is that of a file that this package knows by its name.
func readOwn(fsys fs.FS, file string) ([]byte, error) { return unixLines(ownfile.ReadFS(fsys, file)) }

func unixLines(data []byte, err error) ([]byte, error) {
	if err != nil || !bytes.Contains(data, []byte("\r\n")) {
		return data, err
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), nil
}

// at is the path of a file as messages have it.
func (c *Case) at(name string) string { return path.Join(c.folder, name) }

// folders are the case's folder and all above it, from the outermost on.
func (c *Case) folders() []string {
	all := []string{"."}
	if c.Name == "." {
		return all
	}
	for i, r := range c.Name + "/" {
		if r == '/' {
			all = append(all, c.Name[:i])
		}
	}
	return all
}

// wanted are the files of want, by name; nil where there is no such folder.
func (c *Case) wanted() (map[string][]byte, error) {
	folder := path.Join(c.Name, wantFolder)
	entries, err := fs.ReadDir(c.fsys, folder)
	if err != nil {
		if info, missing := fs.Stat(c.fsys, folder); missing == nil && !info.IsDir() {
			return nil, fmt.Errorf("%s is no folder; remove it", c.at(folder))
		} else if missing != nil {
			return nil, nil
		}
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if !isOurs(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		if files[e.Name()], err = readOwn(c.fsys, name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// isOurs says whether a file of want is one that rendering writes.
func isOurs(name string) bool {
	return !strings.HasPrefix(name, ".") && name != optionsFile && (isManifest(name) || name == Findings)
}
