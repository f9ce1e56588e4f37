package render

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainweld/trainweld/fieldpath"
)

// The defaults of the TrainJob CRD that a render can see (Trainer v2.3.0 manifests/base/crds).
const (
	trainerController = "trainer.kubeflow.org/trainjob-controller"
	trainerGroup      = "trainer.kubeflow.org"
)

// DefaultTrainJob fills in what the API server fills in when a TrainJob is stored, as far as it
// reaches a JobSet: suspend, managedBy, the group and kind of the runtime reference, and the defaults
// of volumes and variables in its patches. It changes the job that it is given.
func DefaultTrainJob(job *trainer.TrainJob) {
	if job == nil {
		return
	}
	spec := &job.Spec
	setDefaultPointer(&spec.Suspend, false)
	setDefaultPointer(&spec.ManagedBy, trainerController)
	setDefaultPointer(&spec.RuntimeRef.APIGroup, trainerGroup)
	setDefaultPointer(&spec.RuntimeRef.Kind, trainer.ClusterTrainingRuntimeKind)
	if spec.Trainer != nil {
		defaultEnv(spec.Trainer.Env)
	}
	if i := spec.Initializer; i != nil && i.Dataset != nil {
		defaultEnv(i.Dataset.Env)
	}
	if i := spec.Initializer; i != nil && i.Model != nil {
		defaultEnv(i.Model.Env)
	}
	DefaultPatches(spec.RuntimePatches)
}

// DefaultPatches fills in what the API server fills in within the patches of a TrainJob: the
// defaults of some volume sources. It changes the patches that it is given.
func DefaultPatches(patches []trainer.RuntimePatch) {
	for i := range patches {
		spec := patches[i].TrainingRuntimeSpec
		if spec == nil || spec.Template == nil || spec.Template.Spec == nil {
			continue
		}
		for j := range spec.Template.Spec.ReplicatedJobs {
			job := spec.Template.Spec.ReplicatedJobs[j].Template
			if job == nil || job.Spec == nil || job.Spec.Template == nil || job.Spec.Template.Spec == nil {
				continue
			}
			pod := job.Spec.Template.Spec
			for k := range pod.Volumes {
				defaultVolumeSource(&pod.Volumes[k].VolumeSource)
			}
			for _, list := range [][]trainer.ContainerPatch{pod.InitContainers, pod.Containers} {
				for k := range list {
					defaultEnv(list[k].Env)
				}
			}
		}
	}
}

// DefaultRuntime fills in what the API server fills in when a TrainingRuntime or a
// ClusterTrainingRuntime is stored. It changes the spec that it is given.
//
// A Go value cannot tell "replicas: 0" from no replicas at all, and the API server fills in only the
// latter. The same holds for an empty groupName and for an empty protocol of a port. written reports whether
// the object has a field; manifest.Document.Sets is one. Where it is nil, a zero counts as not written.
func DefaultRuntime(spec *trainer.TrainingRuntimeSpec, written func(fieldpath.Path) bool) {
	if spec == nil {
		return
	}
	template := &spec.Template.Spec
	jobs := fieldpath.Fields("spec", "template", "spec", "replicatedJobs")
	for i := range template.ReplicatedJobs {
		job := &template.ReplicatedJobs[i]
		if written == nil || job.Replicas != 0 || !written(jobs.Append(fieldpath.Item("name", job.Name), fieldpath.Field("replicas"))) {
			setDefault(&job.Replicas, 1)
		}
		if written == nil || job.GroupName != "" || !written(jobs.Append(fieldpath.Item("name", job.Name), fieldpath.Field("groupName"))) {
			setDefault(&job.GroupName, "default")
		}
		pod := &job.Template.Spec.Template.Spec
		defaultPodTemplate(pod)
		defaultPortProtocols(pod, jobs.Append(fieldpath.Item("name", job.Name)).Append(fieldpath.Fields("template", "spec", "template", "spec")...), written)
	}
	if template.FailurePolicy != nil {
		setDefault(&template.FailurePolicy.RestartStrategy, jobset.Recreate)
	}
	for i := range template.VolumeClaimPolicies {
		// Only within a retentionPolicy that is there: the JobSet webhook adds the policy itself.
		if policy := template.VolumeClaimPolicies[i].RetentionPolicy; policy != nil {
			setDefaultPointer(&policy.WhenDeleted, jobset.RetentionPolicyDelete)
		}
	}
	defaultMLPolicy(spec.MLPolicy)
	if policy := spec.PodGroupPolicy; policy != nil {
		if policy.Coscheduling != nil {
			setDefaultPointer(&policy.Coscheduling.ScheduleTimeoutSeconds, 60)
		}
		if policy.Volcano != nil && policy.Volcano.NetworkTopology != nil {
			setDefault(&policy.Volcano.NetworkTopology.Mode, volcano.HardNetworkTopologyMode)
			setDefaultPointer(&policy.Volcano.NetworkTopology.HighestTierAllowed, 1)
		}
	}
}

func defaultMLPolicy(policy *trainer.MLPolicy) {
	if policy == nil {
		return
	}
	if policy.MPI != nil {
		setDefaultPointer(&policy.MPI.NumProcPerNode, 1)
		setDefaultPointer(&policy.MPI.MPIImplementation, trainer.MPIImplementationOpenMPI)
		setDefaultPointer(&policy.MPI.SSHAuthMountPath, "/root/.ssh")
		setDefaultPointer(&policy.MPI.RunLauncherAsNode, false)
	}
	if policy.Flux != nil {
		setDefaultPointer(&policy.Flux.NumProcPerNode, 1)
	}
}

func defaultEnv(env []corev1.EnvVar) {
	for i := range env {
		if from := env[i].ValueFrom; from != nil && from.FileKeyRef != nil {
			setDefaultPointer(&from.FileKeyRef.Optional, false)
		}
	}
}
