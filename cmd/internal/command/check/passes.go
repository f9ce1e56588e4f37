package check

import (
	"bytes"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
)

// passFindings holds the findings on the TrainJobs of a pass of --fix. A nil one holds none.
type passFindings struct {
	changed []string          // the files that differ from those of the pass before
	last    *passFindings     // the pass before, or nil
	jobs    map[string][]byte // the files that hold TrainJobs and nothing else
	found   map[numbered]finding.List
}

// numbered is a document of a file, by its number there.
type numbered struct {
	file   string
	number int
}

// next returns what the next pass fills. changed names the files that differ.
func (p *passFindings) next(changed []string) *passFindings {
	if p != nil {
		p.last = nil
	}
	return &passFindings{changed: changed, last: p, jobs: map[string][]byte{}, found: map[numbered]finding.List{}}
}

// read records a file with its documents.
func (p *passFindings) read(documents []*manifest.Document, data []byte) {
	if p != nil && !slices.ContainsFunc(documents, func(d *manifest.Document) bool { return d.ID.Kind != trainer.TrainJobKind }) {
		p.jobs[documents[0].File] = data
	}
}

// known returns the findings of the pass before on TrainJobs of files with the same content. A changed file with another object, such
// as a runtime, touches all TrainJobs.
func (p *passFindings) known() map[numbered]finding.List {
	if p == nil || p.last == nil {
		return nil
	}
	for _, file := range p.changed {
		if p.jobs[file] == nil {
			return nil
		}
	}
	maps.DeleteFunc(p.last.found, func(of numbered, _ finding.List) bool { return !bytes.Equal(p.jobs[of.file], p.last.jobs[of.file]) })
	return p.last.found
}

// record records the findings on a document. Only a TrainJob has a number.
func (p *passFindings) record(of numbered, found finding.List) {
	if p != nil && of.file != "" {
		p.found[of] = slices.Clone(found)
	}
}
