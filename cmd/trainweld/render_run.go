package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/trainweld/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/outputname"
	"github.com/trainweld/trainweld/internal/transaction"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
)

// renderRun is one run of render: from the files to the JobSets and their text, on all cores and in order, and
// then, if nothing is an error, to where they were asked for. Of each TrainJob only the text of what it becomes
// is kept, and that in a spool.
type renderRun struct {
	p        *program
	flags    renderFlags
	format   manifest.Format
	opts     render.Options
	podOpts  render.PodsOptions
	in       *input
	patches  []trainer.RuntimePatch
	encoders sync.Pool
	spool    spool
	// What was made of the TrainJobs, in their order, and behind them of the JobSets.
	made     [2][]rendered
	findings [2]finding.Set
	unsafe   finding.List
	err      error
	pods     atomic.Int64 // made so far
}

// rendered is what one TrainJob, or a JobSet that was given itself, becomes.
type rendered struct {
	id    fieldpath.Object
	texts []section // in the spool
	// Pods for standard output are so many that they are made only as they are written.
	pods  iter.Seq2[any, error]
	count int64 // of Pods
	table podTable
}

func (p *program) render(flags renderFlags) error {
	format, opts, err := flags.parse()
	if err != nil {
		return usageError{err}
	}
	if err := flags.children.check(flags.to, flags.format, false); err != nil {
		return usageError{err}
	}
	podOpts, err := flags.children.options(opts.As, opts.OwnerReferences)
	if err != nil {
		return usageError{err}
	}
	if flags.to != "jobset" {
		// What the API server fills in when it stores the JobSet would look as if the JobSet said it.
		flags.spelled, opts.As = true, render.Applied
	}
	opts.ForceManagers = flags.force
	r := &renderRun{
		p: p, flags: flags, format: format, opts: opts, podOpts: podOpts,
		in:       newInput(flags.inputFlags, p.progress()),
		encoders: sync.Pool{New: func() any { return new(manifest.Encoder) }},
	}
	shown := report.Options{ShowValues: flags.showValues, ShowNotes: flags.showNotes}
	defer r.spool.close()
	found := r.render()
	if err := r.in.unknownManager(flags.force); err != nil {
		r.in.progress.end()
		return err
	}
	all := slices.Concat(r.made[0], r.made[1])
	if flags.outputDir != "" && failure(found, flags.strict) == nil && r.err == nil {
		edited, err := r.writeDir(all)
		r.in.progress.end()
		found = append(found, edited...)
		return errors.Join(p.report(found, shown), err, failure(found, flags.strict))
	}
	r.in.progress.end()
	if err := p.report(found, shown); err != nil {
		return err
	}
	if err := failure(found, flags.strict); err != nil {
		return err
	}
	switch {
	case r.err != nil:
		return r.err
	case flags.asTable():
		for _, m := range all {
			if err := m.table.write(p.stdout); err != nil {
				return err
			}
		}
		return nil
	default:
		return r.write(p.stdout, all)
	}
}

// render reads and renders everything, and returns all that was found.
func (r *renderRun) render() finding.List {
	r.in.noNotes = !r.flags.showNotes
	go learn()
	f := r.p.newFeed(r.in, r.flags.inputFlags)
	r.patches = r.in.furtherPatches()
	stream(f.objects(r.flags.to != "jobset"), r.one, func(o renderedJob) {
		r.in.progress.step("rendered", o.file+1, f.jobs)
		r.take(o)
	})
	r.in.findings = f.findings()
	found := slices.Concat(r.in.findings, r.findings[0].List(), r.findings[1].List())
	if len(r.made[0])+len(r.made[1]) == 0 && found.Err() == nil {
		found = append(found, finding.Finding{
			Code: finding.CodeNoTrainJob, Severity: finding.Error,
			Message: "the inputs hold no TrainJob", Remedy: finding.Remedy{Text: "name files with TrainJobs with -f; -r is for runtimes only, and -R descends into directories"},
		})
	}
	count := int64(0)
	for _, m := range slices.Concat(r.made[0], r.made[1]) {
		count += min(m.count, math.MaxInt64-count)
	}
	if found.Err() == nil {
		found = append(found, render.TooManyPods(fieldpath.Object{}, count, r.flags.children.maxPods.count())...)
	}
	return append(found, r.unsafe...).Distinct()
}

// learn goes through what the first TrainJob would wait for, while its file is read: the plan of the merge, and what
// the decoder has to know of the types of a runtime. Both happen once in a process and are kept.
func learn() {
	go merge.JobSetTemplate()
	manifest.Decode("", []byte("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\n"))
}

// renderedJob is what became of one TrainJob or JobSet.
type renderedJob struct {
	rendered
	texts    [][]byte
	findings finding.List
	unsafe   finding.List
	file     int
	jobSet   bool
	err      error
}

