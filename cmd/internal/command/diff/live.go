package diff

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/comparison"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/revision"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fieldpath/printable"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/diff"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// This file compares the rendering of the files with the objects of a cluster.

// liveRun is one comparison with a cluster.
type liveRun struct {
	flags  diffFlags
	opts   render.Options
	source workspace.Source
	files  *version
	dump   *live.Dump

	releases []*releaseRun
	causes   map[merge.Layer]bool
	derived  map[string]int // the objects that differ like the objects from which controllers make them, by kind
}

// checkLive returns an error for flags that --live excludes.
func (flags *diffFlags) checkLive(args []string) error {
	switch {
	case flags.git != "":
		return errors.New("--git compares revisions, and --live a cluster: use one of the two")
	case flags.from != "" || flags.until != "":
		return errors.New("--from-version and --to-version compare releases, and --live a cluster: remove them")
	case flags.Builds():
		return errors.New("--live has no builds: build first, and name the files")
	case flags.to != "jobset":
		return errors.New("--to has no effect on --live: the dump decides what to compare")
	case len(args)+len(flags.Files) == 0:
		return errors.New("nothing to compare: name files or directories with TrainJobs")
	case flags.live == manifest.Stdin && slices.Contains(slices.Concat(args, flags.both()), manifest.Stdin):
		return errors.New("standard input can be read once: use - for --live, or as a path")
	case slices.Contains(slices.Concat(args, flags.both()), ""):
		return errors.New("an empty path: name a file, a directory, a glob or -")
	}
	return nil
}

// runLive writes the comparison with a cluster, and ends with the status of diff.
func runLive(p *host.Program, flags diffFlags, opts render.Options, args []string, paint host.Painter) error {
	if err := flags.checkLive(args); err != nil {
		return exit.Usage(err)
	}
	flags.Files = slices.Concat(args, flags.Files)
	opts.As = render.Stored
	run, err := newLiveRun(p, flags, opts)
	if err != nil {
		return err
	}
	c, err := run.compare(flags.needsAllObjects(p))
	if err != nil {
		return err
	}
	findings := codes.Distinct(append(errorsAndConflicts(nil, run.files.findings), run.dump.Findings...))
	if run.files.TrainJobs+len(run.files.in.JobSets) == 0 && findings.Err() == nil {
		findings = append(findings, flags.NoTrainJob("no TrainJob in the inputs", "name files with TrainJobs; -r is for runtimes only, and -R descends into directories"))
	}
	if len(run.dump.Kinds) == 0 && findings.Err() == nil {
		findings = append(findings, finding.Finding{
			Code: codes.NoTrainJob, Severity: finding.Error, Position: fieldpath.Position{File: flags.live},
			Message: "no TrainJob, JobSet, Job or Pod in the dump",
			Remedy:  finding.Remedy{Text: "write it with kubectl get trainjobs,jobsets,jobs,pods -o yaml --show-managed-fields"},
		})
	}
	shows := findings.Err() == nil || (c.Renders() || c.Differs()) && len(run.dump.Kinds) > 0 && reportsErrors(c, findings)
	return flags.end(p, c, findings, paint, shows)
}

// newLiveRun reads the files and the dump.
func newLiveRun(p *host.Program, flags diffFlags, opts render.Options) (*liveRun, error) {
	source := readOnce(p, append(flags.both(), flags.live))
	run := &liveRun{flags: flags, opts: opts, source: source, causes: map[merge.Layer]bool{}, derived: map[string]int{}}
	run.files = unreadVersion(&revision.Side{Name: "the files", Files: p.Files, Flags: flags.Flags})
	run.files.in = workspace.Read(source, flags.Flags)
	run.dump = live.Read(source, flags.Flags, flags.live)
	forced := option.NewForced(option.ForceFlag, flags.force)
	forced.Take(run.files.in)
	return run, forced.Err()
}

// compare renders all TrainJobs, and compares each with its family in the dump.
func (run *liveRun) compare(whole bool) (*comparison.Comparison, error) {
	old := run.files
	new := &comparison.Version{Name: printable.Name(run.flags.live), Live: true, Whole: whole}
	if run.flags.live == manifest.Stdin {
		new.Name = "standard input"
	}
	known := map[fieldpath.Object]bool{}
	var failed error
	add := func(r *renderedTrainJob, id fieldpath.Object) {
		if failed != nil {
			return
		}
		var before, after *comparison.Job
		before, after, failed = run.family(r, id)
		old.Jobs = append(old.Jobs, *before)
		if after != nil {
			new.Jobs = append(new.Jobs, *after)
		}
	}
	spans := old.renderJobs(run.opts, func(j workspace.Job, out pipeline.Made) { add(run.rendered(j, out), render.ObjectOf(j.TrainJob)) })
	for _, j := range old.in.Jobs {
		known[render.ObjectOf(j.TrainJob)] = true
	}
	for _, js := range old.in.JobSets {
		id := fieldpath.Object{Kind: workspace.JobSetKind, Namespace: js.Namespace, Name: js.Name}
		known[trainJobOf(id)] = true
		j := workspace.Job{Document: js.Document}
		add(run.rendered(j, pipeline.Made{JobSet: render.DefaultJobSetOf(run.podOptions(j.Release()).Release, js.JobSet)}), id)
	}
	if failed != nil {
		return nil, failed
	}
	old.reject(spans)
	for _, d := range old.in.Rejected {
		known[old.in.ID(d)] = true
	}
	run.extra(known, new)
	// A TrainJob that the files do not render has no comparison: the errors name it.
	old.Jobs = slices.DeleteFunc(old.Jobs, func(j comparison.Job) bool { return j.Rejected != nil })
	new.Reasons, new.Notes = run.reasons(), run.notes()
	return comparison.Compare(&old.Version, new, run.flags.showValues)
}

