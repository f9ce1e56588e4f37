package main

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// joinTolerations adds to a patch the tolerations of the Pods as merged so far, of the runtime, of
// the other patches and of the flavors. The list is atomic: a patch with the flavors' tolerations
// alone drops all others. It adds nothing if the Pods have all of them.
func joinTolerations(patch *trainer.RuntimePatch, sets []podSet, others []trainer.RuntimePatch,
	merged, runtime *trainer.JobSetTemplateSpec) {
	for _, set := range sets {
		lists := [][]corev1.Toleration{podOf(merged, set.name).Spec.Tolerations,
			podOf(runtime, set.name).Spec.Tolerations}
		for i := range others {
			lists = append(lists, podIn(others[i].DeepCopy(), set.name).Tolerations)
		}
		joined := join(lists)
		for _, t := range set.tolerations { // one that the Pods have keeps its seconds
			if at(joined, t) < 0 {
				joined = append(joined, t)
			}
		}
		if !equality.Semantic.DeepEqual(joined, lists[0]) {
			podIn(patch, set.name).Tolerations = joined
		}
	}
}

// join returns each toleration once. Of two that differ in their seconds only, it takes the longer
// time. No seconds are the longest.
func join(lists [][]corev1.Toleration) (joined []corev1.Toleration) {
	for _, t := range slices.Concat(lists...) {
		if i := at(joined, t); i < 0 {
			joined = append(joined, t)
		} else if was := joined[i].TolerationSeconds; was != nil &&
			(t.TolerationSeconds == nil || *t.TolerationSeconds > *was) {
			joined[i].TolerationSeconds = t.TolerationSeconds
		}
	}
	return joined
}

// at returns the index of a toleration with any seconds, or -1.
func at(list []corev1.Toleration, t corev1.Toleration) int {
	return slices.IndexFunc(list, func(other corev1.Toleration) bool {
		return identity(t) == identity(other)
	})
}

// identity returns a toleration without its seconds. The default operator is Equal.
func identity(t corev1.Toleration) corev1.Toleration {
	t.TolerationSeconds = nil
	if t.Operator == "" {
		t.Operator = corev1.TolerationOpEqual
	}
	return t
}
