package render

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/internal/defaults"
	"github.com/trainweld/trainweld/render/internal/patched"
	"github.com/trainweld/trainweld/render/release"
)

// The defaults of the TrainJob CRD that affect a render (Trainer v2.3.0 manifests/base/crds).
const (
	trainerController = "trainer.kubeflow.org/trainjob-controller"
	trainerGroup      = "trainer.kubeflow.org"
)

// DefaultTrainJob fills in the API server's defaults for a TrainJob, as far as they reach a JobSet.
// They are suspend, managedBy, the group and kind of the runtime reference, and defaults of volumes
// and variables in patches. It changes job.
//
// A Go value cannot distinguish an explicit empty string in a volume from a missing one. The API
// server fills in only the missing one. The function written reports whether the object has a
// field; manifest.Document.Sets is such a function. If written is nil, an empty string counts as
// missing.
func DefaultTrainJob(job *trainer.TrainJob, written func(fieldpath.Path) bool) {
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
	var inPatch func(int, fieldpath.Path) bool
	if written != nil {
		inPatch = func(i int, at fieldpath.Path) bool {
			return written(
				fieldpath.Fields("spec", "runtimePatches").Append(fieldpath.Index(i)).Append(at...))
		}
	}
	DefaultPatches(spec.RuntimePatches, inPatch)
}

// DefaultPatches fills in the API server's defaults for some volume sources and variables in the
// patches of a TrainJob. It changes the patches. written reports whether a patch has a field, as
// for DefaultTrainJob. Its path starts at the patch.
func DefaultPatches(patches []trainer.RuntimePatch,
	written func(patch int, at fieldpath.Path) bool) {
	for i := range patches {
		jobs := patched.Jobs(&patches[i])
		for j := range jobs {
			pod := patched.Pod(&jobs[j])
			if pod == nil {
				continue
			}
			for k := range pod.Volumes {
				var inVolume func(...string) bool
				if written != nil {
					inVolume = func(names ...string) bool {
						at := fieldpath.Fields("trainingRuntimeSpec", "template", "spec",
							"replicatedJobs").Append(fieldpath.Index(j)).
							Append(fieldpath.Fields("template", "spec", "template", "spec",
								"volumes")...).Append(fieldpath.Index(k))
						return written(i, at.Append(fieldpath.Fields(names...)...))
					}
				}
				defaults.VolumeSource(&pod.Volumes[k].VolumeSource, inVolume)
			}
			for _, list := range [][]trainer.ContainerPatch{pod.InitContainers, pod.Containers} {
				for k := range list {
					defaults.Env(list[k].Env)
				}
			}
		}
	}
}

// DefaultRuntime fills in the API server's defaults for a TrainingRuntime or
// ClusterTrainingRuntime. It changes spec.
//
// A Go value cannot distinguish "replicas: 0" from missing replicas, but the API server fills in
// only a missing field. The same holds for an empty groupName and an empty protocol of a port. The
// function written reports whether the object has a field; manifest.Document.Sets is such a
// function. If written is nil, a zero counts as missing.
func DefaultRuntime(spec *trainer.TrainingRuntimeSpec, written func(fieldpath.Path) bool) {
	if spec == nil {
		return
	}
	template := &spec.Template.Spec
	jobs := fieldpath.Fields("spec", "template", "spec", "replicatedJobs")
	for i := range template.ReplicatedJobs {
		job := &template.ReplicatedJobs[i]
		if written == nil || job.Replicas != 0 ||
			!written(jobs.Append(fieldpath.Item("name", job.Name), fieldpath.Field("replicas"))) {
			defaults.Set(&job.Replicas, 1)
		}
		if written == nil || job.GroupName != "" ||
			!written(jobs.Append(fieldpath.Item("name", job.Name), fieldpath.Field("groupName"))) {
			defaults.Set(&job.GroupName, "default")
		}
		pod := &job.Template.Spec.Template.Spec
		defaults.PodTemplate(pod)
		defaults.PortProtocols(
			pod, jobs.Append(fieldpath.Item("name", job.Name)).Append(
				fieldpath.Fields("template", "spec", "template", "spec")...), written)
	}
	if template.FailurePolicy != nil {
		defaults.Set(&template.FailurePolicy.RestartStrategy, jobset.Recreate)
	}
	for i := range template.VolumeClaimPolicies {
		// The JobSet webhook adds a missing retentionPolicy, so only an existing one gets its
		// default here.
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

// DefaultJobSet returns a copy of the JobSet with the defaults that the cluster fills in on
// creation. It applies the CRD first, then the mutating webhook (JobSet v0.12.0
// config/components/crd and pkg/webhooks). It does not change js.
//
// The Go types cannot distinguish an explicit `replicas: 0` or `groupName: ""` from a missing
// field. Both become the default. A JobSet with its defaults comes back equal.
func DefaultJobSet(js *jobset.JobSet) *jobset.JobSet { return DefaultJobSetOf(nil, js) }

// DefaultJobSetOf returns a copy with the defaults of a release's JobSet, as DefaultJobSet does for
// the latest one. The copy lacks fields that this JobSet lacks.
func DefaultJobSetOf(r *release.Release, js *jobset.JobSet) *jobset.JobSet {
	if js == nil {
		js = &jobset.JobSet{}
	}
	js = js.DeepCopy()
	js.APIVersion, js.Kind = jobset.SchemeGroupVersion.String(), "JobSet"
	defaults.JobSetSpec(&js.Spec, r.Or().JobSet)
	for i := range js.Spec.ReplicatedJobs {
		spec := &js.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec
		defaults.PodTemplate(spec)
		defaults.PortProtocols(spec, nil, nil)
	}
	return js
}