// rendered returns the rendering of a TrainJob of the files.
func (run *liveRun) rendered(j workspace.Job, out pipeline.Made) *renderedTrainJob {
	return &renderedTrainJob{job: j, out: out, opts: run.podOptions(j.Release()), locate: run.files.locator(j)}
}

func (run *liveRun) podOptions(r *release.Release) render.PodsOptions {
	if run.opts.Release != nil {
		r = run.opts.Release
	}
	return render.PodsOptions{JobsOptions: render.JobsOptions{Release: r, Stored: true}}
}

// extra adds the families of the dump that the files lack, if a TrainJob made them.
func (run *liveRun) extra(known map[fieldpath.Object]bool, new *comparison.Version) {
	for _, f := range run.dump.Families {
		switch {
		case known[f.ID], !f.IsOfTrainer():
			continue
		case f.TrainJob != nil && run.flags.Selector != nil && !run.flags.Selector.Matches(labels.Set(f.TrainJob.Value.GetLabels())):
			continue
		}
		o := f.TrainJob
		if o == nil {
			o = f.JobSet
		}
		new.Jobs = append(new.Jobs, comparison.Job{ID: f.ID, Objects: []comparison.Object{run.extraObject(objectRef{kind: o.ID.Kind, name: o.ID.Name}, o)}})
	}
}

// trainJobOf returns the TrainJob of the name of an object.
func trainJobOf(id fieldpath.Object) fieldpath.Object {
	id.Kind = trainer.TrainJobKind
	return id
}

// family compares a TrainJob or a JobSet of the files with its family. A nil second result stands for one that the cluster lacks.
func (run *liveRun) family(r *renderedTrainJob, id fieldpath.Object) (before, after *comparison.Job, err error) {
	f := run.dump.Family(trainJobOf(id))
	before = &comparison.Job{ID: id}
	if r.job.TrainJob != nil {
		before.Runtime = render.RuntimeOf(r.job.TrainJob)
	}
	if f == nil {
		if run.dump.Kinds[id.Kind] || run.dump.Kinds[workspace.JobSetKind] {
			before.Objects = append(before.Objects, run.missingObject(objectRef{kind: id.Kind, name: id.Name}, r))
			return before, nil, nil
		}
		return before, &comparison.Job{ID: id}, nil
	}
	c := &familyRun{liveRun: run, files: r, family: f, ofJobs: map[string]*renderedTrainJob{}, before: before, after: &comparison.Job{ID: id, Runtime: before.Runtime}}
	err = c.compare()
	return before, c.after, err
}

// notes describes the parts of the dump that the report does not show.
func (run *liveRun) notes() []string {
	var notes []string
	if n := run.dump.Bare; n > 0 && run.causes[unknownLayer] {
		notes = append(notes, fmt.Sprintf("%s of the dump without managed fields: kubectl get --show-managed-fields names who set each field", report.Count(n, "object")))
	}
	if jobs, pods := run.derived["Job"], run.derived["Pod"]; jobs+pods > 0 {
		var kinds []string
		if jobs > 0 {
			kinds = append(kinds, report.Count(jobs, "Job"))
		}
		if pods > 0 {
			kinds = append(kinds, report.Count(pods, "Pod"))
		}
		notes = append(notes, "not shown, since they follow from a live JobSet or Job: "+strings.Join(kinds, " and "))
	}
	return notes
}

// missingObject returns an object that the cluster lacks.
func (run *liveRun) missingObject(at objectRef, r *renderedTrainJob) comparison.Object {
	run.causes[missingLayer] = true
	return comparison.Object{
		Key: at.key(0), Object: live.Plain(r.object(at)), Causes: diff.OwnedBy(merge.Claim{Layer: missingLayer}),
		Owners: func() (*diff.Owners, error) { return &diff.Owners{}, nil }, Locate: r.locate,
	}
}

// extraObject returns an object that the files lack, with the client that created it.
func (run *liveRun) extraObject(at objectRef, o *live.Object) comparison.Object {
	claim := run.creator(o)
	run.causes[claim.Layer] = true
	return comparison.Object{
		Key: at.key(0), Object: live.Plain(o.Value), Causes: diff.OwnedBy(claim),
		Owners: noOwners, Locate: keepPosition,
	}
}

// noOwners returns the owners of a live object for masking: its values may be secrets.
func noOwners() (*diff.Owners, error) { return &diff.Owners{}, nil }

// keepPosition returns a claim that has its position.
func keepPosition(c merge.Claim) merge.Claim { return c }

// isFinished reports whether the TrainJob or the JobSet of a family is complete or has failed.
func isFinished(f *live.Family) bool {
	if f.JobSet == nil {
		return false
	}
	js, ok := f.JobSet.Value.(*jobset.JobSet)
	return ok && js.Status.TerminalState != ""
}

// hasPods reports whether a Job of the dump still has Pods to run, beyond those in the dump.
func hasPods(job *batchv1.Job, present int) bool {
	if job.Spec.Suspend != nil && *job.Spec.Suspend {
		return false
	}
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return false
		}
	}
	return job.Status.StartTime == nil || int(job.Status.Active) > present
}
