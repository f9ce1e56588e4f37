package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// workload has the fields of a Kueue Workload that this program reads.
type workload struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Conditions []metav1.Condition `json:"conditions"`
		Admission  *struct {
			PodSetAssignments []struct {
				Name               string            `json:"name"`
				Flavors            map[string]string `json:"flavors"` // by resource
				TopologyAssignment map[string]any    `json:"topologyAssignment"`
			} `json:"podSetAssignments"`
		} `json:"admission"`
	} `json:"status"`
}

// flavor has the fields of a Kueue ResourceFlavor that this program reads.
type flavor struct {
	Spec struct {
		NodeLabels  map[string]string   `json:"nodeLabels"`
		Tolerations []corev1.Toleration `json:"tolerations"`
	} `json:"spec"`
}

// podSet is the admission of the Pods of one replicated job.
type podSet struct {
	name        string
	workload    string
	hasTopology bool // whether Kueue assigns each Pod a place in the topology
	nodeLabels  map[string]string
	tolerations []corev1.Toleration
}

func (w *workload) isAdmitted() bool {
	return w.Status.Admission != nil &&
		meta.IsStatusConditionTrue(w.Status.Conditions, "Admitted") &&
		!meta.IsStatusConditionTrue(w.Status.Conditions, "Evicted")
}

// workloadOf returns the Workload that a TrainJob controls, or nil.
func (r *reconciler) workloadOf(ctx context.Context,
	job *unstructured.Unstructured) (*workload, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(workloadKind.GroupVersion().WithKind(workloadKind.Kind + "List"))
	if err := r.client.List(ctx, list, client.InNamespace(job.GetNamespace())); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], job) {
			w := &workload{}
			return w, runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, w)
		}
	}
	return nil, nil
}

// podSets returns the admission of each replicated job, with the fields of its flavors.
func (r *reconciler) podSets(ctx context.Context, w *workload) ([]podSet, error) {
	var sets []podSet
	for _, a := range w.Status.Admission.PodSetAssignments {
		set := podSet{name: a.Name, workload: w.Name, hasTopology: a.TopologyAssignment != nil,
			nodeLabels: map[string]string{}}
		names := slices.Sorted(maps.Values(a.Flavors))
		for _, name := range slices.Compact(names) {
			object, f := objectOf(flavorKind), &flavor{}
			if err := r.client.Get(ctx, client.ObjectKey{Name: name}, object); err != nil {
				return nil, fmt.Errorf("get ResourceFlavor %s: %w", name, err)
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object,
				f); err != nil {
				return nil, err
			}
			maps.Copy(set.nodeLabels, f.Spec.NodeLabels)
			set.tolerations = append(set.tolerations, f.Spec.Tolerations...)
		}
		sets = append(sets, set)
	}
	return sets, nil
}
