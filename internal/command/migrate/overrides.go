package migrate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/internal/repair"
	"github.com/trainweld/trainweld/internal/workspace"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/render"
)

// overrides rewrites a TrainJob of Trainer 2.1. It returns the edits, and the TrainJob that the edited text must decode to.
func (m *migration) overrides(d *manifest.Document) ([]manifest.Edit, *trainer.TrainJob) {
	at := m.jobOf(d)
	if at < 0 {
		return nil, nil // its own findings give the reason
	}
	edits, want, found := repair.Migrate(m.Input, m.Jobs[at], m.flags.manager)
	m.findings = append(m.findings, found...)
	return edits, want
}

// jobOf returns the index of a document's TrainJob, or -1.
func (m *migration) jobOf(d *manifest.Document) int {
	return slices.IndexFunc(m.Jobs, func(j workspace.Job) bool { return j.Document == d })
}

// verify decodes a file's new text, and reports each TrainJob that differs from the wanted one.
func (m *migration) verify(before workspace.File, after []byte, want map[*manifest.Document]*trainer.TrainJob) {
	if len(want) == 0 {
		return
	}
	documents, findings := manifest.Decode(before.Name, after)
	for i, d := range before.Documents {
		if want[d] == nil {
			continue
		}
		var got *trainer.TrainJob
		if len(documents) == len(before.Documents) && documents[i].Overrides == nil {
			got, _ = documents[i].Object.(*trainer.TrainJob)
		}
		if got != nil && says(got, want[d]) {
			continue
		}
		err := errors.New("read again, it would not say what is meant")
		if findings.Err() != nil {
			err = fmt.Errorf("%w: %w", err, findings.Err())
		}
		m.findings = append(m.findings, repair.CannotMigrate(m.Jobs[m.jobOf(d)], err))
	}
}

// says reports whether two TrainJobs are equal with the API server's defaults. It modifies got.
func says(got, want *trainer.TrainJob) bool {
	got.Namespace = cmp.Or(got.Namespace, want.Namespace)
	want = want.DeepCopy()
	render.DefaultTrainJob(got, nil)
	render.DefaultTrainJob(want, nil)
	one, err := json.Marshal(got)
	other, errOther := json.Marshal(want)
	return err == nil && errOther == nil && bytes.Equal(one, other)
}
