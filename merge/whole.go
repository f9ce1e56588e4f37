package merge

import (
	corev1 "k8s.io/api/core/v1"
)

// The functions below set an empty item to a copy of a patch's, where a plain copy is known
// to be what merging field by field gives, and report whether they did. They are for what patches
// mostly add: most fields of these types are empty, and need not be looked at one by one.

func assign[T any](dst, src *T) bool {
	*dst = *src
	return true
}

func copyVariable(dst, src *corev1.EnvVar) bool {
	src.DeepCopyInto(dst)
	return true
}

func copyMount(dst, src *corev1.VolumeMount) bool {
	src.DeepCopyInto(dst)
	return true
}

// copyVolume leaves alone a source that holds a map or an empty list: a directive in a map is not
// copied, and a list without items is not said by JSON.
func copyVolume(dst, src *corev1.Volume) bool {
	other := src.VolumeSource
	other.EmptyDir, other.PersistentVolumeClaim, other.HostPath, other.NFS, other.Image = nil, nil, nil, nil, nil
	if other.Secret != nil && !isEmptyList(other.Secret.Items) {
		other.Secret = nil
	}
	if other.ConfigMap != nil && !isEmptyList(other.ConfigMap.Items) {
		other.ConfigMap = nil
	}
	if other != (corev1.VolumeSource{}) {
		return false
	}
	src.DeepCopyInto(dst)
	return true
}

func isEmptyList[T any](list []T) bool { return list != nil && len(list) == 0 }
