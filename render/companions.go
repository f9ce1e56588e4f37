package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/children"
	"github.com/trainweld/trainweld/render/internal/defaults"
	"github.com/trainweld/trainweld/render/mlpolicy"
)

// companions makes the companions of the JobSet, and adds defaults and owner references as the
// options ask.
func (r *renderer) companions(j *mlpolicy.Job, opts Options) {
	objects := mlpolicy.Companions(
		j, mlpolicy.Payload{Secrets: opts.Secrets, FluxTemplates: opts.FluxTemplates})
	slices.SortFunc(objects, func(a, b mlpolicy.Object) int {
		x, y := a.GetObjectKind().GroupVersionKind(), b.GetObjectKind().GroupVersionKind()
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(a.GetName(), b.GetName()),
			cmp.Compare(x.Group, y.Group))
	})
	if opts.As == Stored {
		r.out.JobSet = DefaultJobSetOf(r.release, r.out.JobSet)
		for _, object := range objects {
			defaults.Companion(object)
		}
	}
	if opts.OwnerReferences {
		r.ownerReferences(objects)
	}
	for _, object := range objects {
		r.out.Companions = append(r.out.Companions, object)
	}
}

// ownerReferences makes the TrainJob the owner of every object.
func (r *renderer) ownerReferences(objects []mlpolicy.Object) {
	job := r.in.TrainJob
	if job.UID == "" {
		r.report(finding.Finding{
			Code: codes.NoUID, Severity: finding.Warning, Object: r.trainJob(),
			Path:    fieldpath.Fields("metadata", "uid"),
			Message: "the TrainJob has no uid: the API server rejects its owner references",
			Remedy: finding.Remedy{
				Text: "remove the owner references"},
		})
	}
	for _, object := range append([]mlpolicy.Object{r.out.JobSet}, objects...) {
		object.SetOwnerReferences(
			children.ControlledBy(trainer.GroupVersion.String(), trainer.TrainJobKind, job.Name,
				job.UID))
	}
}

// checkManagers reports other controllers in managedBy, and a suspended TrainJob that can never be
// resumed.
func (r *renderer) checkManagers(merged *trainer.JobSetTemplateSpec) {
	spec := r.in.TrainJob.Spec
	if by := spec.ManagedBy; by != nil && *by != trainerController {
		f := finding.Finding{
			Code: codes.ManagedByOther, Severity: finding.Warning, Object: r.trainJob(),
			Path: fieldpath.Fields("spec", "managedBy"),
			Message: fmt.Sprintf("%q manages the TrainJob: the Trainer of this cluster ignores it",
				*by),
			Remedy: finding.Remedy{
				Text: "expect these objects in the cluster that the controller dispatches the " +
					"job to"},
		}
		if !r.release.ManagedBy {
			f.Message = fmt.Sprintf(
				"%q manages the TrainJob, but Trainer %s also creates its objects", *by,
				r.release.Name)
			f.Remedy.Text = "upgrade the Trainer to 2.3"
		}
		r.report(f)
	}
	if by := merged.Spec.ManagedBy; by != nil && *by != jobset.JobSetControllerName {
		r.report(finding.Finding{
			Code: codes.ManagedElsewhere, Severity: finding.Warning, Object: r.runtime(),
			Path: fieldpath.Fields("spec", "template", "spec", "managedBy"),
			Message: fmt.Sprintf(
				"%q manages the JobSet: the JobSet controller of this cluster ignores it", *by),
			Remedy: finding.Remedy{
				Text: "expect its Jobs and Pods in the cluster of that controller"},
		})
	}
	if spec.Suspend == nil || !*spec.Suspend {
		return
	}
	for i, claim := range merged.Spec.VolumeClaimPolicies {
		if claim.RetentionPolicy != nil {
			continue
		}
		// The JobSet webhook fills in the policy when the JobSet is created, but not when it is
		// applied again. The field is immutable, so every later apply fails, and the resume with
		// it.
		r.report(finding.Finding{
			Code: codes.NeverResumed, Severity: finding.Warning, Object: r.runtime(),
			Path: fieldpath.Fields("spec", "template", "spec", "volumeClaimPolicies").Append(
				fieldpath.Index(i), fieldpath.Field("retentionPolicy")),
			Message: fmt.Sprintf(
				"a suspended TrainJob of this runtime, such as %s, can never resume: JobSet's "+
					"webhook adds an immutable retentionPolicy, which the Trainer applies without",
				strings.TrimPrefix(r.trainJob().String(), trainer.TrainJobKind+" ")),
			Remedy: finding.Remedy{
				Do: finding.SetValue, Options: []string{"{whenDeleted: Delete}"}, IsCertain: true,
				Text: "set retentionPolicy: {whenDeleted: Delete} in the runtime",
			},
		})
	}
}
