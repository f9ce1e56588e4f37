package children

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render/release/minor"
)

// Claims returns the volume claims that all Pods of the JobSet share. A retained claim has no
// owner, so that it outlives the JobSet. Of the template's metadata, only labels and annotations
// reach the claim.
func (f *Family) Claims() []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	for _, policy := range f.Spec.VolumeClaimPolicies {
		for _, template := range policy.Templates {
			claim := newClaim(f.claimName(template.Name), f.Namespace, template.ObjectMeta,
				template.Spec)
			claim.Labels = overlay(template.Labels, map[string]string{jobset.JobSetNameKey: f.Name})
			if f.opts.Stored {
				storeClaim(&claim.Spec, f.opts.Release.Kubernetes)
			}
			if *policy.RetentionPolicy.WhenDeleted == jobset.RetentionPolicyDelete {
				claim.OwnerReferences = f.owner()
			}
			claims = append(claims, claim)
		}
	}
	return claims
}

// newClaim returns a claim with the labels and annotations of a template.
func newClaim(name, namespace string, template metav1.ObjectMeta,
	spec corev1.PersistentVolumeClaimSpec) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: template.Labels,
			Annotations: template.Annotations},
		Spec: spec,
	}
}

func (f *Family) claimName(template string) string { return template + "-" + f.Name }

// claimVolumes returns the volumes for the claims that a container of the Pod mounts. A mount names
// the template of the claim.
func (f *Family) claimVolumes(pod *corev1.PodSpec) []corev1.Volume {
	mounted := map[string]bool{}
	for mount := range volumeMounts(pod) {
		mounted[mount.Name] = true
	}
	var volumes []corev1.Volume
	for _, policy := range f.Spec.VolumeClaimPolicies {
		for _, template := range policy.Templates {
			if !mounted[template.Name] {
				continue
			}
			volumes = append(volumes, corev1.Volume{
				Name: template.Name,
				VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
						ClaimName: f.claimName(template.Name)},
				},
			})
		}
	}
	return volumes
}

// volumeMounts yields the mounts of the init containers and containers.
func volumeMounts(pod *corev1.PodSpec) iter.Seq[*corev1.VolumeMount] {
	return func(yield func(*corev1.VolumeMount) bool) {
		for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
			for i := range containers {
				for j := range containers[i].VolumeMounts {
					if !yield(&containers[i].VolumeMounts[j]) {
						return
					}
				}
			}
		}
	}
}

// EphemeralClaims returns the claims of one Pod's generic ephemeral volumes, see
// render.EphemeralClaims (Kubernetes v1.36.3 pkg/controller/volume/ephemeral).
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
		claim := newClaim(name+"-"+volume.Name, pod.Namespace, template.ObjectMeta, template.Spec)
		storeClaim(&claim.Spec, minor.Linked) // a stored Pod has dropped the fields already
		if len(pod.OwnerReferences) > 0 {
			claim.OwnerReferences = ControlledBy("v1", "Pod", name, pod.UID)
		}
		claims = append(claims, claim)
	}
	return claims
}
