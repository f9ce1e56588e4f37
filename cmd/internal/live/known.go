package live

import (
	"reflect"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
}

// plainPodSpec removes what admission plugins and the scheduler set. A volume without a source is
// an empty directory.
func plainPodSpec(spec *corev1.PodSpec) {
	if spec.ServiceAccountName == "default" {
		spec.ServiceAccountName = ""
	}
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

// clearPointer clears an optional field that has its default.
func clearPointer[T comparable](field **T, value T) {
	if *field != nil && **field == value {
		*field = nil
	}
}

// Admitted lets the defaults of different images look alike in a live Job and the rendered one.
// Both are results of [Plain].
func Admitted(live, rendered metav1.Object) {
	l, isJob := live.(*batchv1.Job)
	if r, isToo := rendered.(*batchv1.Job); isJob && isToo {
		pullPolicies(&l.Spec.Template.Spec, &r.Spec.Template.Spec)
	}
}

// pullPolicies lets equal pull policies of different images look alike. Plain has removed a
// default, which follows the image.
func pullPolicies(live, rendered *corev1.PodSpec) {
	policyOf := func(c corev1.Container) corev1.PullPolicy {
		c = corev1.Container{Image: c.Image, ImagePullPolicy: c.ImagePullPolicy}
		defaults().Fill(&c)
		return c.ImagePullPolicy
	}
	for _, lists := range [][2][]corev1.Container{{live.InitContainers, rendered.InitContainers},
		{live.Containers, rendered.Containers}} {
		for i := range lists[0] {
			l := &lists[0][i]
			for _, r := range lists[1] {
				if r.Name == l.Name && policyOf(r) == policyOf(*l) {
					l.ImagePullPolicy = r.ImagePullPolicy
				}
			}
		}
	}
}
