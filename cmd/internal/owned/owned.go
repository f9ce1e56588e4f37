// Package owned finds the layers that own rendered objects other than the JobSet.
//
//	owners := owned.Children(out.JobSet, out.History, opts)
//	of, err := owners(pod)
package owned

import (
	"iter"
	"strings"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Companion returns the layer that makes a companion of a JobSet, and the field of the runtime for
// it. The spec may be nil.
func Companion(spec *trainer.TrainingRuntimeSpec,
	companion runtime.Object) (merge.Owner, fieldpath.Path) {
	policy := fieldpath.Fields("spec", "mlPolicy")
	switch gvk := companion.GetObjectKind().GroupVersionKind(); {
	case gvk.Kind == "PodGroup" && strings.Contains(gvk.Group, "volcano"):
		return runtimepatch.SchedulerLayer("volcano"),
			fieldpath.Fields("spec", "podGroupPolicy", "volcano")
	case gvk.Kind == "PodGroup":
		return runtimepatch.SchedulerLayer("coscheduling"),
			fieldpath.Fields("spec", "podGroupPolicy", "coscheduling")
	case spec == nil || spec.MLPolicy == nil:
	case spec.MLPolicy.MPI != nil:
		return runtimepatch.PolicyLayer("mpi"), policy.Append(fieldpath.Field("mpi"))
	case spec.MLPolicy.Flux != nil:
		return runtimepatch.PolicyLayer("flux"), policy.Append(fieldpath.Field("flux"))
	}
	return runtimepatch.RuntimeLayer, policy
}

// Children returns a function that returns the owners of an object that a controller makes of a
// JobSet. A JobSet of the input has no known owners, so the controllers own all fields.
func Children(js *jobset.JobSet, known *merge.History,
	opts render.JobsOptions) func(child any) (*diff.Owners, error) {
	ofChildren := sync.OnceValues(func() (*render.ChildOwners, error) {
		return render.OwnersOfChildren(js, known, opts)
	})
	return func(child any) (*diff.Owners, error) {
		job, isJob := child.(*batchv1.Job)
		pod, isPod := child.(*corev1.Pod)
		switch {
		case isPod && known == nil:
			return diff.OwnedBy(merge.Claim{Owner: runtimepatch.JobLayer}), nil
		case !isJob && !isPod || known == nil:
			return diff.OwnedBy(merge.Claim{Owner: runtimepatch.JobSetLayer}), nil
		}
		owners, err := ofChildren()
		if err != nil {
			return nil, err
		}
		var fields iter.Seq2[fieldpath.Path, []merge.Claim]
		if isJob {
			fields, err = owners.Job(job)
		} else {
			fields, err = owners.Pod(pod)
		}
		if err != nil {
			return nil, err
		}
		return diff.OwnersOfFields(fields), nil
	}
}
