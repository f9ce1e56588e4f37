package golden

import (
	"bytes"
	"io/fs"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

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
