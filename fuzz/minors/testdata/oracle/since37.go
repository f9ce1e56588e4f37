package main

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	jobutil "k8s.io/kubernetes/pkg/api/job"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
)

// The parts of the registry that 1.37 changed.

func preparePod(pod *core.Pod) {
	pod.Spec.DeprecatedServiceAccount = pod.Spec.ServiceAccountName // as admission sets both
	podutil.DefaultPodLevelResources(pod)
}

func prepareJob(job *batch.Job) { jobutil.DropDisabledFields(&job.Spec, nil) }

func validateJob(job *batch.Job, opts validation.JobValidationOptions) field.ErrorList {
	return validation.ValidateJobCreate(job, opts)
}

// declared returns the errors of the rules that the types declare, without those that only count.
func declared(scheme *runtime.Scheme, object runtime.Object) (found field.ErrorList) {
	group := schema.GroupVersion{Version: "v1"}
	if _, isJob := object.(*batch.Job); isJob {
		group.Group = "batch"
	}
	versioned, err := scheme.ConvertToVersion(object, group)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	options := map[string]bool{"WorkloadWithJob": false}
	for _, e := range scheme.Validate(context.Background(), options, versioned) {
		if !e.IsAlpha() {
			found = append(found, e)
		}
	}
	return found
}
