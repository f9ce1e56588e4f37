package live

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/schema"
)

// This file removes the fields that every cluster fills in. A field that has its default equals a
// missing one. The sources are the defaults of Kubernetes v1.36.3 (pkg/apis/core/v1,
// pkg/apis/batch/v1 and pkg/registry/batch/job) and the Trainer's webhooks.

// Plain returns a copy of an object without its status, metadata that a cluster sets, and fields
// with default values. The rendered and the live object are comparable then. It returns objects of
// other kinds unchanged.
func Plain(object metav1.Object) metav1.Object {
	switch o := object.(type) {
	case *trainer.TrainJob:
		o = o.DeepCopy()
		o.Status = trainer.TrainJobStatus{}
		plainMeta(o)
		for i := range o.Spec.RuntimePatches {
			o.Spec.RuntimePatches[i].Time = nil // the webhook overrules the author's on each update
		}
		return o
	case *jobset.JobSet:
		o = o.DeepCopy()
		o.Status = jobset.JobSetStatus{}
		plainMeta(o)
		for i := range o.Spec.ReplicatedJobs {
			plainPodSpec(&o.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec)
		}
		defaults().Clear(o)
		return o
	case *batchv1.Job:
		o = o.DeepCopy()
		o.Status = batchv1.JobStatus{}
		plainMeta(o)
		plainSelector(&o.Spec)
		if o.Spec.Parallelism == nil && o.Spec.Completions == nil {
			o.Spec.Completions = new(int32(1))
		}
		if o.Spec.Parallelism == nil {
			o.Spec.Parallelism = new(int32(1))
		}
		plainPodSpec(&o.Spec.Template.Spec)
		plainMeta(&o.Spec.Template)
		defaults().Clear(o)
		return o
	case *corev1.Pod:
		o = o.DeepCopy()
		o.Status = corev1.PodStatus{}
		if o.GenerateName != "" {
			o.Name = ""
		}
		plainMeta(o)
		fillPodResources(o)
		plainPodSpec(&o.Spec)
		defaults().Clear(o)
		for i := range o.Spec.InitContainers {
			plainRequests(&o.Spec.InitContainers[i].Resources)
		}
		for i := range o.Spec.Containers {
			plainRequests(&o.Spec.Containers[i].Resources)
		}
		return o
	default:
		return object
	}
}

// restartAttempt counts the restarts of a JobSet on its Jobs and Pods.
const restartAttempt = "jobset.sigs.k8s.io/restart-attempt"

// plainMeta removes the metadata that the API server, the garbage collector, the Job controller and
// kubectl apply set.
func plainMeta(o metav1.Object) {
	o.SetUID("")
	o.SetResourceVersion("")
	o.SetGeneration(0)
	o.SetCreationTimestamp(metav1.Time{})
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	o.SetSelfLink("")
	o.SetManagedFields(nil)
	o.SetOwnerReferences(nil)
	o.SetFinalizers(
		removeValues(o.GetFinalizers(), batchv1.JobTrackingFinalizer,
			metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents))
	o.SetLabels(withoutKeys(o.GetLabels(), jobset.JobSetUIDKey, batchv1.ControllerUidLabel,
		"controller-uid", restartAttempt))
	o.SetAnnotations(
		withoutKeys(o.GetAnnotations(), jobset.JobSetUIDKey, corev1.LastAppliedConfigAnnotation,
			batchv1.JobIndexFailureCountAnnotation, restartAttempt))
}

func removeValues(list []string, values ...string) []string {
	list = slices.DeleteFunc(list, func(s string) bool { return slices.Contains(values, s) })
	if len(list) == 0 {
		return nil
	}
	return list
}

func withoutKeys(values map[string]string, keys ...string) map[string]string {
	for _, key := range keys {
		delete(values, key)
	}
	if len(values) == 0 {
		return nil
	}
	return values
}

// plainSelector removes the label that the API server adds to the selector of a Job. It keeps a
// selector that the Job itself brings.
func plainSelector(spec *batchv1.JobSpec) {
	if s := spec.Selector; s != nil && (spec.ManualSelector == nil || !*spec.ManualSelector) {
		s.MatchLabels = withoutKeys(s.MatchLabels, batchv1.ControllerUidLabel)
		if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			spec.Selector = nil
		}
	}
}

