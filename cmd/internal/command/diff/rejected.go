package diff

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/comparison"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// This file keeps a comparison going if a version has errors: one broken TrainJob hides no other.

// span is the part of a version's findings that rendering a TrainJob has made.
type span struct {
	from, to int
	job      workspace.Job
}

// reject gives each TrainJob its errors, and keeps the other errors in otherErrors. Call it after
// label.
func (v *version) reject(spans []span) {
	errs := map[fieldpath.Object]finding.List{}
	made := make([]bool, len(v.findings)) // the findings of a rendering
	sources := map[fieldpath.Object]workspace.Job{}
	for _, s := range spans {
		id := render.ObjectOf(s.job.TrainJob)
		sources[id] = s.job
		for i := s.from; i < s.to; i++ {
			if made[i] = true; v.findings[i].Severity >= finding.Error {
				errs[id] = append(errs[id], v.findings[i])
			}
		}
	}
	for _, d := range v.in.Rejected {
		sources[v.in.ID(d)] = workspace.Job{Document: d}
	}
	for i, f := range v.findings {
		switch _, known := sources[f.Object]; {
		case made[i] || f.Severity < finding.Error:
		case known:
			errs[f.Object] = append(errs[f.Object], f)
		default:
			v.otherErrors = append(v.otherErrors, f)
		}
	}
	v.Jobs = slices.DeleteFunc(v.Jobs, func(j comparison.Job) bool { return errs[j.ID] != nil })
	add := func(id fieldpath.Object) {
		if found := errs[id]; found != nil {
			v.Jobs = append(v.Jobs, v.rejected(id, sources[id], found))
			delete(errs, id)
		}
	}
	for _, s := range spans {
		add(render.ObjectOf(s.job.TrainJob))
	}
	for _, d := range v.in.Rejected {
		add(v.in.ID(d))
	}
}

// rejected returns a TrainJob that the version does not render.
func (v *version) rejected(id fieldpath.Object, source workspace.Job,
	errs finding.List) comparison.Job {
	errs = codes.Distinct(errs)
	by := merge.Claim{Owner: runtimepatch.TrainJobLayer, Value: merge.Presence{},
		Position: errs[0].Position}
	return comparison.Job{
		ID: id, Build: v.in.Build(), Rejected: errs,
		RejectedBy: slices.Repeat([]merge.Claim{by}, len(errs)), Input: v.in, Source: source,
	}
}

// rejectedByBoth returns the errors that no release lacks: those of no TrainJob, and of the
// TrainJobs that both versions reject.
func rejectedByBoth(before, after *version) finding.List {
	errs := slices.Concat(before.otherErrors, after.otherErrors)
	rejected := map[fieldpath.Object]bool{}
	for _, j := range after.Jobs {
		rejected[j.ID] = j.Rejected != nil
	}
	for _, j := range before.Jobs {
		if rejected[j.ID] {
			errs = append(errs, j.Rejected...)
		}
	}
	return errs
}

// addHidden adds the TrainJobs of the other version that errors hide in this one. An unreadable
// file hides its TrainJobs, and a failed build hides all. They are not removed.
func (v *version) addHidden(other *version) {
	if len(v.otherErrors) == 0 {
		return
	}
	known := map[fieldpath.Object]bool{}
	for _, j := range v.Jobs {
		known[j.ID] = true
	}
	none := len(v.Jobs) == 0
	for _, j := range other.Jobs {
		if known[j.ID] || j.Source.Document == nil {
			continue
		}
		file := other.relativePath(j.Source.Document.File)
		errs := slices.DeleteFunc(slices.Clone(v.otherErrors), func(f finding.Finding) bool {
			return !none &&
				v.relativePath(strings.TrimPrefix(f.Position.File, v.side.Prefix)) != file
		})
		if len(errs) > 0 {
			v.Jobs = append(v.Jobs, v.rejected(j.ID, workspace.Job{}, errs))
		}
	}
}

// relativePath returns the path of a file below OLD or NEW, or the path itself.
func (v *version) relativePath(file string) string {
	file = filepath.ToSlash(filepath.Clean(file))
	root := filepath.ToSlash(filepath.Clean(v.side.Name))
	if file == root {
		return ""
	}
	return strings.TrimPrefix(file, root+"/")
}
