package live

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// This file removes the fields of Jobs and Pods that admission plugins, the scheduler and controllers add in every cluster. A field
// that the rendering sets itself stays. The sources are Kubernetes v1.36.3 (plugin/pkg/admission) and JobSet v0.12.0
// (pkg/controllers).

// Admitted removes the fields of a live object that a cluster adds and the rendered object lacks. Both are results of [Plain].
func Admitted(live, rendered metav1.Object) {
	switch l := live.(type) {
	case *batchv1.Job:
		r, ok := rendered.(*batchv1.Job)
		if ok {
			pullPolicies(&l.Spec.Template.Spec, &r.Spec.Template.Spec)
		}
	case *corev1.Pod:
		if r, ok := rendered.(*corev1.Pod); ok {
			admittedPod(l, r)
			pullPolicies(&l.Spec, &r.Spec)
		}
	}
}

// tokenVolume and tokenMount are the volume of a service account's token, and its place in containers.
const (
	tokenVolume = "kube-api-access-"
	tokenMount  = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// priorityLabel has the value of a Pod's priority, which only the cluster knows of its own classes.
const priorityLabel = "jobset.sigs.k8s.io/priority"

func admittedPod(live, rendered *corev1.Pod) {
	l, r := &live.Spec, &rendered.Spec
	dropKeys(live.Labels, rendered.Labels, corev1.LabelTopologyZone, corev1.LabelTopologyRegion)
	if l.PriorityClassName != "" && l.PriorityClassName == r.PriorityClassName {
		dropKeys(live.Labels, rendered.Labels, priorityLabel)
		if r.Priority == nil {
			l.Priority = nil
		}
		if r.PreemptionPolicy == nil {
			l.PreemptionPolicy = nil
		}
	}
	if r.RuntimeClassName != nil && r.Overhead == nil {
		l.Overhead = nil
	}
	if r.ImagePullSecrets == nil {
		l.ImagePullSecrets = nil // those of the service account
	}
	// The followers of an exclusive leader go to its topology domain.
	dropKeys(l.NodeSelector, r.NodeSelector, rendered.Annotations[jobset.ExclusiveKey])
	if len(l.NodeSelector) == 0 {
		l.NodeSelector = nil
	}
	if len(live.Labels) == 0 {
		live.Labels = nil
	}
	l.Tolerations = slices.DeleteFunc(l.Tolerations, func(t corev1.Toleration) bool {
		return isNodeLifecycle(t) && !slices.ContainsFunc(r.Tolerations, func(own corev1.Toleration) bool { return own.MatchToleration(&t) })
	})
	if len(l.Tolerations) == 0 {
		l.Tolerations = nil
	}
	dropToken(l, r)
}

// dropKeys removes the entries of keys that the rendered map lacks.
func dropKeys(live, rendered map[string]string, keys ...string) {
	for _, key := range keys {
		if _, own := rendered[key]; !own {
			delete(live, key)
		}
	}
}

// isNodeLifecycle reports whether a toleration is one that every Pod gets for nodes that are not ready, or under pressure.
func isNodeLifecycle(t corev1.Toleration) bool {
	if t.Operator != corev1.TolerationOpExists {
		return false
	}
	switch t.Key {
	case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable:
		return t.Effect == corev1.TaintEffectNoExecute && t.TolerationSeconds != nil && *t.TolerationSeconds == 300
	case corev1.TaintNodeMemoryPressure:
		return t.Effect == corev1.TaintEffectNoSchedule && t.TolerationSeconds == nil
	default:
		return false
	}
}

// dropToken removes the volume of the service account's token and its mounts.
func dropToken(live, rendered *corev1.PodSpec) {
	var name string
	live.Volumes = slices.DeleteFunc(live.Volumes, func(v corev1.Volume) bool {
		added := strings.HasPrefix(v.Name, tokenVolume) && v.Projected != nil &&
			!slices.ContainsFunc(rendered.Volumes, func(own corev1.Volume) bool { return own.Name == v.Name })
		if added {
			name = v.Name
		}
		return added
	})
	if len(live.Volumes) == 0 {
		live.Volumes = nil
	}
	for _, containers := range [][]corev1.Container{live.InitContainers, live.Containers} {
		for i := range containers {
			c := &containers[i]
			c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return name != "" && m.Name == name && m.MountPath == tokenMount })
			if len(c.VolumeMounts) == 0 {
				c.VolumeMounts = nil
			}
		}
	}
}

// pullPolicies lets equal pull policies of different images look alike. Plain has removed a default, which follows the image.
func pullPolicies(live, rendered *corev1.PodSpec) {
	policyOf := func(c corev1.Container) corev1.PullPolicy {
		c = corev1.Container{Image: c.Image, ImagePullPolicy: c.ImagePullPolicy}
		defaults().Fill(&c)
		return c.ImagePullPolicy
	}
	for _, lists := range [][2][]corev1.Container{{live.InitContainers, rendered.InitContainers}, {live.Containers, rendered.Containers}} {
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
