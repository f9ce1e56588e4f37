package repair

import (
	"errors"
	"fmt"
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/trainjob"
)

// Migrate rewrites a TrainJob with overrides of Trainer 2.1 for today's API: as the patch of a manager. It returns the changes of its
// text. For a TrainJob that it cannot rewrite it returns none, and the findings give the reason. A finding also tells if the runtime
// is missing: then the two forms are not compared.
func Migrate(in *workspace.Input, j workspace.Job, manager string) ([]manifest.Change, finding.List) {
	runtime, missing := in.RuntimeOf(j)
	if runtime == nil && missing == nil {
		return nil, nil // the runtime has its own findings
	}
	result := render.Migrate(render.Input{TrainJob: j.TrainJob, Runtime: runtime}, j.Document.Overrides, manager)
	found := result.Findings
	if missing != nil && result.TrainJob != nil {
		missing.Code, missing.Severity = codes.NotProved, finding.Warning
		missing.Message = "patch and overrides were not compared: " + missing.Message
		found = append(found, *missing)
	}
	found = in.Locate(j, found)
	if result.TrainJob == nil {
		return nil, found
	}
	return j.Document.Migration(result.TrainJob.Spec.RuntimePatches), found
}

// CannotMigrate returns the finding on an object whose text cannot be rewritten.
func CannotMigrate(object fieldpath.Object, d *manifest.Document, err error) finding.Finding {
	at := fieldpath.Fields("spec")
	return finding.Finding{
		Code: codes.NotMigrated, Severity: finding.Error, Object: object, Path: at, Position: d.Position(at),
		Message: fmt.Sprintf("its text cannot be edited: %v", err),
		Remedy:  finding.Remedy{Text: "remove its anchors and merge keys, and run trainweld migrate again"},
	}
}

// migrate returns the rewriting of a TrainJob of Trainer 2.1, if both forms render to the same JobSet.
func (r *pass) migrate(f finding.Finding) ([]change, error) {
	object := r.objectAt(f.Position)
	if object == nil {
		return nil, errNoPlace
	}
	if r.jobs == nil {
		inputs := r.inputs
		inputs.AnyRelease, inputs.Repairs = true, false
		r.jobs = workspace.Read(r.reader, inputs)
	}
	at := slices.IndexFunc(r.jobs.Jobs, func(j workspace.Job) bool {
		return j.Document.Overrides != nil && j.Document.File == f.Position.File && render.ObjectOf(j.TrainJob) == f.Object
	})
	if at < 0 {
		return nil, errors.New("the TrainJob has other errors")
	}
	made, found := Migrate(r.jobs, r.jobs.Jobs[at], trainjob.SDKManager)
	for _, reason := range found {
		if reason.Severity == finding.Error || reason.Code == codes.NotProved {
			return nil, errors.New(reason.Message)
		}
	}
	if made == nil {
		return nil, errors.New("its runtime has errors")
	}
	changes := make([]change, len(made))
	for i := range made {
		changes[i] = change{editedObject: object, Change: made[i]}
	}
	return changes, nil
}
