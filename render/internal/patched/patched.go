// Package patched finds the containers of a runtime, and the parts that patches name.
package patched

import (
	"iter"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
)

// Jobs returns the patches of replicated jobs in a manager's patch.
func Jobs(patch *trainer.RuntimePatch) []trainer.ReplicatedJobPatch {
	if patch.TrainingRuntimeSpec == nil || patch.TrainingRuntimeSpec.Template == nil ||
		patch.TrainingRuntimeSpec.Template.Spec == nil {
		return nil
	}
	return patch.TrainingRuntimeSpec.Template.Spec.ReplicatedJobs
}

// Pod returns the patch of the Pods' spec in the patch of a replicated job, or nil.
func Pod(job *trainer.ReplicatedJobPatch) *trainer.PodSpecPatch {
	if job.Template == nil || job.Template.Spec == nil || job.Template.Spec.Template == nil {
		return nil
	}
	return job.Template.Spec.Template.Spec
}

// Container is a container or init container of a replicated job.
type Container struct {
	*corev1.Container
	Job  *jobset.ReplicatedJob
	List string
}

// Path returns the container's path in the JobSet.
func (c Container) Path() fieldpath.Path {
	return fieldpath.Fields("spec", "replicatedJobs").
		Append(fieldpath.Item("name", c.Job.Name)).
		Append(fieldpath.Fields("template", "spec", "template", "spec", c.List)...).
		Append(fieldpath.Item("name", c.Name))
}

// Containers yields the init containers and then the containers of each job.
func Containers(jobs []jobset.ReplicatedJob) iter.Seq[Container] {
	return func(yield func(Container) bool) {
		for i := range jobs {
			pod := &jobs[i].Template.Spec.Template.Spec
			for j := range pod.InitContainers {
				if !yield(Container{&pod.InitContainers[j], &jobs[i], "initContainers"}) {
					return
				}
			}
			for j := range pod.Containers {
				if !yield(Container{&pod.Containers[j], &jobs[i], "containers"}) {
					return
				}
			}
		}
	}
}

// Skeleton returns a template with the jobs and containers that the patches name. With it, no
// finding of check.Patches depends on a runtime.
func Skeleton(patches []trainer.RuntimePatch) *trainer.JobSetTemplateSpec {
	template := &trainer.JobSetTemplateSpec{}
	jobs := &template.Spec.ReplicatedJobs
	places := map[string]int{}
	for i := range patches {
		for _, patch := range Jobs(&patches[i]) {
			if patch.Name == "" {
				continue
			}
			at, known := places[patch.Name]
			if !known {
				at = len(*jobs)
				places[patch.Name] = at
				*jobs = append(*jobs, jobset.ReplicatedJob{Name: patch.Name})
			}
			if named := Pod(&patch); named != nil {
				pod := &(*jobs)[at].Template.Spec.Template.Spec
				pod.Containers = withNames(pod.Containers, named.Containers)
				pod.InitContainers = withNames(pod.InitContainers, named.InitContainers)
			}
		}
	}
	return template
}

func withNames(containers []corev1.Container, patches []trainer.ContainerPatch) []corev1.Container {
	known := map[string]bool{"": true}
	for i := range containers {
		known[containers[i].Name] = true
	}
	for _, p := range patches {
		if !known[p.Name] {
			known[p.Name] = true
			containers = append(containers, corev1.Container{Name: p.Name})
		}
	}
	return containers
}
