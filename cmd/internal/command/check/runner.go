package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// runner runs the input of check through admission. It first reads everything, since a runtime may
// follow the TrainJobs that name it. Then it judges each document. To save memory, it keeps only
// the text of a document after reading.
type runner struct {
	progress   *host.Progress
	in         *workspace.Input
	flags      checkFlags
	onConflict render.OnConflict
	runtimes   *admittedRuntimes
	own        []*admittedRuntime // the runtimes to judge
	fromFlag   []*admittedRuntime // the runtimes of -r
	classes    []string           // the names of the PriorityClasses
	runClasses []string           // the names of the RuntimeClasses
	results    []result
	reading    map[objectID]finding.List               // the decoding findings of each object
	objects    map[fieldpath.Object]*manifest.Document // TrainJobs and JobSets
	unread     finding.List                            // objects of -r that are no runtimes
	lacking    *sync.Map                               // the names of runtimes that TrainJobs lack
	oldState   *oldState
	count      counts
}

// result judges one document.
type result func(ctx context.Context) finding.List

// objectID identifies an object of a file.
type objectID struct{ file, kind, name string }

// counts counts the judged objects.
type counts struct{ documents, jobs, runtimes, jobSets, others int }

// any reports whether any object was judged. A selector is for TrainJobs and JobSets: then others
// do not count.
func (t counts) any(selected bool) bool {
	return t.jobs+t.jobSets > 0 || !selected && t.runtimes+t.others > 0
}

// String returns a summary such as "checked 2 TrainJobs and 1 runtime in 5 documents".
func (t counts) String() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{t.jobs, "TrainJob"}, {t.runtimes, "runtime"}, {t.jobSets, "JobSet"},
		{t.others, "other object"}} {
		if part.n > 0 {
			parts = append(parts, report.Count(part.n, part.what))
		}
	}
	if parts == nil {
		return "checked nothing in " + report.Count(t.documents, "document")
	}
	last := len(parts) - 1
	text := parts[last]
	if last > 0 {
		text = strings.Join(parts[:last], ", ") + " and " + text
	}
	return fmt.Sprintf("checked %s in %s", text, report.Count(t.documents, "document"))
}

// newRunner returns a runner that has read all inputs. Without a state before, it reads the state
// of --old.
func newRunner(p *host.Program, flags checkFlags, before *oldState) *runner {
	outlines := flags.Flags
	outlines.Outlines = true // to be judged, an object is decoded with the defaults of its kind
	j := &runner{
		progress: p.Progress(), in: workspace.New(outlines), flags: flags,
		onConflict: option.ParseOnConflict(flags.onConflict),
		runtimes:   &admittedRuntimes{}, lacking: &sync.Map{}, reading: map[objectID]finding.List{},
		objects: map[fieldpath.Object]*manifest.Document{},
	}
	j.in.Step = j.progress.Step
	if j.oldState = before; before == nil {
		j.oldState = readOldState(p, j)
	}
	if j.oldState != nil {
		j.oldState.runner = j
	}
	j.in.ReadFiles(p, flags.Files, func(d workspace.Decoded) {
		j.in.Findings = append(j.in.Findings, d.Findings...)
		j.record(d, true)
	})
	j.in.ReadFiles(p, flags.Runtimes, func(d workspace.Decoded) {
		// Findings on an object are reported with the object.
		j.in.Findings = append(j.in.Findings, d.Findings.Where(func(f finding.Finding) bool {
			return f.Object.Name == ""
		})...)
		j.unread = append(j.unread, d.Findings.Where(func(f finding.Finding) bool {
			return f.Code == codes.UnknownKind || f.Code == codes.UnknownVersion
		})...)
		j.record(d, false)
	})
	if before := j.oldState; before != nil {
		j.in.Beside(before.in.Catalog, before.isLive)
		before.in.Beside(j.in.Catalog, true)
		if before.dump != nil {
			before.dump.Keep(j.in)
		}
	}
	j.in.ReadPatches(p)
	j.in.Findings = j.in.WithoutPatchFiles(j.in.Findings)
	return j
}

