package render

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/render/internal/patched"
)

// prune removes metadata fields from patches that the TrainJob CRD does not have. The Go type has
// all metadata fields of an object. The schema keeps only labels, annotations, finalizers, name and
// namespace (controller-gen's generateEmbeddedObjectMeta). Package check has already warned of the
// other fields. The result is the patches themselves if there is nothing to remove, and else a
// copy.
func prune(patches []trainer.RuntimePatch) []trainer.RuntimePatch {
	pruned := patches
	for i := range patches {
		needed := false
		eachMetadata(&patches[i], func(m *metav1.ObjectMeta) { needed = needed || hasDropped(m) })
		if !needed {
			continue
		}
		if &pruned[0] == &patches[0] {
			pruned = append([]trainer.RuntimePatch{}, patches...)
		}
		pruned[i] = *patches[i].DeepCopy()
		eachMetadata(&pruned[i], func(m *metav1.ObjectMeta) { *m = kept(m) })
	}
	return pruned
}

// hasDropped reports whether metadata holds a field that prune removes, even an empty list.
func hasDropped(m *metav1.ObjectMeta) bool {
	//lint:ignore SA1019 SelfLink is a field of the type still, and a patch may hold it.
	return m.GenerateName != "" || m.SelfLink != "" || m.UID != "" || m.ResourceVersion != "" ||
		m.Generation != 0 ||
		m.CreationTimestamp != metav1.Time{} || m.DeletionTimestamp != nil ||
		m.DeletionGracePeriodSeconds != nil ||
		m.OwnerReferences != nil || m.ManagedFields != nil
}

func kept(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, Annotations: m.Annotations,
		Finalizers: m.Finalizers,
	}
}

func eachMetadata(patch *trainer.RuntimePatch, visit func(*metav1.ObjectMeta)) {
	call := func(m *metav1.ObjectMeta) {
		if m != nil {
			visit(m)
		}
	}
	if patch.TrainingRuntimeSpec == nil || patch.TrainingRuntimeSpec.Template == nil {
		return
	}
	call(patch.TrainingRuntimeSpec.Template.Metadata)
	for _, job := range patched.Jobs(patch) {
		if job.Template == nil {
			continue
		}
		call(job.Template.Metadata)
		if job.Template.Spec != nil && job.Template.Spec.Template != nil {
			call(job.Template.Spec.Template.Metadata)
		}
	}
}
