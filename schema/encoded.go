package schema

import (
	"reflect"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// everyField is the set of fields of a struct of which nothing is known.
const everyField = ^fieldSet(0)

// fieldSet is a set of a Go struct's fields, by their index.
type fieldSet uint64

func (s fieldSet) has(index int) bool { return s>>index&1 != 0 }

// encodedFields are the fields of a struct that its JSON may hold: exactly those it does hold where the
// type is one of the large ones in which every patch leaves most fields empty, else all. It saves
// looking at each field by reflection, and a test holds it to what reflection says.
func encodedFields(v reflect.Value) fieldSet {
	switch s := v.Addr().Interface().(type) {
	case *metav1.ObjectMeta:
		return metadataFields(s)
	case *trainer.PodSpecPatch:
		return setOf(
			s.ServiceAccountName != nil, len(s.Volumes) > 0, len(s.InitContainers) > 0, len(s.Containers) > 0,
			len(s.ImagePullSecrets) > 0, s.SecurityContext != nil, len(s.NodeSelector) > 0, s.Affinity != nil,
			len(s.Tolerations) > 0, len(s.SchedulingGates) > 0, s.TerminationGracePeriodSeconds != nil,
		)
	case *trainer.ContainerPatch:
		return setOf(
			s.Name != "", len(s.Env) > 0, len(s.VolumeMounts) > 0, s.SecurityContext != nil,
		)
	case *corev1.PodSecurityContext:
		return setOf(
			s.SELinuxOptions != nil, s.WindowsOptions != nil, s.RunAsUser != nil, s.RunAsGroup != nil,
			s.RunAsNonRoot != nil, len(s.SupplementalGroups) > 0, s.SupplementalGroupsPolicy != nil,
			s.FSGroup != nil, len(s.Sysctls) > 0, s.FSGroupChangePolicy != nil, s.SeccompProfile != nil,
			s.AppArmorProfile != nil, s.SELinuxChangePolicy != nil,
		)
	case *corev1.SecurityContext:
		return setOf(
			s.Capabilities != nil, s.Privileged != nil, s.SELinuxOptions != nil, s.WindowsOptions != nil,
			s.RunAsUser != nil, s.RunAsGroup != nil, s.RunAsNonRoot != nil, s.ReadOnlyRootFilesystem != nil,
			s.AllowPrivilegeEscalation != nil, s.ProcMount != nil, s.SeccompProfile != nil,
			s.AppArmorProfile != nil,
		)
	case *corev1.VolumeMount:
		return setOf(
			true, s.ReadOnly, s.RecursiveReadOnly != nil, true, s.SubPath != "", s.MountPropagation != nil,
			s.SubPathExpr != "",
		)
	case *corev1.VolumeSource:
		return volumeSources(s)
	default:
		return everyField
	}
}

// labelsAndAnnotations are the fields of metadata that a patch is meant for.
const labelsAndAnnotations fieldSet = 1<<10 | 1<<11

func metadataFields(s *metav1.ObjectMeta) fieldSet {
	return setOf(
		//lint:ignore SA1019 SelfLink is a field of the type still, and a patch may hold it.
		s.Name != "", s.GenerateName != "", s.Namespace != "", s.SelfLink != "", s.UID != "",
		s.ResourceVersion != "", s.Generation != 0, !s.CreationTimestamp.IsZero(), s.DeletionTimestamp != nil,
		s.DeletionGracePeriodSeconds != nil, len(s.Labels) > 0, len(s.Annotations) > 0,
		len(s.OwnerReferences) > 0, len(s.Finalizers) > 0, len(s.ManagedFields) > 0,
	)
}

func volumeSources(s *corev1.VolumeSource) fieldSet {
	return setOf(
		s.HostPath != nil, s.EmptyDir != nil, s.GCEPersistentDisk != nil, s.AWSElasticBlockStore != nil,
		s.GitRepo != nil, s.Secret != nil, s.NFS != nil, s.ISCSI != nil, s.Glusterfs != nil,
		s.PersistentVolumeClaim != nil, s.RBD != nil, s.FlexVolume != nil, s.Cinder != nil, s.CephFS != nil,
		s.Flocker != nil, s.DownwardAPI != nil, s.FC != nil, s.AzureFile != nil, s.ConfigMap != nil,
		s.VsphereVolume != nil, s.Quobyte != nil, s.AzureDisk != nil, s.PhotonPersistentDisk != nil,
		s.Projected != nil, s.PortworxVolume != nil, s.ScaleIO != nil, s.StorageOS != nil, s.CSI != nil,
		s.Ephemeral != nil, s.Image != nil,
	)
}

// setOf is the set of the fields, in their order, for which a condition holds.
func setOf(conditions ...bool) fieldSet {
	var set fieldSet
	for i, holds := range conditions {
		if holds {
			set |= 1 << i
		}
	}
	return set
}
