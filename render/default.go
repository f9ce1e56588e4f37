package render

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/internal/defaults"
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
	defaults.SetPointer(&spec.Suspend, false)
	defaults.SetPointer(&spec.ManagedBy, trainerController)
	defaults.SetPointer(&spec.RuntimeRef.APIGroup, trainerGroup)
	defaults.SetPointer(&spec.RuntimeRef.Kind, trainer.ClusterTrainingRuntimeKind)
	if spec.Trainer != nil {
		defaults.Env(spec.Trainer.Env)
	}
	if i := spec.Initializer; i != nil && i.Dataset != nil {
		defaults.Env(i.Dataset.Env)
	}
	if i := spec.Initializer; i != nil && i.Model != nil {
		defaults.Env(i.Model.Env)
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
				defaults.VolumeSource(&pod.Volumes[k].VolumeSource)
			}
			for _, list := range [][]trainer.ContainerPatch{pod.InitContainers, pod.Containers} {
				for k := range list {
					defaults.Env(list[k].Env)
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
			defaults.Set(&job.Replicas, 1)
		}
		if written == nil || job.GroupName != "" || !written(jobs.Append(fieldpath.Item("name", job.Name), fieldpath.Field("groupName"))) {
			defaults.Set(&job.GroupName, "default")
		}
		pod := &job.Template.Spec.Template.Spec
		defaults.PodTemplate(pod)
		defaults.PortProtocols(pod, jobs.Append(fieldpath.Item("name", job.Name)).Append(fieldpath.Fields("template", "spec", "template", "spec")...), written)
	}
	if template.FailurePolicy != nil {
		defaults.Set(&template.FailurePolicy.RestartStrategy, jobset.Recreate)
	}
	for i := range template.VolumeClaimPolicies {
		// Only within a retentionPolicy that is there: the JobSet webhook adds the policy itself.
		if policy := template.VolumeClaimPolicies[i].RetentionPolicy; policy != nil {
			defaults.SetPointer(&policy.WhenDeleted, jobset.RetentionPolicyDelete)
		}
	}
	defaultMLPolicy(spec.MLPolicy)
	if policy := spec.PodGroupPolicy; policy != nil {
		if policy.Coscheduling != nil {
			defaults.SetPointer(&policy.Coscheduling.ScheduleTimeoutSeconds, 60)
		}
		if policy.Volcano != nil && policy.Volcano.NetworkTopology != nil {
			defaults.Set(&policy.Volcano.NetworkTopology.Mode, volcano.HardNetworkTopologyMode)
			defaults.SetPointer(&policy.Volcano.NetworkTopology.HighestTierAllowed, 1)
		}
	}
}

func defaultMLPolicy(policy *trainer.MLPolicy) {
	if policy == nil {
		return
	}
	if policy.MPI != nil {
		defaults.SetPointer(&policy.MPI.NumProcPerNode, 1)
		defaults.SetPointer(&policy.MPI.MPIImplementation, trainer.MPIImplementationOpenMPI)
		defaults.SetPointer(&policy.MPI.SSHAuthMountPath, "/root/.ssh")
		defaults.SetPointer(&policy.MPI.RunLauncherAsNode, false)
	}
	if policy.Flux != nil {
		defaults.SetPointer(&policy.Flux.NumProcPerNode, 1)
	}
}

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
	defaults.JobSetSpec(&js.Spec)
	for i := range js.Spec.ReplicatedJobs {
		spec := &js.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec
		defaults.PodTemplate(spec)
		defaults.PortProtocols(spec, nil, nil)
	}
	return js
}
