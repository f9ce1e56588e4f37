package render

import (
	"cmp"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/cmd/internal/outputname"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/podgroups"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// renderRun is one run of render. It renders and encodes on all cores, in order, and writes the
// result only without errors. To save memory, nothing remains of a TrainJob but its encoded
// objects.
type renderRun struct {
	p        *host.Program
	flags    option.Render
	levels   option.Severities
	format   manifest.Format
	opts     render.Options
	podOpts  render.PodsOptions
	progress *host.Progress
	in       *workspace.Input
	queue    *pipeline.Queue
	old      *live.Dump // the state before, or nil
	encoders sync.Pool
	// The rendered TrainJobs in their order, then the JobSets.
	rendered [2][]rendered
	findings [2]finding.List
	unsafe   finding.List
	err      error
	pods     atomic.Int64 // the number of Pods so far
	derives  atomic.Bool  // whether a TrainJob has extended patches
}

// rendered is the result of one TrainJob, or of a JobSet of the input.
type rendered struct {
	id    fieldpath.Object
	build string   // the built directory
	texts [][]byte // of its objects
	// Pods for standard output are generated only on writing, because they are many. Names take
	// little memory.
	streamed iter.Seq2[any, error]
	count    int64 // of Pods
	table    pipeline.Table
}

func run(p *host.Program, flags option.Render) error {
	format, opts, err := flags.Parse()
	if err != nil {
		return exit.Usage(err)
	}
	if err := flags.Children.Check(flags.To, "pods"); err != nil {
		return exit.Usage(err)
	}
	flags.Spelled = flags.To != "jobset"
	levels, err := option.ParseSeverities(flags.Severity)
	if err != nil {
		return exit.Usage(err)
	}
	flags.Decided = levels.Codes()
	r := &renderRun{
		p: p, flags: flags, levels: levels, format: format, opts: opts, podOpts: flags.Pods(),
		progress: p.Progress(),
		encoders: sync.Pool{New: func() any { return new(manifest.Encoder) }},
	}
	shown := flags.Report(p, p.Stderr)
	shown.Strict = flags.Strict
	var queued finding.List
	if r.queue, queued, err = pipeline.ReadQueue(p, flags.Flags, flags.Queued,
		flags.Assigned); err != nil {
		return exit.Usage(err)
	}
	if flags.Old != "" || flags.Git != "" {
		unread, done, err := r.readOld()
		defer done()
		if err != nil {
			return err
		}
		queued = append(queued, unread...)
	}
	found, err := r.render()
	if err == nil {
		shown.Releases = r.in.Releases()
	}
	found = append(queued, found...)
	if err == nil && r.err == nil && found.Err() == nil && !flags.AsTable() {
		err = flags.Children.NoPods(r.pods.Load())
	}
	if err == nil && flags.For == option.ForRuntime && found.Err() == nil && !r.derives.Load() {
		err = exit.Usage(option.NoExtended())
	}
	if err != nil {
		r.progress.End()
		return err
	}
	all := slices.Concat(r.rendered[0], r.rendered[1])
	if flags.OutputDir != "" && exit.For(found, flags.Strict) == nil && r.err == nil {
		return r.toDir(all, found, shown)
	}
	r.progress.End()
	if err := report.WriteResult(p.Stderr, found, shown, flags.Strict); err != nil {
		return err
	}
	switch {
	case r.err != nil:
		return r.err
	case flags.AsTable():
		for _, m := range all {
			if err := m.table.Write(p.Stdout, p.Screen(p.Stdout).Room()); err != nil {
				return err
			}
		}
		return nil
	default:
		return r.write(p.Stdout, all)
	}
}

// toDir writes all objects to files, and then the findings.
func (r *renderRun) toDir(all []rendered, found finding.List, shown report.Options) error {
	made, err := r.writeDir(all)
	r.progress.End()
	found = append(found, r.editedFiles(made.Edited)...)
	err = errors.Join(report.WriteBeside(r.p.Stderr, found, shown), err,
		exit.For(found, r.flags.Strict))
	if err == nil && r.flags.ExitCode {
		err = r.reportChanges(made, all)
	}
	return err
}

// render reads and renders all inputs, one part after the other, and returns the findings.
func (r *renderRun) render() (finding.List, error) {
	go runtimepatch.JobSetTemplate() // makes the plan of the merge while the first file is read
	forced := option.NewForced(r.flags.Force)
	var read finding.List
	err := build.Parts(r.p, r.flags.Flags, func(part workspace.Flags) error {
		read = append(read, r.part(part)...)
		forced.Take(r.in)
		return nil
	})
	if err := cmp.Or(err, forced.Err()); err != nil {
		return nil, err
	}
	return r.found(read), nil
}

// part reads and renders one part, and returns the findings of reading.
func (r *renderRun) part(part workspace.Flags) finding.List {
	r.in = workspace.New(part)
	r.in.Step = r.progress.Step
	if r.old != nil {
		r.old.Keep(r.in)
	}
	r.in.NoNotes = !r.flags.All && len(r.levels) == 0 // a note may become a warning
	f := workspace.NewStream(r.p, r.in)
	parallel.MapInOrder(f.Objects(r.flags.To == "jobs" || r.flags.To == "pods"), r.one,
		func(o renderedJob) {
			r.progress.Step("rendered", o.file+1, f.Jobs)
			r.store(o)
		})
	r.in.Findings = r.levels.ApplyToWarnings(f.Findings())
	r.in.Label(r.in.Findings)
	return r.in.Findings
}

// found returns the findings of all parts.
func (r *renderRun) found(read finding.List) finding.List {
	found := codes.Distinct(slices.Concat(read, r.findings[0], r.findings[1]))
	if len(r.rendered[0])+len(r.rendered[1]) == 0 && found.Err() == nil {
		found = append(
			found, r.flags.Flags.NoTrainJob("no TrainJob in the inputs",
				"name files with TrainJobs with -f; -r is for runtimes only, and -R descends "+
					"into directories"))
	}
	count := int64(0)
	for _, m := range slices.Concat(r.rendered[0], r.rendered[1]) {
		count += min(m.count, math.MaxInt64-count)
	}
	if found.Err() == nil {
		found = append(found, render.TooManyPods(nil, nil, count, render.MaxPods)...)
	}
	return codes.Distinct(append(append(found, r.queue.Unused()...), r.unsafe...))
}

// renderedJob is the result of one TrainJob or JobSet, with what the run collects.
type renderedJob struct {
	rendered
	findings finding.List
	unsafe   finding.List
	file     int
	jobSet   bool
	err      error
}

// one renders one TrainJob or JobSet and encodes its objects.
func (r *renderRun) one(o workspace.Item) renderedJob {
	out := renderedJob{file: o.File, jobSet: o.JobSet != nil}
	j := o.Job
	var objects iter.Seq2[any, error]
	if out.jobSet {
		j = workspace.Job{TrainJob: o.JobSet.AsTrainJob(), Document: o.JobSet.Document}
		f := pipeline.Children(nil, o.JobSet.JobSet, nil, r.flags, r.podsOf(j))
		f.Findings = append(f.Findings, render.Images(o.JobSet.JobSet, nil)...)
		r.in.NoteImages(j.Document.File, f.Findings)
		for i := range f.Findings {
			f.Findings[i].Position = j.Document.Position(f.Findings[i].Path)
		}
		out.findings, objects, out.table, out.count = r.leveled(f.Findings, f.Objects != nil),
			f.Objects, f.Table, f.Pods
	} else {
		out.findings, objects, out.table, out.count = r.trainJob(j)
	}
	if r.pods.Add(out.count) > render.MaxPods {
		objects = nil // the run will fail
	}
	out.id = render.ObjectOf(j.TrainJob)
	if r.flags.OutputDir != "" {
		out.unsafe = outputname.Unsafe(out.id, j.Document)
	}
	switch {
	case objects == nil || out.findings.Err() != nil: // nothing to write
	case r.flags.To == "pods" && r.flags.OutputDir == "" || r.flags.Format == option.NameFormat:
		out.streamed = objects
	default:
		out.texts, out.err = r.encode(objects)
	}
	return out
}

// trainJob returns the objects that the controllers create for a TrainJob, and the number of Pods.
func (r *renderRun) trainJob(j workspace.Job) (finding.List, iter.Seq2[any, error], pipeline.Table,
	int64) {
	j, admission := r.queue.Admit(r.in, j, r.opts)
	if admission != nil {
		return r.levels.ApplyToWarnings(admission), output.Each(nil), nil, 0
	}
	if r.flags.To == option.PodSets {
		found, sets := pipeline.PodSets(r.in, j, r.opts)
		return r.leveled(found, sets != nil), output.Each([]any{sets}), sets, 0
	}
	found, out := pipeline.TrainJob(r.in, j, r.opts)
	if out.JobSet != nil {
		images := render.Images(out.JobSet, out.History)
		found = append(found, r.in.Locate(j, images)...)
	}
	found = append(found, podgroups.Rejected(r.in, j, r.opts, out, found)...)
	if r.flags.For == option.ForApply && out.JobSet != nil {
		found = pipeline.ForApply(r.in, j, out, found, r.opts.OwnerReferences && j.UID != "")
	}
	if r.flags.For != option.ForReview {
		found = slices.DeleteFunc(found, func(f finding.Finding) bool {
			return f.Code == codes.Extended
		})
	}
	if r.flags.For == option.ForRuntime && out.JobSet != nil {
		more, objects := r.derived(j)
		return r.leveled(append(found, more...), true), output.Each(objects), nil, 0
	}
	if r.old != nil && out.JobSet != nil && found.Err() == nil {
		more, objects := r.changed(j, out.JobSet)
		return r.leveled(append(found, more...), objects != nil), output.Each(objects), nil, 0
	}
	found = r.leveled(found, out.JobSet != nil)
	if r.flags.To == "jobset" || out.JobSet == nil || found.Err() != nil {
		return found, output.Each(out.Objects()), nil, 0
	}
	f := pipeline.Children(out.History, out.JobSet, out.Companions, r.flags, r.podsOf(j))
	located := r.in.Locate(j, f.Findings)
	return append(found, r.leveled(located, f.Objects != nil)...), f.Objects, f.Table, f.Pods
}

// derived returns the TrainJob for the cluster, after the runtime that its extended patches make,
// if there are any.
func (r *renderRun) derived(j workspace.Job) (found finding.List, objects []any) {
	runtime, job, err := r.in.Derived(j)
	if err != nil {
		return finding.List{
			{Code: codes.NoMerge, Severity: finding.Error, Object: render.ObjectOf(j.TrainJob),
				Position: j.Document.Position(nil), Message: err.Error()}}, nil
	}
	if runtime != nil {
		r.derives.Store(true)
		if found = admitRuntime(j.Release(), runtime.Object); found != nil {
			source := r.in.SourceOf(j)
			fields, _ := source.Base().Fields(fieldpath.Object{}) // the derived runtime has them
			source.Rejected(found, admitRuntime(j.Release(), fields))
		}
		objects = append(objects, runtime)
	}
	return found, append(objects, job)
}

// leveled returns the findings on an object with the severities of the command line. Without the
// rendered object, its errors stay.
func (r *renderRun) leveled(found finding.List, rendered bool) finding.List {
	if rendered {
		return r.levels.Apply(found)
	}
	return r.levels.ApplyToWarnings(found)
}

// podsOf returns the options for the Jobs and Pods of a TrainJob or a JobSet.
func (r *renderRun) podsOf(j workspace.Job) render.PodsOptions {
	opts := r.podOpts
	opts.Release = j.Release()
	return opts
}

func (r *renderRun) encode(objects iter.Seq2[any, error]) ([][]byte, error) {
	encoder := r.encoders.Get().(*manifest.Encoder)
	defer r.encoders.Put(encoder)
	var texts [][]byte
	for text, err := range output.Encoded(encoder, r.format, objects) {
		if err != nil {
			return nil, err
		}
		texts = append(texts, slices.Clone(text))
	}
	return texts, nil
}

// store stores the next result. Findings on a runtime occur once for each of its TrainJobs, and are
// stored once.
func (r *renderRun) store(o renderedJob) {
	group := 0
	if o.jobSet {
		group = 1
	}
	r.in.Label(o.findings)
	r.in.Label(o.unsafe)
	r.findings[group] = append(r.findings[group], o.findings...)
	r.unsafe = append(r.unsafe, o.unsafe...)
	o.build, r.err = r.in.Build(), cmp.Or(r.err, o.err)
	r.rendered[group] = append(r.rendered[group], o.rendered)
}

// write writes all objects as one stream.
func (r *renderRun) write(w io.Writer, all []rendered) error {
	if r.flags.To == "pods" || r.flags.Format == option.NameFormat {
		objects := func(yield func(any, error) bool) {
			for _, m := range all {
				for o, err := range m.streamed {
					if !yield(o, err) {
						return
					}
				}
			}
		}
		if r.flags.Format == option.NameFormat {
			return output.WriteNames(w, objects)
		}
		return output.Encode(w, r.format, objects)
	}
	out := output.NewStream(w, r.format)
	for _, m := range all {
		if err := out.Add(m.texts...); err != nil {
			return err
		}
	}
	return out.Close()
}
