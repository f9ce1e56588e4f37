package check

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/revision"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
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

// twice returns the program for each of two runs over the same inputs: both read standard input if
// the flags name it.
func twice(p *host.Program, flags checkFlags) (first, second *host.Program, err error) {
	one, other := *p, *p
	if slices.Contains(slices.Concat(flags.Files, flags.Runtimes), manifest.Stdin) {
		text, err := io.ReadAll(p.Stdin)
		if err != nil {
			return nil, nil, err
		}
		one.Stdin, other.Stdin = bytes.NewReader(text), bytes.NewReader(text)
	}
	return &one, &other, nil
}

// isLater returns an error unless the release of --to-version is later than one of the inputs'
// releases, or than the latest one if the inputs name none.
func (flags checkFlags) isLater(now []release.Release) error {
	if flags.until == nil {
		return nil
	}
	if len(now) == 0 {
		now = []release.Release{*release.Latest()}
	}
	known := release.Known()
	rank := func(r release.Release) int {
		return slices.IndexFunc(known, func(other release.Release) bool {
			return other.Name == r.Name
		})
	}
	if slices.ContainsFunc(now, func(r release.Release) bool {
		return rank(r) < rank(*flags.until)
	}) {
		return nil
	}
	return fmt.Errorf(
		"--to-version %s: not later than Trainer %s, by which the inputs are checked: name a "+
			"later release", flags.until.Name, now[0].Name)
}

// refusedBy returns a warning for each error of the inputs in another release at a field that has
// none now. Two releases may refuse one value by different stages.
func refusedBy(ctx context.Context, p *host.Program, flags checkFlags,
	now finding.List) (finding.List, error) {
	to := *flags.until
	flags.Release, flags.counted = &to, nil
	then := report.Run{Rate: option.Severities{}.Apply}
	if _, err := checkParts(ctx, p, flags, nil, &then); err != nil {
		return nil, err
	}
	has, at := map[string]bool{}, map[fieldpath.Position]bool{}
	for _, f := range now {
		if f.Severity >= finding.Error {
			has[fmt.Sprint(f.Object, f.Path)] = true
			at[f.Position] = f.Position.Line > 0
		}
	}
	var refused finding.List
	for _, f := range then.Findings() {
		if f.Severity < finding.Error || has[fmt.Sprint(f.Object, f.Path)] || at[f.Position] {
			continue
		}
		f.Severity = finding.Warning
		if who := "Trainer " + to.Name + " refuses "; !strings.HasPrefix(f.Message, who) {
			f.Message = who + "it: " + f.Message
		}
		refused = append(refused, f)
	}
	return refused, nil
}
