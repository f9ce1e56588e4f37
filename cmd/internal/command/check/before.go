package check

import (
	"context"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/revision"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
)

// baseline checks the version before a change. A nil baseline is empty.
type baseline struct {
	side   *revision.Side
	p      *host.Program
	flags  checkFlags
	report *report.Run // of the new version
	// hasObjects tells that the version has objects. The new one may have lost all of them.
	hasObjects bool
}

// newBaseline returns the version before a change, before it is read.
func newBaseline(p *host.Program, side *revision.Side, flags checkFlags,
	of *report.Run) *baseline {
	s := &baseline{side: side, p: side.Program(p), flags: flags, report: of}
	of.AddBefore(nil)
	s.flags.Flags, s.flags.git = side.Flags, ""
	s.flags.force = nil // the version before may lack a manager
	s.flags.counted = nil
	if len(flags.definitions) > 0 {
		further, in, found := readFurther(s.p, s.flags)
		s.flags = further
		in.Label(found)
		of.AddBefore(found)
	}
	return s
}

// version returns the version for its builds.
func (s *baseline) version() revision.Version {
	return revision.Version{Files: s.side.Files, Flags: s.flags.Flags}
}

// check checks a part of the version before. It returns the state from which the part of the new
// version is an update.
func (s *baseline) check(ctx context.Context, part workspace.Flags) *oldState {
	if s.side.Flags.Empty() {
		return nil
	}
	flags := s.flags
	flags.Flags = part
	j := newRunner(s.p, flags, nil)
	found := j.run(ctx)
	j.progress.End()
	j.in.Label(found)
	s.hasObjects = s.hasObjects || j.count.any(flags.Selector != nil)
	s.report.AddBefore(found)
	before := &oldState{in: j.in, objects: j.objects, runtimes: j.runtimes,
		rejected: j.rejectedObjects(found)}
	if flags.Selector != nil { // a label may be new
		flags.Selector = nil
		all := newRunner(s.p, flags, nil)
		before.in, before.objects, before.runtimes = all.in, all.objects, all.runtimes
	}
	return before
}

// rejectedObjects returns the TrainJobs and JobSets that the cluster rejects, so that it does not
// have them. A missing runtime may be in the cluster.
func (j *runner) rejectedObjects(found finding.List) map[fieldpath.Object]bool {
	rejected := map[fieldpath.Object]bool{}
	for _, f := range found {
		isRuntime := f.Code == codes.NoRuntime || f.Code == codes.RuntimeRejected
		if f.Severity >= finding.Error && !isRuntime &&
			!admission.Stricter(j.objects[f.Object].API().Release(), f) {
			rejected[f.Object] = true
		}
	}
	return rejected
}

// String returns the end of a summary.
func (s *baseline) String() string {
	if s == nil {
		return ""
	}
	kept := len(report.Options{ShowNotes: s.flags.All}.Shown(s.report.Kept()))
	if kept == 0 {
		return ""
	}
	return "; " + report.Count(kept, "finding") + " stood before in " + s.side.Name
}
