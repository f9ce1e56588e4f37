package children

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EphemeralClaims returns the claims of one Pod's generic ephemeral volumes, see render.EphemeralClaims (Kubernetes
// v1.36.3 pkg/controller/volume/ephemeral).
func EphemeralClaims(pod *corev1.Pod, suffix string) []*corev1.PersistentVolumeClaim {
	if pod == nil {
		return nil
	}
	name := pod.Name
	if name == "" {
		name = pod.GenerateName + suffix
	}
	var claims []*corev1.PersistentVolumeClaim
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.Ephemeral == nil || volume.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		template := volume.Ephemeral.VolumeClaimTemplate
		claim := &corev1.PersistentVolumeClaim{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: metav1.ObjectMeta{
				Name:        name + "-" + volume.Name,
				Namespace:   pod.Namespace,
				Labels:      template.Labels,
				Annotations: template.Annotations,
			},
			Spec: template.Spec,
		}
		storeClaim(&claim.Spec)
		if len(pod.OwnerReferences) > 0 {
			claim.OwnerReferences = controlledBy("v1", "Pod", name, pod.UID)
		}
		claims = append(claims, claim)
	}
	return claims
}
