package check

import (
	"bytes"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
)

// judged holds the findings on the TrainJobs of a pass of --fix. A nil one holds none.
type judged struct {
	changed []string          // the files that differ from those of the pass before
	last    *judged           // the pass before, or nil
	jobs    map[string][]byte // the files that hold TrainJobs and nothing else
	found   map[numbered]finding.List
}

// numbered is a document of a file, by its number there.
type numbered struct {
	file   string
	number int
}

// next returns what the next pass fills. changed names the files that differ.
func (g *judged) next(changed []string) *judged {
	if g != nil {
		g.last = nil
	}
	return &judged{changed: changed, last: g, jobs: map[string][]byte{}, found: map[numbered]finding.List{}}
}

// read records a file with its documents.
func (g *judged) read(documents []*manifest.Document, data []byte) {
	if g != nil && !slices.ContainsFunc(documents, func(d *manifest.Document) bool { return d.ID.Kind != trainer.TrainJobKind }) {
		g.jobs[documents[0].File] = data
	}
}

// known returns the findings of the pass before on TrainJobs of files with the same content. A changed file with another object, such
// as a runtime, touches all TrainJobs.
func (g *judged) known() map[numbered]finding.List {
	if g == nil || g.last == nil {
		return nil
	}
	for _, file := range g.changed {
		if g.jobs[file] == nil {
			return nil
		}
	}
	maps.DeleteFunc(g.last.found, func(of numbered, _ finding.List) bool { return !bytes.Equal(g.jobs[of.file], g.last.jobs[of.file]) })
	return g.last.found
}

// record records the findings on a document. Only a TrainJob has a number.
func (g *judged) record(of numbered, found finding.List) {
	if g != nil && of.file != "" {
		g.found[of] = slices.Clone(found)
	}
}