// defaults returns the defaults of the types in Jobs and Pods.
var defaults = sync.OnceValue(func() *schema.Defaults {
	return schema.PodRules(reflect.TypeFor[renderedKinds]()).Defaults
})

type renderedKinds struct {
	JobSet *jobset.JobSet
	Job    *batchv1.Job
	Pod    *corev1.Pod
}

// plainPodSpec removes what admission plugins and the scheduler set. A volume without a source is
// an empty directory.
func plainPodSpec(spec *corev1.PodSpec) {
	clearValue(&spec.ServiceAccountName, "default")
	spec.DeprecatedServiceAccount = ""
	clearPointer(&spec.PreemptionPolicy, corev1.PreemptLowerPriority)
	clearPointer(&spec.Priority, 0)
	spec.NodeName = ""
	for i := range spec.Volumes {
		if v := &spec.Volumes[i].VolumeSource; *v == (corev1.VolumeSource{}) {
			v.EmptyDir = &corev1.EmptyDirVolumeSource{}
		}
	}
}

// fillPodResources adds the resources of a Pod that follow from the resources of its containers. It
// changes only a Pod that has resources of its own. It adds these resources, since an author's
// value that equals a later default cannot be told from it. Both compared Pods get them, so that
// it adds those of all versions: the limits that follow from all containers are of 1.37.
func fillPodResources(pod *corev1.Pod) {
	own := pod.Spec.Resources
	if own == nil || len(own.Limits)+len(own.Requests) == 0 {
		return
	}
	defaulted := pod.DeepCopy()
	for _, containers := range [][]corev1.Container{
		defaulted.Spec.InitContainers, defaulted.Spec.Containers} {
		for i := range containers {
			fillMissing(&containers[i].Resources.Requests, containers[i].Resources.Limits,
				anyResource)
		}
	}
	isHuge := func(name corev1.ResourceName) bool {
		return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	}
	limits := resource.AggregateContainerLimits(defaulted, resource.PodResourcesOptions{})
	fillMissing(&own.Limits, limits, func(name corev1.ResourceName) bool {
		_, requested := own.Requests[name]
		return isHuge(name) && !requested
	})
	requests := resource.AggregateContainerRequests(defaulted, resource.PodResourcesOptions{})
	fillMissing(&own.Requests, requests, func(name corev1.ResourceName) bool {
		return resource.IsSupportedPodLevelResource(name) && !isHuge(name)
	})
	fillMissing(&own.Requests, own.Limits, resource.IsSupportedPodLevelResource)
	for name, request := range own.Requests {
		limit, ok := limits[name]
		if !ok || !resource.IsSupportedPodLevelResource(name) || !allLimit(&defaulted.Spec, name) {
			continue
		}
		if request.Cmp(limit) > 0 {
			limit = request
		}
		fillMissing(&own.Limits, corev1.ResourceList{name: limit}, anyResource)
	}
}

// allLimit reports whether each container of a Pod has a limit for a resource.
func allLimit(spec *corev1.PodSpec, name corev1.ResourceName) bool {
	return !slices.ContainsFunc(slices.Concat(spec.InitContainers, spec.Containers),
		func(c corev1.Container) bool {
			_, limited := c.Resources.Limits[name]
			return !limited
		}) && len(spec.EphemeralContainers) == 0
}

func anyResource(corev1.ResourceName) bool { return true }

// fillMissing copies the chosen resources that a list lacks.
func fillMissing(list *corev1.ResourceList, from corev1.ResourceList,
	chosen func(corev1.ResourceName) bool) {
	for name, quantity := range from {
		if _, ok := (*list)[name]; ok || !chosen(name) {
			continue
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = quantity
	}
}

// plainRequests removes the requests that equal the limits of a Pod's container. They are the
// default.
func plainRequests(r *corev1.ResourceRequirements) {
	for name, request := range r.Requests {
		if limit, ok := r.Limits[name]; ok && limit.Cmp(request) == 0 {
			delete(r.Requests, name)
		}
	}
	if len(r.Requests) == 0 {
		r.Requests = nil
	}
}

// clearValue clears a field that has its default.
func clearValue[T comparable](field *T, value T) {
	var zero T
	if *field == value {
		*field = zero
	}
}

// clearPointer clears an optional field that has its default.
func clearPointer[T comparable](field **T, value T) {
	if *field != nil && **field == value {
		*field = nil
	}
}
