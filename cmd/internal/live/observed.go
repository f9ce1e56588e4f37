package live

import (
	"context"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// This file tells what a dump knows of a TrainJob's objects before the files change them.

// Second predicts the states of the dump's objects after the Trainer has rendered a JobSet for
// their TrainJob. It returns nil if they cannot be read.
func (d *Dump) Second(id fieldpath.Object, r *release.Release,
	applied *jobset.JobSet) (*admission.Second, finding.List) {
	observed, found := d.Observed(id)
	found = d.Named(found)
	if observed == nil {
		return nil, found
	}
	second, rejected := admission.SecondWrite(context.Background(), r, *observed, applied)
	return second, slices.Concat(found, rejected, d.families[id].Unknown(second))
}

// Named returns findings on the dump with the prefix before the names of files.
func (d *Dump) Named(found finding.List) finding.List {
	found = slices.Clone(found)
	for i := range found {
		if found[i].Position.File != "" {
			found[i].Position.File = d.Prefix + found[i].Position.File
		}
	}
	return found
}

// Observed returns the objects of a TrainJob, and findings on missing ones. It returns nil if they
// cannot be read.
func (d *Dump) Observed(id fieldpath.Object) (*admission.Observed, finding.List) {
	f, found := d.familyFor(id)
	observed := &admission.Observed{}
	if f == nil {
		return observed, found
	}
	if f.TrainJob != nil {
		observed.Finished = isOver(f.TrainJob)
		if f.JobSet == nil && !d.Kinds[workspace.JobSetKind] {
			assumed, rejected := d.assumed(f, observed)
			return assumed, append(found, rejected...)
		}
	}
	if f.JobSet != nil && !f.JobSet.Broken {
		fields, err := f.JobSet.Document.Fields()
		if err != nil {
			return nil, found // reported on reading
		}
		observed.JobSet = fields
	}
	for _, o := range f.Jobs {
		if job, ok := o.Value.(*batchv1.Job); ok && !o.Broken {
			observed.Jobs = append(observed.Jobs, job)
		}
	}
	return observed, found
}

// JobSetOf returns the JobSet of a TrainJob that exists, or nil.
func (d *Dump) JobSetOf(id fieldpath.Object) *jobset.JobSet {
	f := d.families[id]
	if f == nil {
		return nil
	}
	js, _ := valueOf(f.JobSet).(*jobset.JobSet)
	return js
}

// assumed returns the objects that the controllers made of an old TrainJob, if the old state has
// none. If the TrainJob does not render, it returns nil, and the errors.
func (d *Dump) assumed(f *Family,
	observed *admission.Observed) (*admission.Observed, finding.List) {
	job, ok := valueOf(f.TrainJob).(*trainer.TrainJob)
	if !ok {
		return nil, nil // reported on reading
	}
	j := workspace.Job{TrainJob: job, Document: f.TrainJob.Document}
	found, made := pipeline.TrainJob(d.Input, j, render.Options{OnConflict: render.Last})
	if made.JobSet == nil {
		return nil, found.Where(func(f finding.Finding) bool {
			return f.Severity >= finding.Error
		})
	}
	made.JobSet.Namespace = job.Namespace
	if err := observed.Assume(context.Background(), j.Release(), made.JobSet); err != nil {
		return nil, finding.List{{
			Code: codes.WrongType, Severity: finding.Error, Object: f.ID,
			Position: f.TrainJob.Position(nil),
			Message:  err.Error(),
			Remedy:   finding.Remedy{Text: "read the object with kubectl get -o yaml"},
		}}
	}
	return observed, nil
}

// Unknown warns of the fields of the live JobSet that the release does not know.
func (f *Family) Unknown(second *admission.Second) (found finding.List) {
	if second == nil {
		return nil
	}
	for _, unknown := range second.Unknown {
		unknown.Severity, unknown.Position = finding.Warning, f.JobSet.Position(unknown.Path)
		unknown.Message += ": the dump is of another release"
		unknown.Remedy.Text = "name the release of the cluster with --trainer-version"
		found = append(found, unknown)
	}
	return found
}

func isOver(o *Object) bool {
	job, ok := o.Value.(*trainer.TrainJob)
	if !ok {
		return false
	}
	failed := meta.FindStatusCondition(job.Status.Conditions, trainer.TrainJobFailed)
	late := failed != nil && failed.Status == metav1.ConditionTrue &&
		failed.Reason == trainer.TrainJobDeadlineExceededReason
	return late || meta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobComplete)
}