// record records the documents of a file. Unless all is set, it skips the TrainJobs and JobSets,
// and does not judge runtimes.
func (j *runner) record(file workspace.Decoded, all bool) {
	for _, f := range file.Findings {
		key := objectID{f.Position.File, f.Object.Kind, f.Object.Name}
		j.reading[key] = append(j.reading[key], f)
	}
	for _, d := range file.Documents {
		j.countOnce(d, &j.count.documents, "")
		j.document(d, all)
		d.Object = nil
	}
}

func (j *runner) document(d *manifest.Document, all bool) {
	known := d.Object != nil || d.Broken
	switch kind := d.ID.Kind; {
	case kind == "PriorityClass" && strings.HasPrefix(d.APIVersion, "scheduling.k8s.io/"):
		j.classes = append(j.classes, d.ID.Name)
	case kind == "RuntimeClass" && strings.HasPrefix(d.APIVersion, "node.k8s.io/"):
		j.runClasses = append(j.runClasses, d.ID.Name)
	case !known && j.in.AddClaim(d):
	case !known:
	case j.furtherKind(d) != nil:
		if all {
			j.count.others++
			j.results = append(j.results, func(ctx context.Context) finding.List {
				return j.furtherObject(ctx, j.furtherKind(d), d)
			})
		}
	case kind == trainer.TrainJobKind && all:
		j.countOnce(d, &j.count.jobs, d.ID.Kind)
		j.in.AddName(d)
		j.objects[j.in.ID(d)] = d
		j.results = append(j.results, func(ctx context.Context) finding.List {
			return j.trainJob(ctx, d)
		})
	case kind == workspace.JobSetKind && all:
		j.countOnce(d, &j.count.jobSets, d.ID.Kind)
		j.objects[j.in.ID(d)] = d
		j.results = append(j.results, func(ctx context.Context) finding.List {
			return j.jobSet(ctx, d)
		})
	default:
		j.runtime(d, all)
	}
}

// run judges all documents, and returns their findings.
func (j *runner) run(ctx context.Context) finding.List {
	var found finding.List
	parallel.Ordered(len(j.results), func(i int) finding.List {
		return j.results[i](ctx)
	}, func(i int, f finding.List) {
		j.progress.Step("checked", i+1, len(j.results))
		found = append(found, f...)
	})
	for _, admitted := range j.fromFlag {
		if admitted.named.Load() {
			j.countOnce(admitted.Document, &j.count.runtimes, admitted.Document.ID.Kind)
			found = append(
				found, j.in.Rate(
					strict(j.reading[objectID{admitted.Document.File, admitted.Document.ID.Kind,
						admitted.Document.ID.Name}]))...)
			found = append(found, j.checkRuntime(ctx, admitted)...)
		}
	}
	for _, admitted := range j.runtimes.others {
		found = append(found, j.checkRuntime(ctx, admitted)...)
	}
	// The runtime that a TrainJob lacks may be there, with a mistake in its kind or version.
	found = append(found, j.in.Rate(j.unread.Where(func(f finding.Finding) bool {
		_, lacks := j.lacking.Load(f.Object.Name)
		return lacks
	}))...)
	found = j.flags.further.unscoped(
		append(j.in.Rate(strict(j.in.Findings)), j.addRuntimeWarnings(ctx, found)...))
	if unrelated := j.oldState.unrelated(); unrelated != nil {
		found = append(found, *unrelated)
	}
	return found
}

// strict returns findings on files as a strict API server has them: it rejects the fields of
// earlier releases, and a version that no release serves.
func strict(found finding.List) finding.List {
	for i := range found {
		if found[i].Code == codes.OldAPI || found[i].Code == codes.OldVersion {
			found[i].Severity = finding.Error
		}
	}
	return found
}

