package check

import (
	"context"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/internal/option"
	"github.com/trainweld/trainweld/internal/report"
	"github.com/trainweld/trainweld/internal/revision"
	"github.com/trainweld/trainweld/render"
)

// standing counts the findings on the version before a change. A nil standing is empty.
type standing struct {
	name  string // the version
	known revision.Standing
	kept  int // the findings of the new version that stood before
	// judged tells that the version has objects. The new one may have lost all of them.
	judged bool
}

// judgeBefore judges the version before a change, and returns its findings.
func judgeBefore(ctx context.Context, p *host.Program, side *revision.Side, flags checkFlags, onConflict render.OnConflict, levels option.Severities) (*standing, error) {
	was := &standing{name: side.Name, known: revision.Standing{}}
	if flags.Flags = side.Flags; flags.Empty() {
		return was, nil
	}
	flags.force = nil // the version before may lack a manager
	j, err := judgeParts(ctx, side.Program(p), flags, onConflict)
	if err != nil {
		return nil, err
	}
	was.judged = j.count.any(flags.Selector != nil)
	for _, part := range j.parts {
		was.known.Add(levels.Apply(part.found))
	}
	return was, nil
}

// brought returns the findings that the version before lacks.
func (was *standing) brought(found finding.List) finding.List {
	if was == nil {
		return found
	}
	var brought finding.List
	for _, f := range found.Distinct() {
		switch {
		case f.Code == finding.CodeUnreadable, f.Code == finding.CodeNoTrainJob && !was.judged:
			brought = append(brought, f) // a mistake in the command line
		case f.Code == finding.CodeNoTrainJob:
		case was.known.Take(f):
			was.kept++
		default:
			brought = append(brought, f)
		}
	}
	return brought
}

// String returns the end of a summary.
func (was *standing) String() string {
	if was == nil || was.kept == 0 {
		return ""
	}
	return "; " + report.Count(was.kept, "finding") + " stood before in " + was.name
}
