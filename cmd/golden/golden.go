// Package golden checks whether runtimes still render to the objects that their authors reviewed.
//
//	func TestRuntimes(t *testing.T) { golden.Run(t, "testdata/runtimes") }
//
//	var _ = golden.UpdateFlag() // go test -update
//
// # Cases
//
// A case is a folder with inputs and their expected objects:
//
//	torch/runtime.yaml                      a runtime for all cases below
//	torch/four-nodes/trainjob.yaml          a TrainJob: the folder is a case
//	torch/four-nodes/options.yaml           how to render it, unless the defaults suffice
//	torch/four-nodes/want/default_llm.yaml  all objects of TrainJob default/llm
//	torch/four-nodes/want/findings.txt      the errors and warnings, if any
//
// Inputs are the *.yaml, *.yml and *.json files of the folder itself. Runtimes may also be in any
// folder above it, up to the tested one. TrainJobs of other folders are not inputs. A folder is a
// case if it contains a TrainJob or a want folder. The package skips folders and files whose names
// begin with a dot.
//
// The files of want are the files that "trainweld render --output-dir want" writes, one for each
// TrainJob without errors. All *.yaml, *.yml and *.json files in want, and findings.txt, belong to
// the case. The case fails if one of them has no rendered counterpart. The package ignores other
// files and folders in want.
//
// # Options
//
// An options.yaml has the words of trainweld render's flags:
//
//	to: pods                # jobset, jobs or pods
//	as: stored              # applied or stored
//	on-conflict: last       # fail or last
//	force-manager: example.com/kueue # the manager that wins conflicts, one or a list
//	patch: [kueue.yaml]     # files of further managers' patches
//	trainer-version: "2.2"  # the release of the Trainer
//	kubernetes-version: "1.36"
//	namespace: team-a
//	feature-gates: TrainJobStatus=true
//	flux-templates: ../flux # the folder of Flux's scripts
//	owner-references: true
//	all: true               # also write notes to findings.txt
//	job: node/0..1          # of Pods: only these of the job
//	jobset-uid: 5e0c3a52-5f4e-4d0e-9d3b-0d6b1c9f5b11
//
// It applies to its folder and all folders below. A file in a folder below overrides it, and a file
// in want itself overrides both. Paths are relative to the folder of the file, and must stay within
// the tested folder. The package never makes Secrets, and so never writes them. Without
// trainer-version, the nearest trainweld.yaml names the release. It is in a folder of the case or
// above it.
//
// # Comparing
//
// Files are compared byte by byte, except for line ends. A difference names the merge key, and each
// field with the layer that sets it now.
//
// Its first file to read is golden.go.
package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// The names of a case's own files and folders.
const (
	wantFolder  = "want"
	optionsFile = "options.yaml"
)

// Findings is the name of the file in want with the errors and warnings, one per line.
const Findings = "findings.txt"

// Case is a folder with inputs and their expected objects.
type Case struct {
	// Name is the path of the folder below the searched one, with slashes; "." is the searched
	// folder itself.
	Name string

	fsys   fs.FS
	folder string   // prefix of file names in messages
	inputs []string // its own input files
	above  []string // input files of the folders above, the outermost first
}

// Find returns the cases in a folder and below it, sorted by name. The argument folder is the
// prefix of file names in messages about the cases, and may be empty.
//
// It returns an error if a folder or a file cannot be read. Case.Run reports the problems within
// the files.
func Find(fsys fs.FS, folder string) ([]*Case, error) {
	if fsys == nil {
		return nil, &fs.PathError{Op: "open", Path: folder, Err: fs.ErrNotExist}
	}
	var cases []*Case
	if err := appendCases(&Case{Name: ".", fsys: fsys, folder: folder}, &cases); err != nil {
		return nil, err
	}
	slices.SortFunc(cases, func(a, b *Case) int { // the contents of a folder directly after it
		return slices.Compare(strings.Split(a.Name, "/"), strings.Split(b.Name, "/"))
	})
	return cases, nil
}

