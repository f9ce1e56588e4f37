// Package defaults fills in the fields that a cluster fills in.
//
// JobSetSpec sets the defaults that decide which children a JobSet has. PodTemplate and its parts
// follow the definition of JobSet v0.12.0 (config/components/crd). Companion sets the defaults of
// the JobSet's companions. Each function writes only empty fields.
//
// Its first file to read is defaults.go.
package defaults

import (
	"fmt"
	"iter"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/release"
)

// JobSetSpec fills in the defaults that decide which children a JobSet has. Within Pod templates,
// it fills in only the restart policy, whose default differs from all other workloads. It removes
// the fields that the JobSet of the release lacks.
func JobSetSpec(spec *jobset.JobSetSpec, behaviour release.JobSet) {
	Known(spec, behaviour)
	for i := range spec.ReplicatedJobs {
		rjob := &spec.ReplicatedJobs[i]
		Set(&rjob.Replicas, 1)
		if behaviour.GroupLabels {
			Set(&rjob.GroupName, "default")
		}
		SetPointer(&rjob.Template.Spec.CompletionMode, batchv1.IndexedCompletion)
		Set(&rjob.Template.Spec.Template.Spec.RestartPolicy, corev1.RestartPolicyOnFailure)
	}
	SetPointer(&spec.SuccessPolicy, jobset.SuccessPolicy{Operator: jobset.OperatorAll})
	SetPointer(&spec.StartupPolicy, jobset.StartupPolicy{StartupPolicyOrder: jobset.AnyOrder})
	SetPointer(&spec.Network, jobset.Network{})
	SetPointer(&spec.Network.EnableDNSHostnames, true)
	SetPointer(&spec.Network.PublishNotReadyAddresses, true)
	if policy := spec.FailurePolicy; policy != nil {
		Set(&policy.RestartStrategy, jobset.Recreate)
		for i := range policy.Rules {
			Set(&policy.Rules[i].Name, fmt.Sprintf("failurePolicyRule%d", i))
		}
	}
	for i := range spec.VolumeClaimPolicies {
		policy := &spec.VolumeClaimPolicies[i]
		SetPointer(&policy.RetentionPolicy, jobset.VolumeRetentionPolicy{})
		SetPointer(&policy.RetentionPolicy.WhenDeleted, jobset.RetentionPolicyDelete)
	}
}

// Known removes the fields that the JobSet of a release lacks: groups before 0.9, and claims before
// 0.11.
func Known(spec *jobset.JobSetSpec, behaviour release.JobSet) {
	if !behaviour.Claims {
		spec.VolumeClaimPolicies = nil
	}
	for i := range spec.ReplicatedJobs {
		if !behaviour.GroupLabels {
			spec.ReplicatedJobs[i].GroupName = ""
		}
	}
}

// PodTemplate fills in the JobSet CRD's defaults within a Pod template, except the ports' protocol.
// The Job API sets the same protocol. PodTemplate skips defaults of "" on plain strings: the Go
// types do not encode them.
func PodTemplate(spec *corev1.PodSpec) {
	for _, container := range Containers(spec) {
		defaultContainer(container)
	}
	for i := range spec.Volumes {
		VolumeSource(&spec.Volumes[i].VolumeSource, nil)
	}
}

func defaultContainer(container *corev1.Container) {
	Env(container.Env)
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe,
		container.StartupProbe} {
		if probe != nil && probe.GRPC != nil {
			SetPointer(&probe.GRPC.Service, "")
		}
	}
}

// PortProtocols fills in the protocol of ports. It skips a port whose object has an explicit empty
// protocol; at is the path of the Pod's spec.
func PortProtocols(spec *corev1.PodSpec, at fieldpath.Path, written func(fieldpath.Path) bool) {
	for list, container := range Containers(spec) {
		for i := range container.Ports {
			port := &container.Ports[i]
			isWritten := port.Protocol == "" && written != nil &&
				written(at.Append(fieldpath.Field(list), fieldpath.Item("name", container.Name),
					fieldpath.Field("ports"), fieldpath.Index(i), fieldpath.Field("protocol")))
			if !isWritten {
				Set(&port.Protocol, corev1.ProtocolTCP)
			}
		}
	}
}

// Containers yields all containers of a Pod, each with the name of its list. An ephemeral container
// has the fields of any other container.
func Containers(spec *corev1.PodSpec) iter.Seq2[string, *corev1.Container] {
	return func(yield func(string, *corev1.Container) bool) {
		for i := range spec.InitContainers {
			if !yield("initContainers", &spec.InitContainers[i]) {
				return
			}
		}
		for i := range spec.Containers {
			if !yield("containers", &spec.Containers[i]) {
				return
			}
		}
		for i := range spec.EphemeralContainers {
			if !yield("ephemeralContainers",
				(*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)) {
				return
			}
		}
	}
}

// VolumeSource fills in the defaults of a volume source. It skips an explicit empty string: written
// reports whether the volume has a field. A nil written means that none is explicit.
func VolumeSource(source *corev1.VolumeSource, written func(names ...string) bool) {
	set := func(field *string, value string, names ...string) {
		if *field == "" && (written == nil || !written(names...)) {
			*field = value
		}
	}
	if disk := source.AzureDisk; disk != nil {
		SetPointer(&disk.FSType, "ext4")
		SetPointer(&disk.ReadOnly, false)
	}
	if iscsi := source.ISCSI; iscsi != nil {
		set(&iscsi.ISCSIInterface, "default", "iscsi", "iscsiInterface")
	}
	if rbd := source.RBD; rbd != nil {
		set(&rbd.Keyring, "/etc/ceph/keyring", "rbd", "keyring")
		set(&rbd.RBDPool, "rbd", "rbd", "pool")
		set(&rbd.RadosUser, "admin", "rbd", "user")
	}
	if scaleIO := source.ScaleIO; scaleIO != nil {
		set(&scaleIO.FSType, "xfs", "scaleIO", "fsType")
		set(&scaleIO.StorageMode, "ThinProvisioned", "scaleIO", "storageMode")
	}
}

func Set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func SetPointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func Env(env []corev1.EnvVar) {
	for i := range env {
		if from := env[i].ValueFrom; from != nil && from.FileKeyRef != nil {
			SetPointer(&from.FileKeyRef.Optional, false)
		}
	}
}