// UnreadWorkloads warns of the Workloads of the dump, since a prediction starts from the TrainJob's
// own patches. One may belong to another object, or to an earlier TrainJob of the name.
func (d *Dump) UnreadWorkloads() (found finding.List) {
	for _, w := range d.Workloads {
		id := d.Input.ID(w)
		f := finding.Finding{
			Code: codes.NotAdmitted, Severity: finding.Warning, Object: id,
			Path:    fieldpath.Fields("metadata", "ownerReferences"),
			Message: "the Workload is not read: the patches of the TrainJob decide",
			Remedy: finding.Remedy{
				Text: "render the TrainJob with the ResourceFlavors to see its admission"},
		}
		f.Position = w.Position(f.Path)
		if !d.owns(id.Namespace, w) {
			f.Message, f.Remedy.Text = "the dump lacks the TrainJob of the Workload",
				"add the TrainJob to the dump"
		}
		found = append(found, f)
	}
	return found
}

// owns reports whether a TrainJob of the dump owns a Workload.
func (d *Dump) owns(namespace string, w *manifest.Document) bool {
	fields, err := w.Fields()
	if err != nil {
		return false
	}
	metadata, _ := fields["metadata"].(map[string]any)
	refs, _ := metadata["ownerReferences"].([]any)
	return slices.ContainsFunc(refs, func(ref any) bool {
		owner, _ := ref.(map[string]any)
		name, _ := owner["name"].(string)
		f := d.families[fieldpath.Object{Kind: trainer.TrainJobKind, Namespace: namespace,
			Name: name}]
		return owner["kind"] == trainer.TrainJobKind && f != nil && f.TrainJob != nil &&
			owner["uid"] == string(f.TrainJob.Value.GetUID())
	})
}

// Keep gives the input of the new state the runtimes of the old one: the snapshots, from which the
// Trainer renders a TrainJob that exists, and runtimes that the new state lacks. The old state has
// the runtimes of the new one that it lacks.
func (d *Dump) Keep(in *workspace.Input) {
	in.Beside(d.Input.Catalog, d.Live)
	d.Input.Beside(in.Catalog, true)
	for _, f := range d.Families {
		if job, ok := valueOf(f.TrainJob).(*trainer.TrainJob); ok && !d.Live {
			if source := d.Input.SourceOf(
				workspace.Job{TrainJob: job, Document: f.TrainJob.Document}); source != nil &&
				!source.Stock {
				in.KeepFor(f.ID, source)
			}
		}
	}
	in.KeepSnapshots(d.Input.Catalog)
	for _, document := range d.snapshots {
		if _, _, err := manifest.Snapshot(document.Object.(*corev1.ConfigMap)); err != nil {
			in.Add(document, false) // to report it
		}
	}
}

// valueOf returns the value of an object, or nil for a missing or a broken one.
func valueOf(o *Object) metav1.Object {
	if o == nil || o.Broken {
		return nil
	}
	return o.Value
}

// familyFor returns the family of a TrainJob, or nil, and findings on its missing objects.
func (d *Dump) familyFor(id fieldpath.Object) (*Family, finding.List) {
	f := d.families[id]
	lacking := func(message, help string) (*Family, finding.List) {
		return f, finding.List{{
			Code: codes.UnknownOldObject, Severity: finding.Warning, Object: id,
			Position: fieldpath.Position{File: d.file},
			Message:  message, Remedy: finding.Remedy{Text: help},
		}}
	}
	const whole = "dump trainjobs,jobsets,jobs,pods,configmaps of its namespace"
	switch {
	case f == nil || f.TrainJob == nil && f.JobSet == nil:
		if f = nil; !d.Live {
			return nil, nil // it is created
		}
		return lacking("the dump lacks the TrainJob, and its objects count as new",
			whole+", or leave the TrainJob out")
	case len(f.Duplicates) > 0:
		var found finding.List
		for _, o := range f.Duplicates {
			at := fieldpath.Fields("metadata", "name")
			found = append(found, finding.Finding{
				Code: codes.UnknownOldObject, Severity: finding.Error, Object: o.ID, Path: at,
				Position: o.Position(at),
				Message: fmt.Sprintf("Duplicate value: the dump holds more than one %s of %s",
					o.ID.Kind, id), Remedy: finding.Remedy{Text: "use one dump of one cluster"},
			})
		}
		return f, found
	case f.TrainJob == nil:
		return lacking("the dump has objects of the TrainJob, and lacks the TrainJob itself", whole)
	case f.JobSet != nil && !d.Kinds[jobKind]:
		return lacking("the dump holds no Job, and Jobs of the JobSet count as new", whole)
	}
	return f, nil
}