// appendCases appends the folder, if it is a case, and the cases below it.
func appendCases(c *Case, cases *[]*Case) error {
	if strings.Count(c.Name, "/") >= host.MostNested {
		return fmt.Errorf("%s lies in %d folders: cases must lie in fewer", c.at(c.Name),
			host.MostNested)
	}
	entries, err := fs.ReadDir(c.fsys, c.Name)
	if err != nil {
		return err
	}
	var below []string
	isCase, before := false, len(*cases)
	for _, e := range entries {
		name := path.Join(c.Name, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir() && e.Name() == wantFolder:
			isCase = true
		case e.IsDir():
			below = append(below, name)
		case isManifest(e.Name()) && e.Name() != optionsFile:
			isInput, err := isRegularFile(c.fsys, name)
			if err != nil {
				return err
			}
			if isInput {
				c.inputs = append(c.inputs, name)
			}
		}
	}
	for _, name := range below {
		next := &Case{Name: name, fsys: c.fsys, folder: c.folder,
			above: slices.Concat(c.above, c.inputs)}
		if err := appendCases(next, cases); err != nil {
			return err
		}
	}
	var holds foundKinds
	for _, file := range c.inputs {
		if isCase {
			break
		}
		if err := holds.read(c.fsys, file); err != nil {
			return err
		}
	}
	// A TrainJob next to the runtime of cases is a manifest of its own.
	if isCase || holds.job && !(holds.runtime && len(*cases) > before) {
		*cases = append(*cases, c)
	}
	return nil
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// isRegularFile reports whether the entry is a file or a link to one. It returns an error for a
// link that its file system does not follow.
func isRegularFile(fsys fs.FS, name string) (bool, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return err == nil && info.Mode().IsRegular(), nil
}

// readInput returns the content of an input, with Unix line ends.
func readInput(fsys fs.FS, file string) ([]byte, error) {
	return unixLines(ownfile.ReadInput(fsys, file))
}

func unixLines(data []byte, err error) ([]byte, error) {
	if err != nil || !bytes.Contains(data, []byte("\r\n")) {
		return data, err
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), nil
}

// at returns the path of a file in messages.
func (c *Case) at(name string) string { return path.Join(c.folder, name) }

// folders returns the case's folder and all folders above it, the outermost first.
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

// wanted returns the files of want by name, or nil without such a folder.
func (c *Case) wanted() (map[string][]byte, error) {
	folder := path.Join(c.Name, wantFolder)
	entries, err := fs.ReadDir(c.fsys, folder)
	if err != nil {
		if info, missing := fs.Stat(c.fsys, folder); missing == nil && !info.IsDir() {
			return nil, fmt.Errorf("%s is not a folder; remove it", c.at(folder))
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
		if files[e.Name()], err = unixLines(ownfile.ReadFS(c.fsys, name)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// isOurs reports whether rendering may write a file of this name to want.
func isOurs(name string) bool {
	return !strings.HasPrefix(name, ".") && name != optionsFile &&
		(isManifest(name) || name == Findings)
}

// foundKinds are the kinds of objects in files.
type foundKinds struct {
	job     bool // a TrainJob, also one that would be valid without the errors of its file
	runtime bool
}

// read adds the kinds of a file.
func (k *foundKinds) read(fsys fs.FS, file string) error {
	if info, err := fs.Stat(fsys, file); err == nil && info.Size() > ownfile.Limit {
		return nil
	}
	data, err := ownfile.ReadInput(fsys, file)
	if err != nil || !bytes.Contains(data, []byte(trainer.TrainJobKind)) &&
		!manifest.MayHoldRuntime(data) {
		return err
	}
	documents, findings := manifest.Decode(file, data)
	for _, d := range documents {
		k.job = k.job || d.ID.Kind == trainer.TrainJobKind
		k.runtime = k.runtime || workspace.IsRuntime(d.ID)
	}
	k.job = k.job || len(documents) == 0 && findings.Err() != nil &&
		bytes.Contains(data, []byte("kind: "+trainer.TrainJobKind))
	return nil
}

// caseInput is the decoded input of a case.
type caseInput struct {
	*workspace.Input
	opts   *settings
	jobSet render.Options
	// above are the findings in the files above.
	above finding.List
}

// load reads the files of a case.
func (c *Case) load(opts *settings) (*caseInput, error) {
	jobSet, err := opts.options(c)
	if err != nil {
		return nil, err
	}
	in := &caseInput{Input: workspace.New(opts.Flags), opts: opts, jobSet: jobSet}
	for _, file := range c.above {
		if err := in.readFile(c, file, &in.above); err != nil {
			return nil, err
		}
	}
	for _, file := range c.inputs {
		if err := in.readFile(c, file, &in.Findings); err != nil {
			return nil, err
		}
	}
	for _, file := range opts.Flags.Patches {
		data, err := readInput(c.fsys, file)
		if err != nil {
			return nil, err
		}
		patches, findings := in.APIOf(c.fsys, file).DecodePatches(c.at(file), data)
		in.Patches = append(in.Patches, patches...)
		in.Findings = append(in.Findings, findings...)
	}
	in.DefaultPatches()
	for i := range in.Findings {
		in.Findings[i].Object = opts.InNamespace(in.Findings[i].Object)
	}
	return in, nil
}

// readFile adds the contents of one file, and appends its findings to found. It skips TrainJobs of
// files above.
func (in *caseInput) readFile(c *Case, file string, found *finding.List) error {
	if slices.Contains(in.opts.Flags.Patches, file) || in.IsConfig(c.fsys, file) {
		return nil
	}
	data, err := readInput(c.fsys, file)
	if err != nil {
		return err
	}
	documents, findings, _ := in.APIOf(c.fsys, file).Decode(c.at(file), data, nil)
	*found = append(*found, manifest.Tolerate(findings, codes.NotAnObject)...)
	for _, d := range documents {
		in.Add(d, found != &in.above)
	}
	return nil
}