// trainJob judges one TrainJob.
func (j *runner) trainJob(ctx context.Context, d *manifest.Document) finding.List {
	defer d.Release()
	fields, err := d.ReadFields()
	if err != nil {
		return nil // decoding has reported the error
	}
	job := workspace.Job{TrainJob: workspace.Outline(fields, cmp.Or(j.flags.Namespace, "default")),
		Document: d, Written: fields}
	in := admission.Input{
		Release: job.Release(), Earlier: j.in.Earlier(job),
		TrainJob: fields, Layers: job.Layers(), Patches: j.in.PatchesFor(job),
		Namespace: j.flags.Namespace, OnConflict: j.onConflict, ForceManagers: j.flags.force,
		FeatureGates: j.flags.FeatureGates, PriorityClasses: j.classes,
		RuntimeClasses: j.runClasses,
	}
	admitted, missing := j.runtimeOf(job)
	if admitted != nil {
		in.Runtime, _ = j.admit(ctx, admitted, render.RuntimeOf(job.TrainJob))
		// the findings on the runtime are those of the patches
		in.IsAccepted = admitted.Base() != nil
		admitted.named.Store(true)
		if live := j.liveOf(job); admitted.Snapshot != nil && live != nil {
			in.Live, _ = j.admit(ctx, j.runtimes.of(live), fieldpath.Object{})
		}
	}
	found := j.oldState.check(ctx, in, job)
	hidden := beyondTypes(d, fields, found, func(fields map[string]any) finding.List {
		in.TrainJob = fields
		return j.oldState.check(ctx, in, job)
	})
	found = slices.Concat(j.in.ReleaseFindings(job, j.onConflict), found, hidden)
	if admitted != nil && admitted.Snapshot != nil {
		if deleted := j.oldState.missingRuntime(j.in, job); deleted != nil {
			found = append(found, *deleted)
		}
	}
	switch {
	case missing != nil:
		ref := fieldpath.Fields("spec", "runtimeRef")
		unread := slices.ContainsFunc(d.Findings, func(f finding.Finding) bool {
			return f.Severity == finding.Error && ref.HasPrefix(f.Path)
		})
		if !hasError(found, ref) && !hasError(d.Findings, ref) && !unread {
			found = append(finding.List{*missing}, found...)
			j.lacking.Store(render.RuntimeOf(job.TrainJob).Name, true)
		}
	case in.Runtime == nil || admitted.Document.Broken:
		found = append(found, admission.RejectedRuntime(render.ObjectOf(job.TrainJob),
			render.RuntimeOf(job.TrainJob)))
	}
	further := d.Report()
	further.Add(j.in.Locate(job, found)...)
	found = further.List()
	if d.Findings.Err() != nil {
		// The judgment lacks the fields that cannot be decoded, so that a patch may look idle.
		for i := range found {
			found[i].Remedy.IsCertain = false
		}
	}
	found.Sort()
	return found
}

// hasError reports whether found has an error on the value at the path or below it. An immutable
// field is none.
func hasError(found finding.List, path fieldpath.Path) bool {
	return slices.ContainsFunc(found, func(f finding.Finding) bool {
		return f.Severity == finding.Error && f.Path.HasPrefix(path) && f.Code != codes.Immutable
	})
}

// jobSet judges a JobSet of the input. A finding on a generated object has a claim with the
// JobSet's field that causes it.
func (j *runner) jobSet(ctx context.Context, d *manifest.Document) finding.List {
	defer d.Release()
	fields, err := d.ReadFields()
	if err != nil {
		return nil // decoding has reported the error
	}
	judge := func(fields map[string]any) finding.List {
		found := j.oldState.checkJobSet(ctx, j, d, fields)
		var js jobset.JobSet
		if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &js) == nil {
			js.Namespace = j.flags.NamespaceOf(js.Namespace)
			found = append(found, render.Images(&js, nil)...)
			j.in.NoteImages(d.File, found)
		}
		return found
	}
	found := judge(fields)
	found = append(found, beyondTypes(d, fields, found, judge)...)
	for i := range found {
		f := &found[i]
		f.Position = d.Position(f.Path)
		for c := range f.Claims {
			f.Claims[c].Position = d.Position(f.Claims[c].At)
			f.Position = f.Claims[c].Position
		}
	}
	further := d.Report()
	further.Add(found...)
	return j.in.Rate(further.List())
}
