package render

import (
	"fmt"
	"iter"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
)

// DefaultJobSet returns a copy of the JobSet with everything filled in that the cluster fills in
// when the JobSet is created: first what its CRD defaults, then what its mutating webhook does
// (JobSet v0.12.0 config/components/crd and pkg/webhooks). It does not change js.
//
// The Go types cannot tell an explicit `replicas: 0` or `groupName: ""` from an absent one, so both
// become the default. A JobSet that is defaulted already comes back equal.
func DefaultJobSet(js *jobset.JobSet) *jobset.JobSet {
	if js == nil {
		js = &jobset.JobSet{}
	}
	js = js.DeepCopy()
	js.APIVersion, js.Kind = jobset.SchemeGroupVersion.String(), "JobSet"
	defaultJobSetSpec(&js.Spec)
	for i := range js.Spec.ReplicatedJobs {
		spec := &js.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec
		defaultPodTemplate(spec)
		defaultPortProtocols(spec, nil, nil)
	}
	return js
}

// defaultJobSetSpec fills in what decides which children a JobSet has. It leaves the Pod templates'
// insides alone, but for the restart policy, where JobSet differs from every other workload.
func defaultJobSetSpec(spec *jobset.JobSetSpec) {
	for i := range spec.ReplicatedJobs {
		rjob := &spec.ReplicatedJobs[i]
		setDefault(&rjob.Replicas, 1)
		setDefault(&rjob.GroupName, "default")
		setDefaultPointer(&rjob.Template.Spec.CompletionMode, batchv1.IndexedCompletion)
		setDefault(&rjob.Template.Spec.Template.Spec.RestartPolicy, corev1.RestartPolicyOnFailure)
	}
	setDefaultPointer(&spec.SuccessPolicy, jobset.SuccessPolicy{Operator: jobset.OperatorAll})
	setDefaultPointer(&spec.StartupPolicy, jobset.StartupPolicy{StartupPolicyOrder: jobset.AnyOrder})
	setDefaultPointer(&spec.Network, jobset.Network{})
	setDefaultPointer(&spec.Network.EnableDNSHostnames, true)
	setDefaultPointer(&spec.Network.PublishNotReadyAddresses, true)
	if policy := spec.FailurePolicy; policy != nil {
		setDefault(&policy.RestartStrategy, jobset.Recreate)
		for i := range policy.Rules {
			setDefault(&policy.Rules[i].Name, fmt.Sprintf("failurePolicyRule%d", i))
		}
	}
	for i := range spec.VolumeClaimPolicies {
		policy := &spec.VolumeClaimPolicies[i]
		setDefaultPointer(&policy.RetentionPolicy, jobset.VolumeRetentionPolicy{})
		setDefaultPointer(&policy.RetentionPolicy.WhenDeleted, jobset.RetentionPolicyDelete)
	}
}

// defaultPodTemplate fills in what the JobSet CRD defaults within a Pod template, except the ports'
// protocol, which the Job API would fill in just so. Defaults of "" on plain strings are left out:
// the Go types do not write them.
func defaultPodTemplate(spec *corev1.PodSpec) {
	for _, container := range podContainers(spec) {
		defaultContainer(container)
	}
	for i := range spec.Volumes {
		defaultVolumeSource(&spec.Volumes[i].VolumeSource)
	}
}

func defaultContainer(container *corev1.Container) {
	for _, env := range container.Env {
		if env.ValueFrom != nil && env.ValueFrom.FileKeyRef != nil {
			setDefaultPointer(&env.ValueFrom.FileKeyRef.Optional, false)
		}
	}
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
		if probe != nil && probe.GRPC != nil {
			setDefaultPointer(&probe.GRPC.Service, "")
		}
	}
}

// defaultPortProtocols fills in the protocol of ports, but for those of a Pod at a path whose empty protocol is written.
func defaultPortProtocols(spec *corev1.PodSpec, at fieldpath.Path, written func(fieldpath.Path) bool) {
	for list, container := range podContainers(spec) {
		for i := range container.Ports {
			port := &container.Ports[i]
			isWritten := port.Protocol == "" && written != nil &&
				written(at.Append(fieldpath.Field(list), fieldpath.Item("name", container.Name), fieldpath.Field("ports"), fieldpath.Index(i), fieldpath.Field("protocol")))
			if !isWritten {
				setDefault(&port.Protocol, corev1.ProtocolTCP)
			}
		}
	}
}

// podContainers yields all containers of a Pod, each with the name of its list: an ephemeral container has the fields of any other.
func podContainers(spec *corev1.PodSpec) iter.Seq2[string, *corev1.Container] {
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
			if !yield("ephemeralContainers", (*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)) {
				return
			}
		}
	}
}

func defaultVolumeSource(source *corev1.VolumeSource) {
	if disk := source.AzureDisk; disk != nil {
		setDefaultPointer(&disk.FSType, "ext4")
		setDefaultPointer(&disk.ReadOnly, false)
	}
	if iscsi := source.ISCSI; iscsi != nil {
		setDefault(&iscsi.ISCSIInterface, "default")
	}
	if rbd := source.RBD; rbd != nil {
		setDefault(&rbd.Keyring, "/etc/ceph/keyring")
		setDefault(&rbd.RBDPool, "rbd")
		setDefault(&rbd.RadosUser, "admin")
	}
	if scaleIO := source.ScaleIO; scaleIO != nil {
		setDefault(&scaleIO.FSType, "xfs")
		setDefault(&scaleIO.StorageMode, "ThinProvisioned")
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func setDefaultPointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
