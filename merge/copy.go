package merge

import (
	"maps"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// copyTemplate sets dst to a deep copy of the template in which the lists and maps that patches mostly
// add to have room for that. Everything else is left to the generated DeepCopyInto.
func (m *merger) copyTemplate(dst, src *trainer.JobSetTemplateSpec, more *additions) {
	copyMetadata(&dst.ObjectMeta, &src.ObjectMeta, more.metadata)
	spec := src.Spec
	spec.ReplicatedJobs = nil
	spec.DeepCopyInto(&dst.Spec)
	if src.Spec.ReplicatedJobs == nil {
		return
	}
	dst.Spec.ReplicatedJobs = make([]jobset.ReplicatedJob, len(src.Spec.ReplicatedJobs))
	for i := range src.Spec.ReplicatedJobs {
		m.copyJob(&dst.Spec.ReplicatedJobs[i], &src.Spec.ReplicatedJobs[i], &more.jobs[i])
	}
}

func (m *merger) copyJob(dst, src *jobset.ReplicatedJob, more *jobAdditions) {
	if !more.named {
		src.DeepCopyInto(dst)
		return
	}
	rest := *src
	template := &rest.Template.Spec.Template
	template.ObjectMeta = metav1.ObjectMeta{}
	pod := &template.Spec
	pod.NodeSelector, pod.Volumes, pod.SchedulingGates, pod.Containers, pod.InitContainers = nil, nil, nil, nil, nil
	rest.DeepCopyInto(dst)

	from, to := &src.Template.Spec.Template, &dst.Template.Spec.Template
	copyMetadata(&to.ObjectMeta, &from.ObjectMeta, more.podMetadata)
	to.Spec.NodeSelector = copyMap(from.Spec.NodeSelector, more.nodeSelector)
	to.Spec.Volumes = copyList(&m.fronts.volumes, from.Spec.Volumes, more.volumes)
	to.Spec.SchedulingGates = copyList(&m.fronts.gates, from.Spec.SchedulingGates, more.gates)
	to.Spec.InitContainers = m.copyContainers(from.Spec.InitContainers, more.inits)
	to.Spec.Containers = m.copyContainers(from.Spec.Containers, more.containers)
}

func (m *merger) copyContainers(src []corev1.Container, more []containerAdditions) []corev1.Container {
	if src == nil {
		return nil
	}
	dst := make([]corev1.Container, len(src))
	for i := range src {
		if !more[i].named {
			src[i].DeepCopyInto(&dst[i])
			continue
		}
		rest := src[i]
		rest.Env, rest.VolumeMounts = nil, nil
		rest.DeepCopyInto(&dst[i])
		dst[i].Env = copyList(&m.fronts.variables, src[i].Env, more[i].variables)
		dst[i].VolumeMounts = copyList(&m.fronts.mounts, src[i].VolumeMounts, more[i].mounts)
	}
	return dst
}

// copyList copies a list, with room in front of it for more items.
func copyList[T any, P deepCopier[T]](fronts *fronts[T], src []T, more int) []T {
	if src == nil {
		return nil
	}
	room := min(more, max(listRoom, len(src)))
	memory := make([]T, room+len(src))
	dst := memory[room:]
	for i := range src {
		P(&src[i]).DeepCopyInto(&dst[i])
	}
	if room > 0 {
		fronts.add(front[T]{memory: memory, room: room})
	}
	return dst
}

// deepCopier is a type with a generated copy.
type deepCopier[T any] interface {
	*T
	DeepCopyInto(*T)
}

func copyMetadata(dst, src *metav1.ObjectMeta, more metadataAdditions) {
	rest := *src
	rest.Labels, rest.Annotations = nil, nil
	rest.DeepCopyInto(dst)
	dst.Labels = copyMap(src.Labels, more.labels)
	dst.Annotations = copyMap(src.Annotations, more.annotations)
}

// copyMap copies a map, and makes room for more entries.
func copyMap(src map[string]string, more int) map[string]string {
	if src == nil {
		return nil
	}
	dst := make(map[string]string, len(src)+min(more, max(mapRoom, len(src))))
	maps.Copy(dst, src)
	return dst
}
