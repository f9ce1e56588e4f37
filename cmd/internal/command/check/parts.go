package check

import (
	"cmp"
	"context"

	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/revision"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
)

// results tells what a run has checked, in all its parts. Without builds there is one part.
type results struct {
	count counts
	lines *workspace.Input // the lines of all files
}

// checkParts reads and judges the parts one after the other, so that only one is in memory. With a
// version before, it judges each part as an update of the part there. The findings go to the
// report.
func checkParts(ctx context.Context, p *host.Program, flags checkFlags, was *baseline,
	to *report.Run) (*results, error) {
	all := &results{lines: workspace.New(flags.Flags)}
	if len(flags.definitions) > 0 {
		var in *workspace.Input
		var found finding.List
		flags, in, found = readFurther(p, flags)
		to.Add(found, in.Order)
		all.lines.AddPart(in)
	}
	forced := option.NewForced(flags.force)
	failed := false
	if flags.Builds() {
		flags.counted = &counted{objects: map[objectID]bool{}}
	}
	err := eachBuildPart(ctx, p, flags, was, func(part workspace.Flags, before *oldState) error {
		flags := flags
		flags.Flags = part
		j := newRunner(p, flags, before)
		forced.Take(j.in)
		found := j.run(ctx)
		j.progress.End()
		j.in.Label(found)
		to.Add(found, j.in.Order)
		all.count.add(j.count)
		all.lines.AddPart(j.in)
		failed = failed || found.Err() != nil
		if flags.counted != nil {
			flags.counted.later = true
		}
		return nil
	})
	if err := cmp.Or(err, forced.Err()); err != nil {
		return nil, err
	}
	selected := flags.Selector != nil
	if !all.count.any(selected) && (selected || !failed) {
		none := flags.NoTrainJob("no TrainJob, runtime or JobSet in the inputs",
			"name files with such objects; -r is for runtimes of TrainJobs, and -R descends into "+
				"directories")
		if !selected && none.Position.File == "" && len(all.lines.Order) > 0 {
			none.Position = fieldpath.Position{File: all.lines.Order[0]}
		}
		to.Add(finding.List{none}, nil)
	}
	return all, nil
}

// eachBuildPart calls take for each part, with its state in the version before.
func eachBuildPart(ctx context.Context, p *host.Program, flags checkFlags, was *baseline,
	take func(part workspace.Flags, before *oldState) error) error {
	if was == nil {
		return build.Parts(p, flags.Flags, func(part workspace.Flags) error {
			return take(part, nil)
		})
	}
	new := revision.Version{Files: p.Files, Flags: flags.Flags}
	return revision.Pairs(p, was.version(), new, func(old, part workspace.Flags) error {
		return take(part, was.check(ctx, old))
	})
}

// counted are the objects of shared files that earlier parts have counted. A nil one counts all,
// for a run of one part.
type counted struct {
	objects map[objectID]bool
	later   bool // than the first part
}

// countOnce counts a document. The parts of a run count an object of a shared file once. kind is
// empty for any document.
func (j *runner) countOnce(d *manifest.Document, count *int, kind string) {
	c, key := j.flags.counted, objectID{d.File, kind, d.ID.String()}
	switch {
	case c == nil || j.flags.IsBuilt(d.File):
		*count++
	case !c.later || kind != "" && !c.objects[key]:
		c.objects[key] = true
		*count++
	}
}

// add adds another count.
func (t *counts) add(other counts) {
	t.documents += other.documents
	t.jobs += other.jobs
	t.runtimes += other.runtimes
	t.jobSets += other.jobSets
	t.others += other.others
}
