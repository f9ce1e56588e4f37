package migrate

import (
	"fmt"
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// overrides returns the change that rewrites a TrainJob of Trainer 2.1 for today's API: as the
// patch of a manager. It leaves a TrainJob that it cannot rewrite, and the findings give the
// reason. A finding also tells if the runtime is missing: then the two forms are not compared.
func (m *migration) overrides(d *manifest.Document) manifest.Rewriting {
	unchanged := manifest.Rewriting{Document: d}
	at := slices.IndexFunc(m.Jobs, func(j workspace.Job) bool { return j.Document == d })
	if at < 0 {
		return unchanged // its own findings give the reason
	}
	j := m.Jobs[at]
	runtime, missing := m.RuntimeOf(j)
	if runtime == nil && missing == nil {
		return unchanged // the runtime has its own findings
	}
	result := render.Migrate(render.Input{TrainJob: j.TrainJob, Runtime: runtime}, d.Overrides,
		m.flags.manager)
	found := result.Findings
	if missing != nil && result.TrainJob != nil {
		missing.Code, missing.Severity = codes.NotProved, finding.Warning
		missing.Message = "patch and overrides were not compared: " + missing.Message
		found = append(found, *missing)
	}
	m.findings = append(m.findings, m.Locate(j, found)...)
	if result.TrainJob == nil {
		return unchanged
	}
	return d.Migration(result.TrainJob.Spec.RuntimePatches)
}

// cannotEdit returns the finding on an object whose text cannot be rewritten.
func cannotEdit(object fieldpath.Object, d *manifest.Document, err error) finding.Finding {
	at := fieldpath.Fields("spec")
	return finding.Finding{
		Code: codes.NotMigrated, Severity: finding.Error, Object: object, Path: at,
		Position: d.Position(at),
		Message:  fmt.Sprintf("its text cannot be edited: %v", err),
		Remedy: finding.Remedy{
			Text: "remove its anchors and merge keys, and run trainweld migrate again"},
	}
}
