package merge

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// sizes guesses how many nodes and claims patches of the usual kind make, so that the log is made in
// one piece. It need not be right: a log that is too small grows.
func sizes(patches []trainer.RuntimePatch) (nodes, claims int) {
	jobs, containers := 0, 0 // of the patch that names most
	for i := range patches {
		runtimeSpec := patches[i].TrainingRuntimeSpec
		if runtimeSpec == nil || runtimeSpec.Template == nil || runtimeSpec.Template.Spec == nil {
			continue
		}
		named, inPods := runtimeSpec.Template.Spec.ReplicatedJobs, 0
		nodes, claims = nodes+2, claims+2+len(named)
		for j := range named {
			job := &named[j]
			if job.Template == nil || job.Template.Spec == nil || job.Template.Spec.Template == nil {
				continue
			}
			template, entries := job.Template.Spec.Template, 0
			if template.Metadata != nil {
				entries = len(template.Metadata.Labels) + len(template.Metadata.Annotations)
			}
			if pod := template.Spec; pod != nil {
				entries += len(pod.NodeSelector) + len(pod.SchedulingGates)
				nodes, claims = nodes+3*len(pod.Volumes), claims+2*len(pod.Volumes)+2
				inPods += len(pod.Containers) + len(pod.InitContainers)
				for _, list := range [][]trainer.ContainerPatch{pod.Containers, pod.InitContainers} {
					for k := range list {
						entries += 2*len(list[k].Env) + 3*len(list[k].VolumeMounts)
					}
				}
			}
			nodes, claims = nodes+entries, claims+entries
		}
		claims += inPods
		jobs, containers = max(jobs, len(named)), max(containers, inPods)
	}
	return nodes + 16 + 20*jobs + 4*containers, claims + 16 + 4*jobs
}