// one renders one TrainJob or JobSet, and encodes what it becomes.
func (r *renderRun) one(o fed) renderedJob {
	out := renderedJob{file: o.file, jobSet: o.jobSet != nil}
	j := o.job
	var objects iter.Seq2[any, error]
	if out.jobSet {
		j = job{o.jobSet.asTrainJob(), o.jobSet.document}
		f := children(o.jobSet.JobSet, nil, r.flags, r.podOpts)
		for i := range f.findings {
			f.findings[i].Position = j.document.Position(f.findings[i].Path)
		}
		out.findings, objects, out.table, out.count = f.findings, f.objects, f.table, f.pods
	} else {
		out.findings, objects, out.table, out.count = r.trainJob(j)
	}
	if r.pods.Add(out.count) > r.flags.children.maxPods.count() {
		objects = nil // the run will be refused
	}
	out.id = render.ObjectOf(j.TrainJob)
	if r.flags.outputDir != "" {
		out.unsafe = outputname.Unsafe(out.id, j.document)
	}
	switch {
	case objects == nil || out.findings.Err() != nil: // nothing will be written
	case r.flags.to == "pods" && r.flags.outputDir == "":
		out.pods = objects
	default:
		out.texts, out.err = r.encode(objects)
	}
	return out
}

// trainJob is what the controllers make of a TrainJob, and how many Pods.
func (r *renderRun) trainJob(j job) (finding.List, iter.Seq2[any, error], podTable, int64) {
	found, out := r.in.renderJob(j, render.Input{TrainJob: j.TrainJob, Patches: r.patches}, r.opts)
	if r.flags.to == "jobset" || out.jobSet == nil || found.Err() != nil {
		return found, each(out.objects()), podTable{}, 0
	}
	f := children(out.jobSet, out.companions, r.flags, r.podOpts)
	r.in.locate(j, f.findings)
	return append(found, f.findings...), f.objects, f.table, f.pods
}

func (r *renderRun) encode(objects iter.Seq2[any, error]) ([][]byte, error) {
	encoder := r.encoders.Get().(*manifest.Encoder)
	defer r.encoders.Put(encoder)
	var texts [][]byte
	for text, err := range encoded(encoder, r.format, objects) {
		if err != nil {
			return nil, err
		}
		texts = append(texts, slices.Clone(text))
	}
	return texts, nil
}

// take keeps the next outcome. What is wrong with a runtime is found once for each of its TrainJobs, and kept
// once.
func (r *renderRun) take(o renderedJob) {
	group := 0
	if o.jobSet {
		group = 1
	}
	r.findings[group].Add(o.findings...)
	r.unsafe = append(r.unsafe, o.unsafe...)
	made := o.rendered
	for _, text := range o.texts {
		at, err := r.spool.add(text)
		if r.err == nil {
			r.err = err
		}
		made.texts = append(made.texts, at)
	}
	if r.err == nil {
		r.err = o.err
	}
	r.made[group] = append(r.made[group], made)
}

// write writes everything as one stream.
func (r *renderRun) write(w io.Writer, all []rendered) error {
	if r.flags.to == "pods" {
		streams := make([]iter.Seq2[any, error], len(all))
		for i := range all {
			streams[i] = all[i].pods
		}
		return encodeStream(w, r.format, chain(streams))
	}
	out := newOutput(w, r.format)
	for _, m := range all {
		if err := r.frame(&out.framing, m); err != nil {
			return err
		}
	}
	return out.close()
}

// frame writes the objects of one TrainJob.
func (r *renderRun) frame(out *framing, m rendered) error {
	for _, at := range m.texts {
		text, err := r.spool.text(at)
		if err != nil {
			return err
		}
		if err := out.add(text); err != nil {
			return err
		}
	}
	return nil
}

// writeDir writes a file for each TrainJob, and returns the files that --prune would have removed.
func (r *renderRun) writeDir(all []rendered) (finding.List, error) {
	files := make([]transaction.File, len(all))
	for i, m := range all {
		files[i] = transaction.File{Name: outputname.Of(m.id, r.format), Text: func() ([]byte, error) {
			var b bytes.Buffer
			out := framing{w: &b, format: r.format}
			err := errors.Join(r.frame(&out, m), out.close())
			return b.Bytes(), err
		}}
	}
	interrupted, end := r.p.listen()
	defer end()
	dir := outputDir{path: r.flags.outputDir, listed: true, prune: r.flags.prune, step: r.in.progress.step}
	edited, err := dir.write(files, interrupted)
	if err != nil {
		err = fmt.Errorf("--output-dir: %w", err)
	}
	var found finding.List
	for _, name := range edited {
		found = append(found, finding.Finding{
			Code: finding.CodeEditedOutput, Severity: finding.Warning, Position: fieldpath.Position{File: filepath.Join(r.flags.outputDir, name)},
			Message: "is made no longer, and is not what was written: somebody has changed it, so it stays",
			Remedy:  finding.Remedy{Text: "remove it, or take its line out of " + filepath.Join(r.flags.outputDir, ownFilesName) + " to keep it"},
		})
	}
	return found, err
}
